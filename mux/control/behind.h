/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mux that is too far behind takes itself out: it withdraws the VIPs of each service whose ring is further behind
 * than allowed (lag.h), and serves on what still comes. An old ring sends connections to owners that servers no longer
 * know of once a window is over, and nobody else notices.
 *
 *	beyond a limit -> read the other muxes' nodes -> one that announces is ahead of us: withdraw
 *	withdrawn -> look again each BEHIND_LOOK_MS -> caught up, or no one is ahead of us any more: announce
 *
 * The last ones never withdraw: of all muxes those with the highest generation have nobody ahead of them. So a
 * generation that every mux refuses, or that none can read, takes no VIP away. A mux that does not reach ZooKeeper
 * cannot know that it is behind, and goes on.
 */
#ifndef FAIRLEAD_MUX_BEHIND_H
#define FAIRLEAD_MUX_BEHIND_H

#include "control/feed.h"

enum behind_numbers {
	BEHIND_LOOK_MS = 2000,
	BEHIND_LOOK_JITTER_MS = 1000,
};

struct behind;

/* path: the folder of the muxes' nodes; id: ours there. NULL: no memory. */
struct behind *behind_new(struct store *store, const char *path, const char *id, const struct lag_limits *limits);
/* No request may be under way: after store_close(). */
void behind_free(struct behind *behind);

/* Looks at all feeds; to be called about once a second and after each change. True: a service was withdrawn or is back.
 */
bool behind_run(struct behind *behind, struct feed *const *feeds, unsigned count, uint64_t now_ms);

#endif
