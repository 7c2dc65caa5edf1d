/* SPDX-License-Identifier: Apache-2.0 */
/* Steering `hunt` in lanes (methods/inline.h): TCP has a second bucket by the hash's high half. */
#ifndef FAIRLEAD_MUX_HUNT_LANES_H
#define FAIRLEAD_MUX_HUNT_LANES_H

#include "steering/ring/ring_lanes.h"

VEC_INLINE void hunt_lanes_fetch(struct lanes *lanes, vec hash)
{
	const struct ring *ring = lanes->ring[0];
	const vec mask = vec_all(ring->mask), first = vec_and(hash, mask), second = vec_and(vec_right(hash, 32), mask);

	ring_lanes_fetch(lanes, hash);
	vec_store(lanes->second, second);
	ring_lanes_fetch_rows(ring, lanes->second);
	lanes->seconds = vec_unequal(first, second) & (uint8_t)~lanes->udp;
}

static const struct lanes_method hunt_lanes = {.has_second = true};

#endif
