/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of a service a worker forwards: token buckets for packets and for bytes, each as deep as BUDGET_DEPTH_MS of
 * its rate. A run of packets passes whole while there is anything left, so a bucket may fall below zero by one run, and
 * refills from there: on average the rate is exact.
 *
 * A service's rate is that of the mux, and each worker has an equal share of it: connections of one service are spread
 * over all workers, except a few large ones.
 */
#ifndef FAIRLEAD_MUX_BUDGET_H
#define FAIRLEAD_MUX_BUDGET_H

#include "flow/burst.h"

enum { BUDGET_DEPTH_MS = 100 };

/* What is left, in thousandths; all zero: nothing was counted yet, so both buckets are full. */
struct budget {
	uint64_t at_ms; /* when it was refilled */
	int64_t packets;
	int64_t bytes;
};

/* A worker's share a second, of packets and of bytes; 0: any number. */
struct budget_rates {
	uint64_t packets;
	uint64_t bytes;
};

/* Whether a run of packets passes. If it does, it is subtracted from the budget. now_ms must not go back. */
bool budget_take(struct budget *budget, const struct budget_rates *rates, uint32_t packets, uint32_t bytes,
		 uint64_t now_ms);

/*
 * Gives VERDICT_OVER_BUDGET to the packets of a steered burst that are beyond their services' budgets. The burst is not
 * brief. budgets: the worker's, by service slot; workers: how many share a service's rates.
 */
void budgets_apply(struct budget *budgets, unsigned workers, struct burst *burst, uint64_t now_ms);

#endif
