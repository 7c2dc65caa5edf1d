/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ring/backend.h"
#include "ring/fold.h"
#include "ring/huge.h"
#include "ring/listed.h"

enum { ROWS_AHEAD = 16 };

static size_t ring_bytes(uint32_t buckets)
{
	return sizeof(struct ring) + (size_t)buckets * sizeof(fl_row);
}

struct ring *ring_new(uint32_t buckets, struct lists *lists, const struct listed_rule *rule)
{
	struct ring *ring = huge_alloc(ring_bytes(buckets));

	if (!ring)
		return NULL;
	ring->mask = buckets - 1;
	ring->listed = listed_new(lists, buckets, rule);
	if (ring->listed)
		return ring;
	ring_free(ring);
	return NULL;
}

void ring_free(struct ring *ring)
{
	if (!ring)
		return;
	listed_free(ring->listed, ring);
	backends_free(ring->backends);
	image_clear(&ring->image);
	huge_free(ring, ring_bytes(ring_buckets(ring)));
}

int ring_load(struct ring *ring, const struct delta *snapshot, struct reason *why)
{
	if (!snapshot->snapshot)
		return reason_set(why, -EINVAL, "generation %u is a delta; a ring is loaded from a snapshot",
				  snapshot->generation);
	if (snapshot->buckets != ring_buckets(ring))
		return reason_set(why, -EINVAL, "buckets: snapshot %u has %u; the service has %u", snapshot->generation,
				  snapshot->buckets, ring_buckets(ring));
	if (!image_copy(&ring->image, &snapshot->image))
		return reason_set(why, -ENOMEM, "generation %u: no memory for its %u buckets", snapshot->generation,
				  snapshot->buckets);
	ring->listed->is_held = image_is_held(&ring->image);
	for (uint32_t i = 0; i < snapshot->buckets; i++)
		listed_store(ring, i);
	__atomic_store_n(&ring->generation, snapshot->generation, __ATOMIC_RELEASE);
	return 0;
}

int ring_follows(const struct ring *ring, const struct delta *delta, struct reason *why)
{
	if (delta->snapshot)
		return reason_set(why, -EINVAL, "generation %u is a snapshot; a ring is changed by deltas",
				  delta->generation);
	if (delta->buckets != ring_buckets(ring))
		return reason_set(why, -EINVAL, "buckets: delta %u has %u; the ring has %u", delta->generation,
				  delta->buckets, ring_buckets(ring));
	if (delta->base != ring_generation(ring))
		return reason_set(why, -ESTALE, "base: delta %u follows generation %u; the ring is at %u",
				  delta->generation, delta->base, ring_generation(ring));
	return 0;
}

/* Prefetches some rows ahead, since each may be a cache miss. */
static void store_rows(struct ring *ring, const struct fold *fold)
{
	for (uint32_t i = 0; i < fold->count; i++) {
		uint32_t bucket = fold->list[i].bucket;

		if (i + ROWS_AHEAD < fold->count)
			__builtin_prefetch(&ring->rows[fold->list[i + ROWS_AHEAD].bucket], 1);
		listed_store(ring, bucket);
	}
}

int ring_start(struct ring *ring, const struct delta *delta, struct fold *fold, struct reason *why)
{
	int error = ring_follows(ring, delta, why);

	if (error)
		return error;
	error = fold_start(fold, &ring->image, delta);
	if (error == -EINVAL)
		return reason_set(why, error, "generation %u: a bucket has more former owners than packets name",
				  delta->generation);
	if (error)
		return reason_set(why, error, "generation %u: no memory to apply it", delta->generation);
	return 0;
}

void ring_commit(struct ring *ring, const struct delta *delta, const struct fold *fold)
{
	fold_commit(fold, &ring->image, delta);
	store_rows(ring, fold);
	listed_follow(ring);
}

uint64_t ring_sum(const struct ring *ring)
{
	const struct backends *backends = ring_backends(ring);

	return ring->image.sum + (backends ? backends->sum : 0);
}
