/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A delta whose runs are by owner, applied in one walk over the buckets by ascending number.
 *
 *	runs of owner 7: 2 from its 3rd on		bucket	0 1 2 3 4 5 6 7
 *							owner	7 4 7 7 4 7 7 4
 *							of 7	1   2 3   4 5
 *							run	      x   x
 *
 * Each owner has a cursor: how many of its buckets have passed, and the run that is next. So the walk reads each bucket
 * once and knows from its owner alone whether it moves, in 16 bytes an owner: the 1 MB of 64 K owners stays in L2.
 */
#ifndef FAIRLEAD_MUX_OWNERS_H
#define FAIRLEAD_MUX_OWNERS_H

#include "delta.h"

struct owners {
	const struct delta *delta;
	struct owners_cursor {
		uint32_t passed;
		uint32_t start; /* of run; UINT32_MAX when there is no more */
		uint32_t end;
		uint32_t run;
	} cursor[FL_BACKEND_MAX + 1];
};

/* Cursors before the first bucket; the delta must outlive them. NULL: no memory. */
struct owners *owners_new(const struct delta *delta);
void owners_free(struct owners *owners);

/* Leaves the cursor's run, whose last bucket has passed. */
void owners_advance(const struct owners *owners, struct owners_cursor *cursor);

/* The next bucket belongs to owner: the run that it is in, NULL if it does not move. */
static inline const struct fl_delta_run *owners_next(struct owners *owners, uint16_t owner)
{
	struct owners_cursor *cursor = &owners->cursor[owner];
	const struct fl_delta_run *run;

	if (cursor->passed++ < cursor->start)
		return NULL;
	run = &owners->delta->runs[cursor->run];
	if (cursor->passed == cursor->end)
		owners_advance(owners, cursor);
	return run;
}

#endif
