/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * A service's ring in memory: one 64-bit word per bucket, read and written atomically, so that a reader sees a
 * bucket before or after a move and nothing in between. The lowest 16 bits are its owner, 0: none; the others are the
 * reader's own (mux/ring/lists.h).
 */
#ifndef FAIRLEAD_RING_H
#define FAIRLEAD_RING_H

#include "types.h"

typedef fl_u64 fl_row;

_Static_assert(sizeof(fl_row) == 8, "a bucket row is 8 bytes");

enum fl_ring_numbers {
	FL_BACKEND_NONE = 0,
	FL_BACKEND_MAX = 65535,
};

FL_INLINE fl_u16 fl_row_current(fl_row row)
{
	return (fl_u16)row;
}

#endif
