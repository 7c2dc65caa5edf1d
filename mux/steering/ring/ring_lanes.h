/* SPDX-License-Identifier: Apache-2.0 */
/* Steering `ring` in lanes (methods/inline.h): the bucket of the hash's low half. */
#ifndef FAIRLEAD_MUX_RING_LANES_H
#define FAIRLEAD_MUX_RING_LANES_H

#include <rte_prefetch.h>

#include "flow/lanes.h"
#include "flow/vec.h"
#include "ring/ring.h"

/* Buckets and generation, which is loaded before what other methods' buckets come from (ring.h). */
VEC_INLINE void ring_lanes_place(struct lanes *lanes, vec hash)
{
	const struct ring *ring = lanes->ring[0];
	uint32_t generation = ring_generation(ring);

	vec_store(lanes->place, vec_or(vec_and(hash, vec_all(ring->mask)), vec_all((uint64_t)generation << 32)));
	rte_prefetch0(ring_backends(ring));
}

static inline void ring_lanes_fetch_rows(const struct ring *ring, const uint64_t buckets[LANES])
{
	for (uint32_t i = 0; i < LANES; i++)
		rte_prefetch0(&ring->rows[(uint32_t)buckets[i]]);
}

VEC_INLINE void ring_lanes_fetch(struct lanes *lanes, vec hash)
{
	ring_lanes_place(lanes, hash);
	ring_lanes_fetch_rows(lanes->ring[0], lanes->place);
}

static const struct lanes_method ring_lanes = {.has_second = false};

#endif
