/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a queue of a port is stuck: for STUCK_MS it has refused packets in each look and accepted none. One that is
 * full because more comes than it can send accepts some all the time. One to which nothing is sent tells nothing: it is
 * taken for well after STUCK_QUIET_MS, and whether it is will show when the VIPs are announced again. Packets are counted
 * by the worker where they are refused, and by the port where they are accepted, so that nothing is counted for healthy
 * queues.
 */
#ifndef FAIRLEAD_MUX_STUCK_H
#define FAIRLEAD_MUX_STUCK_H

#include <stdbool.h>
#include <stdint.h>

enum stuck_numbers {
	STUCK_MS = 400,
	STUCK_QUIET_MS = 1000,
};

/* What is remembered of a queue; all zero: it was never looked at. */
struct stuck {
	uint64_t refused, accepted; /* in the last look that found some refused */
	uint64_t since_ms;          /* it refuses without accepting; 0: it does not */
	uint64_t refused_ms;        /* when some were refused last */
};

/*
 * Takes a look into account; pure. refused: packets so far; accepted: the same, which the caller need only ask the port
 * for if stuck_asks(). Returns whether it is stuck.
 */
bool stuck_judge(struct stuck *stuck, uint64_t refused, uint64_t accepted, uint64_t now_ms);

/* Whether more were refused than in the last look. */
static inline bool stuck_asks(const struct stuck *stuck, uint64_t refused)
{
	return refused != stuck->refused;
}

#endif
