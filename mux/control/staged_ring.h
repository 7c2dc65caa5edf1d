/* SPDX-License-Identifier: Apache-2.0 */
/* A ring built aside to replace the published one: a snapshot with the later deltas folded into it. */
#ifndef MUX_STAGED_RING_H
#define MUX_STAGED_RING_H

#include "config/service_config.h"
#include "control/zookeeper.h"
#include "ring/delta.h"
#include "steering/steering.h"

/* All zero: there is none. */
struct staged_ring {
	struct delta image;
	const char *blob_node;     /* of its steering method; NULL: the method has no blob */
	struct steering_blob blob; /* of the image's generation */
};

/* 0: there is none. */
static inline uint32_t staged_ring_generation(const struct staged_ring *staged)
{
	return staged->image.generation;
}

/* The blob that is published with the image, NULL: none. */
const struct steering_blob *staged_ring_blob(const struct staged_ring *staged);

bool staged_ring_is_of(const struct staged_ring *staged, const struct service_config *config);

/*
 * Both take the bytes of a generation, and those of its blob, NULL if the method has none. They return 0, or a
 * refusal's reason (refusal.h) and why; then nothing changed.
 */
unsigned staged_ring_start(struct staged_ring *staged, const struct service_config *config, uint32_t generation,
			   const struct zk_reply *snapshot, const struct zk_reply *blob, struct reason *why);
unsigned staged_ring_fold(struct staged_ring *staged, uint32_t generation, const struct zk_reply *delta,
			  const struct zk_reply *blob, struct reason *why);

void staged_ring_drop(struct staged_ring *staged);

#endif
