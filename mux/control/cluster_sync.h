/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that a mux follows in ZooKeeper: the list of services, a feed (service_sync.h) for each, and its own node.
 *
 * A service ends when its config is gone or its name leaves the list. If the list itself is not there, nothing ends: a
 * mux serves on rather than believe that an empty ZooKeeper is what somebody wanted. The same while ZooKeeper can't be
 * reached, and while the tree is another cluster's: a controller that finds ZooKeeper empty makes a new cluster without
 * services, and a restored one has the name of the old (protocol/README.md, 4). A mux without services follows any.
 */
#ifndef MUX_CLUSTER_SYNC_H
#define MUX_CLUSTER_SYNC_H

#include "control/service_sync.h"
#include "config/why.h"

enum cluster_sync_limits { CLUSTER_SYNC_RELIST_MS = 1000, CLUSTER_NAME_MAX = 64 };

/* Text outlives the call only where copied: everything here is. */
struct cluster_sync_options {
	const char *zookeeper; /* host:port,... */
	const struct login *login;
	const char *root;
	const char *id;
	const struct fl_address *address; /* outer sources; none: it has none of the family */
	const struct fl_address *address6;
	unsigned ports_count;
	const char *const *ports; /* names for people */
	struct tables *tables;
	struct counters *counters;
	struct announcer *announcer; /* NULL: no announcements */
	struct change_log *changes;  /* what is applied is noted there */
	struct lag_limits behind;    /* beyond which a service's VIPs are withdrawn */
};

struct cluster_sync;

/* NULL and why: a server's name can't be resolved. Whether one answers is not waited for. */
struct cluster_sync *cluster_sync_new(const struct cluster_sync_options *options, struct why *why);
/* Withdraws all VIPs, ends the session, takes all services out of the tables. */
void cluster_sync_free(struct cluster_sync *cluster);

int cluster_sync_fd(const struct cluster_sync *cluster);
uint64_t cluster_sync_deadline(const struct cluster_sync *cluster);
void cluster_sync_run(struct cluster_sync *cluster, uint64_t now_ms);
/* A device of the announcer was lost. */
void cluster_sync_announce(struct cluster_sync *cluster);

/* Withdraws all VIPs for good; everything is followed and served as before. */
void cluster_sync_leave(struct cluster_sync *cluster);

/* How long the feed's ring has been behind, in milliseconds. */
uint64_t cluster_sync_lag_ms(const struct cluster_sync *cluster, const struct service_sync *sync);

bool cluster_sync_is_connected(const struct cluster_sync *cluster);
/* Whether ZooKeeper holds another cluster than the one that is served. */
bool cluster_sync_is_foreign(const struct cluster_sync *cluster);
/* Whether the list of services has been read at all. */
bool cluster_sync_has_list(const struct cluster_sync *cluster);
bool cluster_sync_is_registered(const struct cluster_sync *cluster);
/* Feeds of services that are not deleted, in no particular order: start with NULL, ends with NULL. */
const struct service_sync *cluster_sync_next(const struct cluster_sync *cluster, const struct service_sync *after);

#endif
