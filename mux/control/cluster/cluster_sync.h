/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that a mux follows in ZooKeeper: the services (service_list.h), the other muxes, and the mux's own node.
 *
 * While ZooKeeper can't be reached, and while the tree belongs to another cluster, no service is removed: a controller
 * that finds ZooKeeper empty creates a new cluster without services, and a restored one has the old name
 * (protocol/README.md, 4). A mux without services follows any cluster.
 */
#ifndef FAIRLEAD_MUX_CLUSTER_SYNC_H
#define FAIRLEAD_MUX_CLUSTER_SYNC_H

#include "control/member/mux_node.h"
#include "control/cluster/peer_watch.h"
#include "control/member/registration.h"
#include "control/cluster/seed_watch.h"
#include "control/service/service_list.h"
#include "control/cluster/settled_watch.h"
#include "control/withdrawal/sick_withdrawal.h"
#include "control/member/unreachable.h"

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
	struct mux_node_facts self;
	struct tables *tables;
	struct counters *counters;
	struct announcer *announcer; /* NULL: no announcements */
	struct change_log *changes;  /* records what is applied */
	const char *state_dir;       /* where to keep what is served, NULL: nowhere (state_keeper.h) */
	struct teller *teller;       /* tells servers; NULL in tests: none is told */
	struct lag_limits behind;    /* when a service's VIPs are withdrawn (lag_withdrawal.h) */
	struct hello *hello;         /* NULL: no hellos */
	const struct needs *needs;   /* NULL: nothing; for the mux's node */
	/* Another live mux has the id: this one must end. On the thread of cluster_sync_run(), at most once. */
	void (*refused)(void *context, const struct reason *why);
	void *refused_context;
};

struct cluster_sync {
	struct tree *tree;
	struct registration *registration;
	struct peer_watch *peers;
	struct seed_watch *seed;
	struct settled_watch *settled;
	struct lag_withdrawal *withdrawal;
	struct sick_withdrawal sick;
	struct unreachable unreachable; /* the backends that the mux can't send to */
	struct state_keeper *state;     /* NULL: nothing is kept on disk */
	uint64_t restore_at;            /* 0: not known yet, UINT64_MAX: never */
	bool is_restored;               /* began with services from disk, because ZooKeeper could not be reached */
	struct hello *hello;            /* NULL: no hellos */
	const struct needs *needs;      /* NULL: the mux needs nothing */
	void (*refused)(void *context, const struct reason *why);
	void *refused_context;
	char *id;
	struct service_sync_context context;
	struct service_list *services;
	struct tree_access access;
	char *root;
	json_t *self;                    /* the constant part of our node */
	struct watched_node node;        /* the cluster's name in the tree */
	char name[CLUSTER_NAME_MAX + 1]; /* the cluster of these services, "": not known yet */
	bool is_foreign;                 /* the tree is another cluster's than the one that is served */
	bool is_leaving;                 /* the mux is about to stop */
	bool is_removed;                 /* an operator took it out of the cluster while it served */
	bool is_missing;                 /* there is no entry, as last logged */
};

/* Returns NULL and why if a server's name can't be resolved. Does not wait for a server to answer. */
struct cluster_sync *cluster_sync_new(const struct cluster_sync_options *options, struct reason *why);
/* Withdraws all VIPs, closes the session, removes all services from the tables. */
void cluster_sync_free(struct cluster_sync *cluster);

/* When cluster_sync_run() is due, besides when tree_fd() is readable. */
uint64_t cluster_sync_deadline(const struct cluster_sync *cluster);
void cluster_sync_run(struct cluster_sync *cluster, uint64_t now_ms);
/* Within a change of the tables that waits for workers: withdraws if the mux is sick, and tells other muxes. */
void cluster_sync_wait(struct cluster_sync *cluster, uint64_t now_ms);
/* Whether the VIPs of any service are announced. */
bool cluster_sync_announces(const struct cluster_sync *cluster);
/* A device of the announcer was lost. */
void cluster_sync_announce(struct cluster_sync *cluster);

/* What the mux needs has changed: serves no VIP that is among it, and says so in its node. */
void cluster_sync_guard(struct cluster_sync *cluster);

/* Withdraws all VIPs for good; everything else continues. */
void cluster_sync_leave(struct cluster_sync *cluster);

/* service_list_next() */
const struct service_sync *cluster_sync_next(const struct cluster_sync *cluster, const struct service_sync *after);

#endif
