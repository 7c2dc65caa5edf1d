/* SPDX-License-Identifier: Apache-2.0 */
/* Steering `hunt` in lanes (steering/methods/lanes.h): TCP has a second bucket by the hash's high half. */
#ifndef FAIRLEAD_MUX_HUNT_LANES_H
#define FAIRLEAD_MUX_HUNT_LANES_H

#include "steering/ring/ring_lanes.h"

static inline ISA void hunt_lanes_fetch(struct lanes *lanes, __m512i hash)
{
	const struct ring *ring = lanes->ring[0];
	const __m512i mask = all(ring->mask), first = _mm512_and_si512(hash, mask),
		      second = _mm512_and_si512(_mm512_srli_epi64(hash, 32), mask);

	ring_lanes_fetch(lanes, hash);
	_mm512_store_si512(lanes->second, second);
	ring_lanes_fetch_rows(ring, lanes->second);
	lanes->seconds = _mm512_cmpneq_epu64_mask(first, second) & (__mmask8)~lanes->udp;
}

static inline void hunt_lanes_buckets(struct lanes *lanes)
{
	(void)lanes;
}

enum { hunt_lanes_has_second = true };
static lanes_order *const hunt_lanes_order = NULL;

#endif
