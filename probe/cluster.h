/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the probe follows and writes in ZooKeeper: services with their configuration and backends, as muxes follow them
 * (mux/control), and what its mux serves; its node with the results.
 *
 * Packets of probes carry the generation that the mux of this host says it serves, so they teach servers nothing that its
 * packets do not. Without a mux it is 1, which teaches nothing at all.
 *
 * A probe follows any cluster. Without ZooKeeper it goes on with what it knows; its node is gone then.
 */
#ifndef FAIRLEAD_PROBE_CLUSTER_H
#define FAIRLEAD_PROBE_CLUSTER_H

#include "config/login.h"
#include "config/reason.h"
#include "pool.h"

enum cluster_numbers {
	CLUSTER_WRITE_MS = 1000,    /* results that change are written within this time, */
	CLUSTER_REFRESH_MS = 10000, /* and in this one if nothing changes: so readers know that they are fresh */
	CLUSTER_SCAN_MS = 1000,
};

struct cluster_options {
	const char *zookeeper;
	const struct login *login;
	const char *root;
	const char *id;      /* of the mux on this host */
	const char *metrics; /* URL of this probe's; empty: others can't read them */
	struct pool *pool;
	/* Of the VIPs of services that are probed, after each change. 0 or -errno: it is called again. */
	int (*vips)(void *context, const struct fl_address *vips, uint32_t count);
	void *context;
};

struct cluster;

/* NULL and why if a server's name can't be resolved. */
struct cluster *cluster_open(const struct cluster_options *options, struct reason *why);
/* Ends the session; the pool stays as it is. */
void cluster_close(struct cluster *cluster);

int cluster_fd(const struct cluster *cluster);
uint64_t cluster_deadline(const struct cluster *cluster);
void cluster_run(struct cluster *cluster, uint64_t now_ms);
/* What is known of backends has changed: it is written soon. */
void cluster_changed(struct cluster *cluster);

bool cluster_is_connected(const struct cluster *cluster);
/* Whether results are in the tree. */
bool cluster_is_registered(const struct cluster *cluster);

/* Of JSON that a mux's node has: the generation that it serves of a service; 0: none. */
uint32_t cluster_mux_generation(const char *json, size_t len, const char *service);

#endif
