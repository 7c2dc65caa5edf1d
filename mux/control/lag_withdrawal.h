/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mux that lags too far behind withdraws the VIPs of each service whose ring is beyond the limits (lag.h); it still
 * serves packets that arrive. An old ring sends connections to previous owners, which servers forget once the window is
 * over, and nothing else would detect that.
 *
 *	beyond a limit	read the other muxes' nodes; withdraw if one that announces the service is ahead
 *	withdrawn	read them again every LAG_WITHDRAWAL_LOOK_MS; announce again if none is ahead any more,
 *			or at once when the ring has caught up
 *
 * The muxes with the highest generation always keep their VIPs. So no VIP is withdrawn for a generation that every mux
 * refuses or none can read. A mux without ZooKeeper can't know that it lags, and keeps announcing.
 *
 * This file and lag_withdrawal.c hold everything about the wait before a withdrawn mux announces again: the time, the
 * decision (may_return) and the timer (look). To make it an option, add a field to struct lag_limits (lag.h), which
 * options.c fills and everything between passes on as a whole.
 */
#ifndef MUX_LAG_WITHDRAWAL_H
#define MUX_LAG_WITHDRAWAL_H

#include "control/service_sync.h"

enum lag_withdrawal_numbers {
	LAG_WITHDRAWAL_LOOK_MS = 2000,        /* between two readings of the other muxes' nodes: at least this, */
	LAG_WITHDRAWAL_LOOK_JITTER_MS = 1000, /* and up to this much more at random */
};

struct lag_withdrawal;

/* path: the folder of the muxes' nodes; id: this mux's. NULL: no memory. */
struct lag_withdrawal *lag_withdrawal_new(struct zk_client *zk, const char *path, const char *id,
					  const struct lag_limits *limits);
/* No request may be under way: after zk_close(). */
void lag_withdrawal_free(struct lag_withdrawal *withdrawal);

/* Checks all services; call it about once a second and after each change. True: a service was withdrawn or is back. */
bool lag_withdrawal_run(struct lag_withdrawal *withdrawal, struct service_sync *const *syncs, unsigned count,
			uint64_t now_ms);

#endif
