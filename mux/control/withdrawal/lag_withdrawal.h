/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mux that lags too far behind withdraws the VIPs of each service whose ring is beyond the limits (lag.h); it still
 * serves packets that arrive. By an old ring it opens connections at former owners, which packets of other muxes do not
 * name once the window is over, and nothing else would detect that.
 *
 *	beyond a limit	withdraw if at least half of the muxes that announce the service are ahead (lag_quorum.h)
 *	withdrawn	announce again once they are no longer, or at once when the ring has caught up
 *
 * The other muxes are known from their hellos (hello_peers.h), and those without a recent hello from their nodes in
 * ZooKeeper, which are read every LAG_WITHDRAWAL_LOOK_MS while a service is beyond a limit or withdrawn. While ZooKeeper
 * can't be followed, hellos alone tell both: what is committed, and who is ahead.
 *
 * A ring that was restored from disk is as old as the mux was off, perhaps older than any window. So it is not announced
 * before each other mux that was alive then has been heard, or LAG_WITHDRAWAL_LISTEN_MS have passed; and until ZooKeeper
 * has confirmed it, it is beyond the limit in seconds as soon as a higher generation is known.
 *
 * At least half of the muxes keep their VIPs, and so do all with the highest generation. So no VIP is withdrawn for a
 * generation that every mux refuses or none can read, nor for one that a single mux of three or more can read. A mux
 * that hears neither ZooKeeper nor other muxes goes on announcing. But none announces a ring that is older than what is
 * settled (settled.h), whoever is ahead and however alone it is: published_announce() refuses to. Without ZooKeeper the muxes
 * that are ahead tell what is settled.
 *
 * This file and lag_withdrawal.c hold everything about the wait before a withdrawn mux announces again: the time, the
 * decision (decide) and the timer (look). To make it an option, add a field to struct lag_limits (lag.h), which
 * options.c fills and everything between passes on as a whole.
 */
#ifndef FAIRLEAD_MUX_LAG_WITHDRAWAL_H
#define FAIRLEAD_MUX_LAG_WITHDRAWAL_H

#include "control/service/service_sync.h"
#include "hello/hello_peers.h"

enum lag_withdrawal_numbers {
	LAG_WITHDRAWAL_LOOK_MS = 2000,        /* between two readings of the other muxes' nodes: at least this, */
	LAG_WITHDRAWAL_LOOK_JITTER_MS = 1000, /* and up to this much more at random */
	LAG_WITHDRAWAL_HEAR_MS = 1000,        /* between two decisions by hellos alone */
	LAG_WITHDRAWAL_LISTEN_MS = HELLO_INTERVAL_MS + 100, /* after which each mux that is alive was heard */
};

struct lag_withdrawal;

/* path: the folder of the muxes' nodes; id: this mux's; peers NULL: no hellos. */
struct lag_withdrawal *lag_withdrawal_new(struct tree *tree, const char *path, const char *id,
					  const struct lag_limits *limits, const struct hello_peers *peers);
/* No request may be under way: after tree_close(). */
void lag_withdrawal_free(struct lag_withdrawal *withdrawal);

/* From now on the other muxes can be heard. */
void lag_withdrawal_listen(struct lag_withdrawal *withdrawal, uint64_t now_ms);
/* The service is about to be loaded from disk: it is held until the others were heard. */
void lag_withdrawal_restore(const struct lag_withdrawal *withdrawal, struct published_service *published,
			    uint32_t generation, uint64_t now_ms);
/* When lag_withdrawal_run() is due without a hello; UINT64_MAX: within a second or so. */
uint64_t lag_withdrawal_deadline(const struct lag_withdrawal *withdrawal);

/*
 * Checks all services; call it about once a second and after each change. follows: ZooKeeper is connected and holds this
 * mux's cluster. True: a service was withdrawn or is back.
 */
bool lag_withdrawal_run(struct lag_withdrawal *withdrawal, struct service_sync *const *syncs, unsigned count,
			bool follows, uint64_t now_ms);

#endif
