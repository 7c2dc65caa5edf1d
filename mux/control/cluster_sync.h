/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that a mux follows in ZooKeeper: the services (service_list.h), the other muxes, and the mux's own node.
 *
 * While ZooKeeper can't be reached, and while the tree belongs to another cluster, no service is removed: a controller
 * that finds ZooKeeper empty creates a new cluster without services, and a restored one has the old name
 * (protocol/README.md, 4). A mux without services follows any cluster.
 */
#ifndef MUX_CLUSTER_SYNC_H
#define MUX_CLUSTER_SYNC_H

#include "control/clock_compare.h"
#include "control/service_sync.h"
#include "config/reason.h"
#include "control/state_keeper.h"

enum cluster_sync_limits {
	CLUSTER_SYNC_RETRY_MS = 1000,
	CLUSTER_SYNC_RESTORE_MS = 500, /* without a session after the start, what is on disk is served */
	CLUSTER_NAME_MAX = STATE_FILE_CLUSTER_MAX,
};

/* cluster_sync_new() copies all strings. */
struct cluster_sync_options {
	const char *zookeeper; /* host:port,... */
	const struct login *login;
	const char *root;
	const char *id;
	const char *kind;                 /* the word for the kind of mux; NULL: the usual one */
	const struct mux_serves *serves;  /* static; NULL: all services (serves.h) */
	const struct fl_address *address; /* outer sources; fl_address_is_none: it has none of the family */
	const struct fl_address *address6;
	unsigned ports_count;
	const char *const *ports; /* names for display */
	struct tables *tables;
	struct counters *counters;
	struct announcer *announcer; /* NULL: no announcements */
	struct change_log *changes;  /* records what is applied */
	const char *state_dir;       /* where to keep what is served, NULL: nowhere (state_keeper.h) */
	struct teller *teller;       /* tells servers; NULL in tests: none is told */
	struct lag_limits behind;    /* when a service's VIPs are withdrawn (lag_withdrawal.h) */
	struct hello *hello;         /* NULL: no hellos */
	const char *metrics;         /* URL, for the mux's node; NULL or empty: others can't read them */
	const struct needs *needs;   /* NULL: nothing; for the mux's node */
	/* Another live mux has the id: this one must end. On the thread of cluster_sync_run(), at most once. */
	void (*refused)(void *context, const struct reason *why);
	void *refused_context;
};

struct cluster_sync;

/* Returns NULL and why if a server's name can't be resolved. Does not wait for a server to answer. */
struct cluster_sync *cluster_sync_new(const struct cluster_sync_options *options, struct reason *why);
/* Withdraws all VIPs, closes the session, removes all services from the tables. */
void cluster_sync_free(struct cluster_sync *cluster);

int cluster_sync_fd(const struct cluster_sync *cluster);
uint64_t cluster_sync_deadline(const struct cluster_sync *cluster);
void cluster_sync_run(struct cluster_sync *cluster, uint64_t now_ms);
/* A device of the announcer was lost. */
void cluster_sync_announce(struct cluster_sync *cluster);

/* What the mux needs has changed: serves no VIP that is among it, and says so in its node. */
void cluster_sync_guard(struct cluster_sync *cluster);

/* Withdraws all VIPs for good; everything else continues. */
void cluster_sync_leave(struct cluster_sync *cluster);

/* How long the service's ring has been behind, in milliseconds. */
uint64_t cluster_sync_lag_ms(const struct cluster_sync *cluster, const struct service_sync *sync);

bool cluster_sync_is_connected(const struct cluster_sync *cluster);
/* Whether ZooKeeper holds a different cluster from the one that is served. */
bool cluster_sync_is_foreign(const struct cluster_sync *cluster);
/* Whether the list of services has been read at all. */
bool cluster_sync_has_list(const struct cluster_sync *cluster);
/* Whether this process began with services from disk, because ZooKeeper could not be reached. */
bool cluster_sync_is_restored(const struct cluster_sync *cluster);
/* NULL: nothing is kept on disk. */
const struct state_keeper *cluster_sync_state(const struct cluster_sync *cluster);
bool cluster_sync_is_registered(const struct cluster_sync *cluster);
/* The backends that the mux can't send to. */
const struct unreachable *cluster_sync_unreachable(const struct cluster_sync *cluster);
/* NULL: the mux needs nothing. */
const struct needs *cluster_sync_needs(const struct cluster_sync *cluster);
/* The mux's clock against ZooKeeper's, at the last write of the mux's own node. */
const struct clock_compare *cluster_sync_clock(const struct cluster_sync *cluster);
/* The Unix time by which windows of former owners end, by ZooKeeper's clock; 0: not known. It never goes back. */
uint32_t cluster_sync_seconds(const struct cluster_sync *cluster);
/* Iterates over the services that are not deleted, in no particular order: starts and ends with NULL. */
const struct service_sync *cluster_sync_next(const struct cluster_sync *cluster, const struct service_sync *after);

#endif
