/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The orderly end of a mux, between a signal and the end of its threads: nothing is cut off that still comes.
 *
 *	withdraw	all VIPs at once, log
 *	wait		--withdraw-wait: BGP tells the routers, which send elsewhere; everything is served as before
 *	drain		until half a second brought no packet for a VIP, at most --drain
 *
 * Another mux computes the same bucket for every connection, so nothing has to be handed over. A second signal ends it
 * at once.
 */
#ifndef FAIRLEAD_MUX_DRAIN_H
#define FAIRLEAD_MUX_DRAIN_H

#include <signal.h>

#include "control/control_thread.h"

enum drain_numbers {
	DRAIN_LOOK_MS = 50,   /* how often it looks for packets */
	DRAIN_QUIET_MS = 500, /* without any it is over */
};

/* signals: the blocked ones, of which one has come; which: that one. Returns when the threads may be stopped. */
void drain(struct control_thread *control, const struct mux *mux, const sigset_t *signals, int which);

#endif
