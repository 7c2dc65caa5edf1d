/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Applies a delta whose runs are by owner, in one walk over the buckets by ascending number.
 *
 *	runs of owner 7: 2 from its 3rd on		bucket	0 1 2 3 4 5 6 7
 *							owner	7 4 7 7 4 7 7 4
 *							of 7	1   2 3   4 5
 *							run	      x   x
 *
 * The walk passes an owner's buckets in phases: a number that stay, then a number that go to one backend. At each
 * bucket it needs one word about the owner; the words of 64 K owners are 512 KB and fit L2 beside the rows that stream
 * by:
 *
 *	phase	bits 0..15 current   32 whether they move   33..63 how many are left
 *
 * A run is read when a phase ends, not at each of its buckets: a million runs are 20 MB, and the walk reaches them in
 * no particular order, so each read would wait for memory (4 Mi reads: 0.4 s).
 */
#ifndef FAIRLEAD_MUX_OWNERS_H
#define FAIRLEAD_MUX_OWNERS_H

#include "ring/delta.h"

#define OWNERS_MOVES (1ULL << 32)
#define OWNERS_ONE   (1ULL << 33)

struct owners {
	const struct delta *delta;
	uint64_t phase[FL_BACKEND_MAX + 1];
	uint32_t run[FL_BACKEND_MAX + 1]; /* the current run, or the next one */
};

/* Starts before the first bucket; the delta must outlive it. NULL: no memory. */
struct owners *owners_new(const struct delta *delta);
void owners_free(struct owners *owners);

/* Goes to the owner's next phase, after the last bucket of one. */
void owners_advance(struct owners *owners, uint16_t owner);

/* The next bucket is this owner's: returns whether it moves; if so, *current is its new owner. */
static inline bool owners_next(struct owners *owners, uint16_t owner, uint16_t *current)
{
	uint64_t phase = owners->phase[owner];

	owners->phase[owner] = phase - OWNERS_ONE;
	if (phase < 2 * OWNERS_ONE)
		owners_advance(owners, owner);
	*current = (uint16_t)phase;
	return phase & OWNERS_MOVES;
}

#endif
