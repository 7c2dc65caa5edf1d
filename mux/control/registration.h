/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mux's own ephemeral node, which shows the controller what the mux has applied (protocol/README.md section 4).
 *
 *	connected -> create -> it exists: ours, from before the connection broke -> write it
 *					      another session's: a mux with our id that was killed, or a second one
 *					      that is alive; wait until it is gone, then create
 *	changed   -> at a random moment soon, write the state of that moment, one write at a time
 *
 * The whole ensemble has to agree on each write and sync it, and each generation causes one at every mux, just when
 * other muxes still read that generation. So writes spread over a time that grows with the number of muxes, and changes
 * during that time are written once: 100 muxes cause at most 200 writes a second.
 *
 * Without changes the node is written every half minute, to compare clocks (clock_compare.h).
 */
#ifndef MUX_REGISTRATION_H
#define MUX_REGISTRATION_H

#include "control/clock_compare.h"
#include "control/zookeeper.h"

enum registration_numbers {
	REGISTRATION_RETRY_MS = 1000,      /* while the muxes' folder is missing */
	REGISTRATION_SPREAD_MS = 10,       /* for each other live mux, */
	REGISTRATION_SPREAD_MAX_MS = 1000, /* up to this: readers of the nodes rely on it */
};

struct registration;

/* render returns the node's text, which the caller frees with free(). */
struct registration *registration_new(struct zk_client *zk, const char *path, char *(*render)(void *context),
				      void *context);
/* No request may be under way: after zk_close(). The node vanishes with the session. */
void registration_free(struct registration *own);

/* There is a session, perhaps a new one. */
void registration_connected(struct registration *own);
/* render()'s text has changed: it is written within within_ms, 0: at the next registration_run(). */
void registration_changed(struct registration *own, uint32_t within_ms);
/* A watch on path fired; other paths than the node's are ignored. */
void registration_watched(struct registration *own, const char *path);

uint64_t registration_deadline(const struct registration *own);
void registration_run(struct registration *own, uint64_t now_ms);

/* Whether the node exists and is ours. */
bool registration_is_registered(const struct registration *own);

/* The mux's clock against the time that ZooKeeper gave the node's last write. */
const struct clock_compare *registration_clock(const struct registration *own);

#endif
