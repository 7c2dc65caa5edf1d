/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mux's own ephemeral node: what it has applied, for the controller to see (protocol/README.md section 4).
 *
 *	connected -> create -> there is one already: ours, from before the connection broke -> write it
 *					      another session's: a mux of our id that was killed, or a second one that
 *					      lives; wait until it is gone, then create
 *	changed   -> at a random moment soon, write what is true by then, one write at a time
 *
 * Each write is one that the whole ensemble has to agree on and sync, and a generation makes one at every mux, just
 * when other muxes still read that generation. So the more muxes there are, the longer the time over which their writes
 * spread, and what changes again meanwhile is written once: 100 muxes ask for 200 writes a second at most.
 */
#ifndef MUX_NODE_H
#define MUX_NODE_H

#include "control/store.h"

enum node_numbers {
	NODE_RETRY_MS = 1000,      /* while the folder of the muxes is not there */
	NODE_SPREAD_MS = 10,       /* for each other mux that lives, */
	NODE_SPREAD_MAX_MS = 1000, /* up to this: who looks at the nodes counts on it */
};

struct node;

/* render: the node's text, freed by free(). */
struct node *node_new(struct store *store, const char *path, char *(*render)(void *context), void *context);
/* No request may be under way: after store_close(). The session takes the node along. */
void node_free(struct node *node);

/* The session is there, perhaps a new one. */
void node_connected(struct node *node);
/* What render() gives has changed: it is written within so many milliseconds, 0: at the next node_run(). */
void node_changed(struct node *node, uint32_t within_ms);
/* A watch on path fired; other paths than the node's are not for it. */
void node_watched(struct node *node, const char *path);

uint64_t node_deadline(const struct node *node);
void node_run(struct node *node, uint64_t now_ms);

/* Whether the node stands and is ours. */
bool node_is_registered(const struct node *node);

#endif
