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
#ifndef MUX_REGISTRATION_H
#define MUX_REGISTRATION_H

#include "control/zookeeper.h"

enum registration_numbers {
	REGISTRATION_RETRY_MS = 1000,      /* while the folder of the muxes is not there */
	REGISTRATION_SPREAD_MS = 10,       /* for each other mux that lives, */
	REGISTRATION_SPREAD_MAX_MS = 1000, /* up to this: who looks at the nodes counts on it */
};

struct registration;

/* render: the node's text, freed by free(). */
struct registration *registration_new(struct zk_client *zk, const char *path, char *(*render)(void *context),
				      void *context);
/* No request may be under way: after zk_close(). The session takes the node along. */
void registration_free(struct registration *own);

/* The session is there, perhaps a new one. */
void registration_connected(struct registration *own);
/* What render() gives has changed: it is written within so many milliseconds, 0: at the next registration_run(). */
void registration_changed(struct registration *own, uint32_t within_ms);
/* A watch on path fired; other paths than the node's are not for it. */
void registration_watched(struct registration *own, const char *path);

uint64_t registration_deadline(const struct registration *own);
void registration_run(struct registration *own, uint64_t now_ms);

/* Whether the node stands and is ours. */
bool registration_is_registered(const struct registration *own);

#endif
