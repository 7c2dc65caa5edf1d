/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mux that is too far behind takes itself out: it withdraws the VIPs of each service whose ring is further behind
 * than allowed (lag.h), and serves on what still comes. An old ring sends connections to owners that servers no longer
 * know of once a window is over, and nobody else notices.
 *
 *	beyond a limit -> read the other muxes' nodes -> one that announces is ahead of us: withdraw
 *	withdrawn -> look again each LAG_WITHDRAWAL_LOOK_MS -> caught up, or no one is ahead of us any more: announce
 *
 * The last ones never withdraw: of all muxes those with the highest generation have nobody ahead of them. So a
 * generation that every mux refuses, or that none can read, takes no VIP away. A mux that does not reach ZooKeeper
 * cannot know that it is behind, and goes on.
 */
#ifndef MUX_LAG_WITHDRAWAL_H
#define MUX_LAG_WITHDRAWAL_H

#include "control/service_sync.h"

enum lag_withdrawal_numbers {
	LAG_WITHDRAWAL_LOOK_MS = 2000,
	LAG_WITHDRAWAL_LOOK_JITTER_MS = 1000,
};

struct lag_withdrawal;

/* path: the folder of the muxes' nodes; id: ours there. NULL: no memory. */
struct lag_withdrawal *lag_withdrawal_new(struct zk_client *zk, const char *path, const char *id,
					  const struct lag_limits *limits);
/* No request may be under way: after zk_close(). */
void lag_withdrawal_free(struct lag_withdrawal *withdrawal);

/* Looks at all syncs; to be called about once a second and after each change. True: a service was withdrawn or is back.
 */
bool lag_withdrawal_run(struct lag_withdrawal *withdrawal, struct service_sync *const *syncs, unsigned count,
			uint64_t now_ms);

#endif
