/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows the node with the settled generations (settled.h). What was read last stays while ZooKeeper can't be reached,
 * while the node is malformed, and while the tree may be another cluster's; a tree without the node has none.
 */
#ifndef MUX_SETTLED_WATCH_H
#define MUX_SETTLED_WATCH_H

#include "control/settled.h"
#include "control/state_keeper.h"
#include "control/zookeeper.h"

enum settled_watch_numbers {
	SETTLED_WATCH_RETRY_MS = 1000,
	SETTLED_WATCH_READ_MS = 3000, /* within which rings are read that were announced below what is settled now */
};

struct settled_watch;

/* root: of the tree that has the node. Begins held. NULL: no memory. */
struct settled_watch *settled_watch_new(struct zk_client *zk, const char *root);
/* No request may be under way: after zk_close(). NULL is allowed. */
void settled_watch_free(struct settled_watch *watch);

/* The tree may be another cluster's: nothing is taken from it until it is released. */
void settled_watch_hold(struct settled_watch *watch);
/* The tree is ours: the node is read. */
void settled_watch_release(struct settled_watch *watch);
/* A watch on path fired; other paths than the node's are ignored. */
void settled_watch_watched(struct settled_watch *watch, const char *path);
uint64_t settled_watch_deadline(const struct settled_watch *watch);
void settled_watch_run(struct settled_watch *watch, uint64_t now_ms);

/* What was known before this process started, until the node is read. No memory: nothing is. */
void settled_watch_restore(struct settled_watch *watch, const struct settled *settled);
/* What this mux goes by. */
const struct settled *settled_watch_known(const struct settled_watch *watch);

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
