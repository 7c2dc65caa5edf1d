/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * How a server sees that clocks differ: a move from the future. Its `since` comes from a controller; nothing in packets
 * shows that the server's own clock is ahead.
 */
#ifndef FAIRLEAD_CLOCK_H
#define FAIRLEAD_CLOCK_H

#include <fairlead/verdict.h>

/* Seconds by which the packet's move is ahead of the server's clock; 0 without a move, or if it is not. */
FL_INLINE fl_u32 fl_clock_ahead(const struct fl_steer *steer, fl_u32 now)
{
	if (!(steer->flags & FL_STEER_MOVED) || steer->bucket == FL_STEER_BUCKET_NONE || steer->since <= now)
		return 0;
	return steer->since - now;
}

/* Whether that is more than clocks may differ. */
FL_INLINE bool fl_clock_is_wrong(fl_u32 ahead)
{
	return ahead > FL_FUTURE_MAX;
}

#endif
