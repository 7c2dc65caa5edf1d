/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * A service's ring in memory: one 64-bit word per bucket, read and written atomically, so that a reader sees a
 * bucket before or after a move and nothing in between.
 *
 *	bits  0..15 current backend   16..31 previous backend   32..63 since (Unix seconds)	backend 0: none
 */
#ifndef FAIRLEAD_RING_H
#define FAIRLEAD_RING_H

#include "types.h"

typedef fl_u64 fl_row;

_Static_assert(sizeof(fl_row) == 8, "a bucket row is 8 bytes");

enum fl_ring_numbers {
	FL_BACKEND_NONE = 0,
	FL_BACKEND_MAX = 65535,
	FL_HISTORY_MAX = 6, /* former owners of a bucket */
};

/* The window of a service with a hold, or of othello: a row is moved as long as it names a previous owner. */
#define FL_ROW_HELD 0xffffffffU

FL_INLINE fl_row fl_row_make(fl_u16 current, fl_u16 previous, fl_u32 since)
{
	return (fl_row)since << 32 | (fl_row)previous << 16 | current;
}

FL_INLINE fl_u16 fl_row_current(fl_row row)
{
	return (fl_u16)row;
}

FL_INLINE fl_u16 fl_row_previous(fl_row row)
{
	return (fl_u16)(row >> 16);
}

FL_INLINE fl_u32 fl_row_since(fl_row row)
{
	return (fl_u32)(row >> 32);
}

/* Whether packets carry the move at this second: the row names a previous owner, and the window is open. */
FL_INLINE bool fl_row_is_moved(fl_row row, fl_u32 now, fl_u32 window)
{
	return fl_row_previous(row) != FL_BACKEND_NONE && (fl_u64)now < (fl_u64)fl_row_since(row) + window;
}

#endif
