/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows the node with the settled generations (settled.h). What was read last stays while ZooKeeper can't be reached,
 * while the node is malformed, and while the tree may be another cluster's; a tree without the node has none.
 */
#ifndef FAIRLEAD_MUX_SETTLED_WATCH_H
#define FAIRLEAD_MUX_SETTLED_WATCH_H

#include "control/cluster/settled.h"
#include "control/cluster/state_keeper.h"
#include "tree/watched_node.h"

enum settled_watch_numbers {
	SETTLED_WATCH_READ_MS = 3000, /* within which rings are read that were announced below what is settled now */
};

struct settled_watch {
	struct watched_node node;
	struct settled read;  /* as the node says, or other muxes */
	struct settled known; /* what counts: what this mux goes by */
	bool is_new;          /* read has services that known may not have */
	bool is_malformed;    /* as last logged */
};

/* root: of the tree that has the node. Begins held. */
struct settled_watch *settled_watch_new(struct tree *tree, const char *root);
/* No request may be under way: after tree_close(). NULL is allowed. */
void settled_watch_free(struct settled_watch *watch);

/* What was known before this process started, until the node is read. No memory: nothing is. */
void settled_watch_restore(struct settled_watch *watch, const struct settled *settled);

/*
 * Decides which generation counts as settled for each service, announces or withdraws it accordingly, and notes what the
 * mux promises of it (published_service.h):
 *
 *	higher than before, and than the ring		the one before counts while the ring is being read, for at most
 *							SETTLED_WATCH_READ_MS. What is announced stays; nothing else is
 *							announced by that ring
 *	higher than what is committed			a fault: the one before goes on counting
 *	otherwise					it counts
 *
 * A service whose ring is older withdraws others that share a VIP with it: routers would send its packets, too.
 * state: NULL: nothing is on disk. Call it after each change. Returns whether the mux's node has to say something else.
 */
bool settled_watch_apply(struct settled_watch *watch, struct service_sync *const *syncs, unsigned count,
			 const struct state_keeper *state, uint64_t now_ms);

#endif
