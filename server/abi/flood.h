/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Floods of packets that no server knows: with a full list each would be tried by seven servers. A server counts what
 * other servers have sent here and it would send on once more, on each processor. If more than a rate come within a second,
 * it drops them, until a second brings fewer. So a packet of a flood visits two servers. What is known here is not counted,
 * nor what goes on from here to the first candidate, where most connections of moved buckets are: neither is ever dropped.
 */
#ifndef FAIRLEAD_FLOOD_H
#define FAIRLEAD_FLOOD_H

#include <fairlead/types.h>

#define FL_FLOOD_SECOND 1000000000ULL

/* On one processor. All zero: nothing has come. */
struct fl_flood {
	fl_u64 since; /* when this second began, in nanoseconds of a clock that never goes back */
	fl_u32 count; /* of packets since then */
	fl_u32 is_on;
};

/* Whether the packet that comes now is to be dropped. rate: packets a second, from 1. */
FL_INLINE bool fl_flood_drops(struct fl_flood *flood, fl_u32 rate, fl_u64 now)
{
	fl_u64 passed = now - flood->since;

	if (passed >= FL_FLOOD_SECOND) {
		flood->is_on = flood->count > rate && passed < 2 * FL_FLOOD_SECOND;
		flood->since = now;
		flood->count = 0;
	}
	if (flood->count <= rate)
		flood->count++;
	if (flood->count > rate)
		flood->is_on = 1;
	return flood->is_on;
}

#endif
