/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The graceful shutdown of a mux, between a signal and the end of its threads: packets that still arrive are served.
 *
 *	withdraw	all VIPs at once
 *	wait		--withdraw-wait: the routers learn it by BGP and reroute; everything is served as before
 *	drain		until no packet for a VIP has arrived for half a second, at most --drain
 *
 * Another mux computes the same bucket for every connection, so nothing has to be handed over. A second signal ends the
 * wait at once.
 */
#ifndef FAIRLEAD_MUX_DRAIN_H
#define FAIRLEAD_MUX_DRAIN_H

#include <signal.h>

#include "threads/control_thread.h"

enum drain_numbers {
	DRAIN_LOOK_MS = 50,   /* how often packets are counted */
	DRAIN_QUIET_MS = 500, /* the drain ends after this long without a packet */
};

/* signals: the blocked ones; which: the one received. Returns when the threads may be stopped. */
void drain_run(struct control_thread *control, const struct mux *mux, const sigset_t *signals, int which);

#endif
