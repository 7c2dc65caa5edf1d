/* SPDX-License-Identifier: Apache-2.0 */
/* A ring built aside to replace the published one: a snapshot with the later deltas folded into it. */
#ifndef MUX_STAGED_RING_H
#define MUX_STAGED_RING_H

#include "config/service_config.h"
#include "control/zookeeper.h"
#include "ring/delta.h"

/* All zero: there is none. */
struct staged_ring {
	struct delta image;
};

/* 0: there is none. */
static inline uint32_t staged_ring_generation(const struct staged_ring *staged)
{
	return staged->image.generation;
}

bool staged_ring_is_of(const struct staged_ring *staged, const struct service_config *config);

/* Both take the bytes of a generation. They return 0, or a refusal's reason (refusal.h) and why; then nothing changed. */
unsigned staged_ring_start(struct staged_ring *staged, const struct service_config *config, uint32_t generation,
			   const struct zk_reply *snapshot, struct reason *why);
unsigned staged_ring_fold(struct staged_ring *staged, uint32_t generation, const struct zk_reply *delta,
			  struct reason *why);

void staged_ring_drop(struct staged_ring *staged);

#endif
