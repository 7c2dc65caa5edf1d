/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Floods of TCP segments that no server knows, and of ICMP errors that quote one: with a full list each would be tried by
 * seven servers. A server counts those that other servers have sent here and that it would send on, on each processor;
 * what is beyond a rate in a second is dropped. So a packet beyond it visits two servers. What is known here is not
 * counted, nor what goes on from here to the first candidate, where most connections of moved buckets are, nor a datagram
 * or an error about one: none of these is ever dropped.
 */
#ifndef FAIRLEAD_FLOOD_H
#define FAIRLEAD_FLOOD_H

#include <fairlead/types.h>

#define FL_FLOOD_SECOND 1000000000ULL

/* On one processor. All zero: nothing has come. */
struct fl_flood {
	fl_u64 since; /* when this second began, in nanoseconds of a clock that never goes back */
	fl_u64 count; /* of packets since then */
};

/* Whether the packets that come now are to be dropped. rate: packets a second, from 1. */
FL_INLINE bool fl_flood_drops(struct fl_flood *flood, fl_u32 rate, fl_u64 now, fl_u32 packets)
{
	if (now - flood->since >= FL_FLOOD_SECOND) {
		flood->since = now;
		flood->count = 0;
	}
	flood->count += packets;
	return flood->count > rate;
}

#endif
