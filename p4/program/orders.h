/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What steering `maat` has in the pipelines' registers (p4/order.p4): for each service a filter, and its backends' scores
 * in their templates. The control thread writes scores as the C mux's own path compares them, so that both choose alike.
 *
 * Each worker's pipeline has filters of its own, in which the port that gives a connection to one worker lets its SYN
 * and its later packets meet. What a pipeline notes, its worker also notes in the filter of the C mux's own path
 * (tally.h), for packets that take that one. A wrong answer of either costs a hop.
 */
#ifndef FAIRLEAD_P4_ORDERS_H
#define FAIRLEAD_P4_ORDERS_H

#include "copies.h"
#include "steering/maat/maat.h"

/* Of a service; all zero: none. */
struct order_copy {
	struct region cells;
	uint32_t hashes;
	uint32_t swept; /* the next cell */
	uint64_t swept_ms, ticked_ms;
};

struct orders {
	struct cores *cores;
	struct regions cells;
};

void orders_init(struct orders *orders, struct cores *cores);
void orders_clear(struct orders *orders);

/* Whether there is room for a filter of so many cells, in addition or in place of what the service has. */
bool orders_has_room(const struct orders *orders, const struct order_copy *own, uint32_t cells);

/* Makes, changes or drops a service's filter, as its configuration has it; service NULL or of other steering: drops. */
void orders_configure(struct orders *orders, struct order_copy *order, uint32_t slot, const struct service *service);

/* Writes what has changed of scores: at once when backends have. */
void orders_write(struct orders *orders, const struct copy *copy, const struct service *service);

/* The same, every MAAT_TICK_MS, and sweeps the filter's cells that are due. copy: the service's ring, if any. */
void orders_tick(struct orders *orders, struct order_copy *order, const struct copy *copy,
		 const struct service *service, uint64_t now_ms);

#endif
