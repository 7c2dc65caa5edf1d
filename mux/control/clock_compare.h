/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mux's clock against ZooKeeper's: the mux stamps packets as moved while `now < since + window`, where `since` is
 * by the clock of a controller, which agrees with ZooKeeper's. ZooKeeper dates each write of the mux's own node:
 *
 *	this mux     sent ------------------------ answered
 *	ZooKeeper               written
 *
 * A clock that was right throughout finds `written` in between. So the difference is the least that is certain, and a
 * slow answer makes it smaller; one that takes longer than CLOCK_COMPARE_TRIP_MS says too little to be used.
 */
#ifndef MUX_CLOCK_COMPARE_H
#define MUX_CLOCK_COMPARE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum clock_compare_numbers {
	CLOCK_COMPARE_TRIP_MS = 1000,
	CLOCK_COMPARE_FIRST_MS = 1000,   /* the first time, after the node was created: at random up to this */
	CLOCK_COMPARE_PERIOD_MS = 30000, /* how often the node is written for this; at random up to a tenth later */
	CLOCK_COMPARE_WARN_MS = 2000,    /* a controller whose clock differs by more commits nothing */
};

/* All zero: not known. */
struct clock_compare {
	bool is_known;
	int64_t ahead_ms; /* negative: behind */
	int64_t sent_ms;
};

/* Unix milliseconds by this machine's clock. */
static inline int64_t clock_compare_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A write to ZooKeeper is about to be sent. */
void clock_compare_sent(struct clock_compare *compare, int64_t now_ms);
/* It was answered, written_ms being the time that ZooKeeper gave it. */
void clock_compare_answered(struct clock_compare *compare, int64_t written_ms, int64_t now_ms);

#endif
