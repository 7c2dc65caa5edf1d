/* SPDX-License-Identifier: Apache-2.0 */
#include "control/staged_ring.h"

#include "control/refusal.h"
#include "ring/fold.h"

bool staged_ring_is_of(const struct staged_ring *staged, const struct service_config *config)
{
	return staged->image.service == config->id && staged->image.buckets == config->buckets;
}

unsigned staged_ring_start(struct staged_ring *staged, const struct service_config *config, uint32_t generation,
			   const struct zk_reply *snapshot, struct reason *why)
{
	struct delta_expected expected = {
	    .snapshot = true,
	    .service = config->id,
	    .generation = generation,
	    .buckets = config->buckets,
	};

	return delta_decode(snapshot->data, snapshot->len, &expected, &staged->image, why);
}

unsigned staged_ring_fold(struct staged_ring *staged, uint32_t generation, const struct zk_reply *delta,
			  struct reason *why)
{
	struct delta_expected expected = delta_expected_by(&staged->image);
	struct delta decoded;
	unsigned reason;
	int error;

	expected.generation = generation;
	reason = delta_decode(delta->data, delta->len, &expected, &decoded, why);
	if (reason)
		return reason;
	error = delta_fold(&staged->image, &decoded);
	delta_free(&decoded);
	return error ? refusal_of(error) : 0;
}

void staged_ring_drop(struct staged_ring *staged)
{
	if (staged->image.generation)
		delta_free(&staged->image);
	*staged = (struct staged_ring){0};
}
