/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The notices of one change as packets, in order: the generation to each loser, the moves, group by group, and the
 * removals, each to all who are told. A batch is sent up to two times; a cursor says how far it got.
 */
#ifndef FAIRLEAD_MUX_NOTICE_BATCH_H
#define FAIRLEAD_MUX_NOTICE_BATCH_H

#include <fairlead/notice.h>

#include "notice/plan.h"

struct backends;

enum { BATCH_BUCKETS = 288 }; /* in a notice, which then fits a path with an MTU of 1280 */

/* Between whom the buckets of a group moved. */
struct notice_move {
	struct fl_address to;
	struct fl_address previous;
};

struct batch {
	struct batch *next;
	uint16_t service;
	struct notice_plan plan;
	struct fl_address *losers; /* by the plan's index */
	struct notice_move *moves; /* by the plan's index of groups */
	struct fl_address *told;   /* by the plan's index */
	uint32_t pass;             /* 0, then 1: the repetition */
	uint32_t passes;           /* 1 or 2 */
	uint64_t due_ms;           /* of this pass */
	uint64_t at;     /* loser, behind them group, behind these removal and who is told, of the next packet */
	uint32_t offset; /* bucket in the group */
};

/* Takes over the plan, also on failure; addresses as in these backends. NULL: no memory. */
struct batch *batch_new(uint16_t service, struct notice_plan *plan, const struct backends *backends);
void batch_free(struct batch *batch);

/* Packets from the cursor on. */
uint64_t batch_left(const struct batch *batch);
/* Where the cursor is at the first removal, and packets of removals. */
static inline uint64_t batch_removals_at(const struct batch *batch)
{
	return (uint64_t)batch->plan.losers_count + batch->plan.groups_count;
}

static inline uint64_t batch_removals(const struct batch *batch)
{
	return (uint64_t)batch->plan.removals.count * batch->plan.told_count;
}

/* Whether the cursor is behind the last packet. */
static inline bool batch_is_over(const struct batch *batch)
{
	return batch->at == batch_removals_at(batch) + batch_removals(batch);
}

/* The packet at the cursor. bytes has room for FL_NOTICE_MAX_LEN; *count is that of its buckets; key NULL: no tag. */
uint32_t batch_write(const struct batch *batch, const struct fl_siphash_key *key, uint8_t *bytes, struct fl_address *to,
		     uint32_t *count);
/* Moves the cursor behind the packet that batch_write() has written. */
void batch_advance(struct batch *batch);
/* Forgets the moves from the cursor on; returns how many packets that are. */
uint64_t batch_drop_moves(struct batch *batch);

#endif
