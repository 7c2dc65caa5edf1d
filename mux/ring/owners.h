/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A delta whose runs are by owner, applied in one walk over the buckets by ascending number.
 *
 *	runs of owner 7: 2 from its 3rd on		bucket	0 1 2 3 4 5 6 7
 *							owner	7 4 7 7 4 7 7 4
 *							of 7	1   2 3   4 5
 *							run	      x   x
 *
 * The buckets of an owner pass in phases: so many that stay, so many that go to one backend. What the walk has to know
 * of an owner at each bucket is one word, and those of 64 K owners are 512 KB, in L2 beside the rows that stream by:
 *
 *	phase	bits 0..15 current   16..31 previous   32 whether they move   33..63 how many are left
 *
 * A run is looked at where a phase ends and not at each of its buckets: a million runs are 20 MB, and the walk comes to
 * them in no order, so that each look would wait for memory (4 Mi looks: 0.4 s).
 */
#ifndef FAIRLEAD_MUX_OWNERS_H
#define FAIRLEAD_MUX_OWNERS_H

#include "ring/delta.h"

#define OWNERS_MOVES (1ULL << 32)
#define OWNERS_ONE   (1ULL << 33)

struct owners {
	const struct delta *delta;
	uint64_t phase[FL_BACKEND_MAX + 1];
	uint32_t run[FL_BACKEND_MAX + 1]; /* that is under way, or the next one */
};

/* Before the first bucket; the delta must outlive it. NULL: no memory. */
struct owners *owners_new(const struct delta *delta);
void owners_free(struct owners *owners);

/* The last bucket of the owner's phase has passed. */
void owners_advance(struct owners *owners, uint16_t owner);

/* The next bucket belongs to owner: whether it moves, and if so *row, the one that it gets in the second committed. */
static inline bool owners_next(struct owners *owners, uint16_t owner, uint32_t committed, fl_row *row)
{
	uint64_t phase = owners->phase[owner];

	owners->phase[owner] = phase - OWNERS_ONE;
	if (phase < 2 * OWNERS_ONE)
		owners_advance(owners, owner);
	*row = fl_row_make((uint16_t)phase, (uint16_t)(phase >> 16), committed);
	return phase & OWNERS_MOVES;
}

#endif
