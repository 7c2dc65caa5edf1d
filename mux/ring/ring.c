/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_hash_crc.h>

#include "ring/backend.h"
#include "ring/huge.h"
#include "ring/owners.h"

enum { RUNS_AHEAD = 16 };

static size_t ring_bytes(uint32_t buckets)
{
	return sizeof(struct ring) + (size_t)buckets * sizeof(fl_row);
}

struct ring *ring_new(uint32_t buckets)
{
	struct ring *ring = huge_alloc(ring_bytes(buckets));

	if (ring)
		ring->mask = buckets - 1;
	return ring;
}

void ring_free(struct ring *ring)
{
	if (!ring)
		return;
	backends_free(ring->backends);
	free(ring->owned);
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
	for (uint32_t i = 0; i < snapshot->buckets; i++)
		ring->rows[i] = fl_row_make(snapshot->current[i], snapshot->previous[i], snapshot->since[i]);
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

static void store_row(struct ring *ring, uint32_t bucket, fl_row row)
{
	__atomic_store_n(&ring->rows[bucket], row, __ATOMIC_RELEASE);
}

void ring_count(const void *context, uint32_t *counts)
{
	const struct ring *ring = context;

	for (uint32_t id = 0; ring->owned && id <= FL_BACKEND_MAX; id++)
		counts[id] += ring->owned[id];
	for (uint32_t bucket = 0; !ring->owned && bucket < ring_buckets(ring); bucket++)
		counts[fl_row_current(ring->rows[bucket])]++;
}

/* From now on the ring keeps how many buckets each id owns; without memory for that, it counts each time. */
static void keep_owned(struct ring *ring)
{
	uint32_t *owned = calloc(FL_BACKEND_MAX + 1, sizeof(*owned));

	if (owned)
		ring_count(ring, owned);
	ring->owned = owned;
}

static int store_by_owner(struct ring *ring, const struct delta *delta, struct reason *why)
{
	struct owners *owners = owners_new(delta);
	fl_row row;

	if (!owners)
		return reason_set(why, -ENOMEM, "generation %u: no memory to apply it by owner", delta->generation);
	for (uint32_t bucket = 0; bucket < ring_buckets(ring); bucket++)
		if (owners_next(owners, fl_row_current(ring->rows[bucket]), delta->committed, &row))
			store_row(ring, bucket, row);
	owners_free(owners);
	for (uint32_t i = 0; ring->owned && i < delta->runs_count; i++) {
		ring->owned[delta->runs[i].owner] -= delta->runs[i].count;
		ring->owned[delta->runs[i].current] += delta->runs[i].count;
	}
	if (!ring->owned)
		keep_owned(ring);
	return 0;
}

/* Prefetches the rows of scattered runs some runs ahead, since each is a cache miss. */
static void store_by_number(struct ring *ring, const struct delta *delta)
{
	for (uint32_t i = 0; i < delta->runs_count; i++) {
		const struct fl_delta_run *run = &delta->runs[i];
		fl_row row = fl_row_make(run->current, run->previous, delta->committed);

		if (i + RUNS_AHEAD < delta->runs_count)
			__builtin_prefetch(&ring->rows[delta->runs[i + RUNS_AHEAD].start], 1);
		for (uint32_t bucket = run->start; bucket < run->start + run->count; bucket++) {
			if (ring->owned) {
				ring->owned[fl_row_current(ring->rows[bucket])]--;
				ring->owned[run->current]++;
			}
			store_row(ring, bucket, row);
		}
	}
}

int ring_apply_rows(struct ring *ring, const struct delta *delta, struct reason *why)
{
	int error = ring_follows(ring, delta, why);

	if (!error && delta->order == FL_DELTA_BY_OWNER)
		error = store_by_owner(ring, delta, why);
	else if (!error)
		store_by_number(ring, delta);
	return error;
}

int ring_apply(struct ring *ring, const struct delta *delta, struct reason *why)
{
	int error = ring_apply_rows(ring, delta, why);

	if (!error)
		ring_set_generation(ring, delta->generation);
	return error;
}

/* Uses the CPU's instruction: about 10 ms for the largest ring, on the thread that also follows ZooKeeper. */
static uint32_t rows_checksum(const struct ring *ring)
{
	uint32_t crc = 0xffffffffU;

	for (uint32_t i = 0; i < ring_buckets(ring); i++)
		crc = rte_hash_crc_8byte(ring_row(ring, i), crc);
	return ~crc;
}

/* Sets the bit of each id that a bucket names. */
static void note_named(const struct ring *ring, uint64_t named[(FL_BACKEND_MAX + 1) / 64])
{
	for (uint32_t i = 0; i < ring_buckets(ring); i++) {
		uint16_t current = fl_row_current(ring_row(ring, i)), previous = fl_row_previous(ring_row(ring, i));

		named[current / 64] |= 1ULL << current % 64;
		named[previous / 64] |= 1ULL << previous % 64;
	}
}

uint32_t ring_checksum(const struct ring *ring)
{
	const struct backends *backends = ring_backends(ring);
	uint64_t named[(FL_BACKEND_MAX + 1) / 64] = {0};
	uint32_t crc = rows_checksum(ring);
	bool has_named = false;

	for (uint32_t i = 0; backends && i < backends->count; i++) {
		const struct fl_delta_backend *b = &backends->list[i];
		bool is_removed = b->flags & FL_BACKEND_REMOVED;
		uint8_t head[] = {b->id & 0xff, b->id >> 8, b->flags & 0xff, b->flags >> 8};

		if (is_removed && !has_named) {
			note_named(ring, named);
			has_named = true;
		}
		if (is_removed && !(named[b->id / 64] >> b->id % 64 & 1))
			continue;
		crc = fl_crc32c(crc, head, sizeof(head));
		crc = fl_crc32c(crc, b->address.bytes, sizeof(b->address.bytes));
	}
	return crc;
}
