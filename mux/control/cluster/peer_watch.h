/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of the muxes that are added are alive, by their ephemeral nodes (protocol/README.md section 4): the peers of
 * fragments.h and of hello_peers.h. Only what has changed is read again. While ZooKeeper can't be reached, the last known
 * set stays.
 */
#ifndef FAIRLEAD_MUX_PEER_WATCH_H
#define FAIRLEAD_MUX_PEER_WATCH_H

#include "tree/watched_node.h"
#include "hello/hello.h"
#include "service/tables.h"

struct peer;

struct peer_watch {
	struct watched_node list; /* the folder of the entries; run when one of these must be read again */
	struct tables *tables;
	struct hello *hello; /* NULL: no hellos */
	bool is_listed;      /* since the last connection */
	bool is_held;        /* the tree may be another cluster's: the last set stays, whatever the tree has */
	unsigned peers_count;
	struct peer_node **peers;
	uint32_t found_count;
	struct fl_address *found;       /* of the last whole reading, */
	struct hello_node *found_nodes; /* and in the order of the list */
	uint32_t alive; /* live muxes, including this one, at the last whole reading; 0: not known yet */
	uint32_t count;
	struct fl_address *addresses; /* of the live muxes as the tables have them */
};

/* path: the folder of the entries; hello NULL: no hellos. */
struct peer_watch *peer_watch_new(struct tree *tree, const char *path, struct tables *tables, struct hello *hello);
/* No request may be under way: after tree_close(). */
void peer_watch_free(struct peer_watch *watch);

/* There is a session, perhaps a new one. */
void peer_watch_connected(struct peer_watch *watch);
/* Ends a hold. */
void peer_watch_release(struct peer_watch *watch);
/* A watch on path fired; other paths than the folder's and those of entries are ignored. */
void peer_watch_watched(struct peer_watch *watch, const char *path);

/* Sets the addresses to what was known before this process started, until the nodes are read. */
void peer_watch_restore(struct peer_watch *watch, const struct fl_address *addresses, uint32_t count);

#endif
