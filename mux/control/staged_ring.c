/* SPDX-License-Identifier: Apache-2.0 */
#include "control/staged_ring.h"

#include <stdlib.h>
#include <string.h>

#include "control/refusal.h"
#include "ring/fold.h"

bool staged_ring_is_of(const struct staged_ring *staged, const struct service_config *config)
{
	return staged->image.service == config->id && staged->image.buckets == config->buckets &&
	       staged->blob_node == config->steering->blob;
}

const struct steering_blob *staged_ring_blob(const struct staged_ring *staged)
{
	return staged->blob_node ? &staged->blob : NULL;
}

static void free_blob(struct staged_ring *staged)
{
	free((void *)(uintptr_t)staged->blob.data);
	staged->blob = (struct steering_blob){0};
}

static void keep_blob(struct staged_ring *staged, const struct zk_reply *blob)
{
	uint8_t *data;

	free_blob(staged);
	if (!blob)
		return;
	data = zk_alloc(blob->len);
	if (blob->len)
		memcpy(data, blob->data, blob->len);
	staged->blob = (struct steering_blob){data, blob->len};
}

unsigned staged_ring_start(struct staged_ring *staged, const struct service_config *config, uint32_t generation,
			   const struct zk_reply *snapshot, const struct zk_reply *blob, struct reason *why)
{
	struct delta_expected expected = {
	    .snapshot = true,
	    .service = config->id,
	    .generation = generation,
	    .buckets = config->buckets,
	};
	unsigned reason = delta_decode(snapshot->data, snapshot->len, &expected, &staged->image, why);

	if (reason)
		return reason;
	staged->blob_node = config->steering->blob;
	keep_blob(staged, blob);
	return 0;
}

unsigned staged_ring_fold(struct staged_ring *staged, uint32_t generation, const struct zk_reply *delta,
			  const struct zk_reply *blob, struct reason *why)
{
	struct delta_expected expected = {
	    .service = staged->image.service,
	    .generation = generation,
	    .buckets = staged->image.buckets,
	    .backends = staged->image.backends,
	    .backends_count = staged->image.backends_count,
	    .count = delta_count,
	    .base = &staged->image,
	};
	struct delta decoded;
	unsigned reason = delta_decode(delta->data, delta->len, &expected, &decoded, why);
	int error;

	if (reason)
		return reason;
	error = delta_fold(&staged->image, &decoded);
	delta_free(&decoded);
	if (error)
		return refusal_of(error);
	keep_blob(staged, blob);
	return 0;
}

void staged_ring_drop(struct staged_ring *staged)
{
	if (staged->image.generation)
		delta_free(&staged->image);
	free_blob(staged);
	*staged = (struct staged_ring){0};
}
