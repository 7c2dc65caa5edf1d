/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ZooKeeper's time, as ZooKeeper dates each write of the mux's own node:
 *
 *	this mux     sent ------------------------ answered
 *	ZooKeeper               written
 *
 * Windows of former owners end by it: when the answer is there it is `written` or later, and from then on the monotonic
 * clock counts. CLOCK_COMPARE_BACK_MS are taken off, since a controller dates moves by a clock that differs from
 * ZooKeeper's by up to 2 s, and the next server that leads ZooKeeper may differ from the last one. So no window ends too
 * early, whatever this machine's wall clock says. Nothing ends before the first answer.
 *
 * The wall clock is compared only for operators. One that was right throughout finds `written` between sent and answered,
 * so the difference is the least that is certain, and a slow answer makes it smaller; one that takes longer than
 * CLOCK_COMPARE_TRIP_MS says too little to be used.
 */
#ifndef FAIRLEAD_MUX_CLOCK_COMPARE_H
#define FAIRLEAD_MUX_CLOCK_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

enum clock_compare_numbers {
	CLOCK_COMPARE_TRIP_MS = 1000,
	CLOCK_COMPARE_FIRST_MS = 1000,   /* the first time, after the node was created: at random up to this */
	CLOCK_COMPARE_PERIOD_MS = 30000, /* how often the node is written for this; at random up to a tenth later */
	CLOCK_COMPARE_BACK_MS = 3000,
};

/* All zero: nothing is known. */
struct clock_compare {
	bool is_known;    /* whether ahead_ms is */
	int64_t ahead_ms; /* of the wall clock; negative: behind */
	int64_t sent_ms;
	bool has_time;
	int64_t offset_ms; /* of ZooKeeper's time to the monotonic clock, at least */
	uint32_t seconds;  /* what clock_compare_seconds() returned last */
};

/* A write to ZooKeeper is about to be sent. */
void clock_compare_sent(struct clock_compare *compare, int64_t now_ms);
/* It was answered at monotonic_ms, written_ms being the time that ZooKeeper gave it. */
void clock_compare_answered(struct clock_compare *compare, int64_t written_ms, int64_t now_ms, uint64_t monotonic_ms);

/* The Unix time by which windows end; 0: not known. It never goes back. */
uint32_t clock_compare_seconds(struct clock_compare *compare, uint64_t monotonic_ms);

#endif
