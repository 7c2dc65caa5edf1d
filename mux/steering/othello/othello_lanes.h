/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steering `othello` in lanes (methods/inline.h): buckets by arrays of codes (pair.h).
 */
#ifndef FAIRLEAD_MUX_OTHELLO_LANES_H
#define FAIRLEAD_MUX_OTHELLO_LANES_H

#include "steering/othello/pair.h"
#include "steering/ring/ring_lanes.h"

/* fl_othello_mix() of halves of lanes. */
VEC_INLINE vec othello_lanes_mix(vec v)
{
	VEC_EACH
	{
		vec_part32 x = (vec_part32)v.part[p];

		for (int round = 0; round < 2; round++) {
			x += x << 10;
			x ^= x >> 6;
			x += x << 3;
			x ^= x >> 11;
			x += x << 15;
		}
		v.part[p] = (vec_part)x;
	}
	return v;
}

/* fl_othello_key_make(): the low half, and above it the high one. */
VEC_INLINE vec othello_lanes_key(const struct othello_arrays *arrays, vec hash)
{
	const vec seed = vec_all(arrays->seed), crc = vec_and(hash, vec_all(UINT32_MAX));

	if (likely(arrays->hash == FL_HASH_SIPHASH))
		return vec_mul(hash, seed);
	return othello_lanes_mix(
	    vec_xor(vec_or(crc, vec_or(vec_left(crc, 48), vec_left(vec_right(crc, 16), 32))), seed));
}

/* fl_othello_index() of low halves of keys. */
VEC_INLINE vec othello_lanes_index(vec key, uint32_t count)
{
	return vec_right(vec_mul32(key, vec_all(count)), 32);
}

/* Places of cells in A and in B: othello_arrays_places(). */
VEC_INLINE void othello_lanes_places(const struct othello_arrays *arrays, vec hash, vec places[2])
{
	const vec key = othello_lanes_key(arrays, hash);

	places[0] = othello_lanes_index(key, arrays->na);
	places[1] = vec_add(othello_lanes_index(vec_right(key, 32), arrays->nb), vec_all(arrays->na));
}

enum { OTHELLO_SHIFT_BITS = 5, OTHELLO_SHIFT_MASK = 31 };

/* How places' cells are loaded: the address, and below it by how many bits to shift. Prefetches these lanes'. */
VEC_INLINE void othello_lanes_fetch_cells(const struct othello_arrays *arrays, vec places, uint8_t wanted,
					  uint64_t out[LANES])
{
	const uint32_t bits = arrays->bits;
	const vec at = vec_mul32(places, vec_all(bits)), shift = vec_and(at, vec_all(othello_cell_shifts(bits)));
	const vec address = vec_add(vec_right(vec_sub(at, shift), 3), vec_all((uint64_t)(uintptr_t)arrays->cells));

	vec_store(out, vec_or(vec_left(address, OTHELLO_SHIFT_BITS), shift));
	for (uint32_t i = 0; i < LANES; i++)
		if (wanted >> i & 1) /* more at once than the nearest cache can wait for */
			rte_prefetch1((const void *)(uintptr_t)(out[i] >> OTHELLO_SHIFT_BITS));
}

/* The code of a lane; bits above it are not its own. */
static inline uint32_t othello_lanes_load(uint64_t cell)
{
	return fl_load_le32((const uint8_t *)(uintptr_t)(cell >> OTHELLO_SHIFT_BITS)) >> (cell & OTHELLO_SHIFT_MASK);
}

static inline uint32_t othello_lanes_code(uint64_t cells[2][LANES], uint32_t i, uint32_t mask)
{
	return (othello_lanes_load(cells[0][i]) ^ othello_lanes_load(cells[1][i])) & mask;
}

/* Lanes one of whose cells is another than before. */
static inline uint8_t othello_lanes_changed(const uint64_t *changed, const vec places[2])
{
	uint64_t a[LANES] __attribute__((aligned(64))), b[LANES] __attribute__((aligned(64)));
	uint32_t lanes = 0;

	vec_store(a, places[0]);
	vec_store(b, places[1]);
	for (uint32_t i = 0; i < LANES; i++)
		lanes |= ((changed[a[i] / 64] >> a[i] % 64 | changed[b[i] / 64] >> b[i] % 64) & 1) << i;
	return (uint8_t)lanes;
}

VEC_INLINE void othello_lanes_fetch(struct lanes *lanes, vec hash)
{
	const struct othello_pair *pair;
	vec places[2];

	ring_lanes_place(lanes, hash);
	vec_store(lanes->second, vec_and(vec_load(lanes->place), vec_all(UINT32_MAX)));
	lanes->data = pair = othello_pair_of(lanes->service[0]);
	if (unlikely(!pair)) { /* as long as there are no arrays, the bucket is that of the hash's low half */
		ring_lanes_fetch_rows(lanes->ring[0], lanes->place);
		return;
	}
	lanes->is_waiting = true;
	othello_lanes_places(pair->newest, hash, places);
	for (uint32_t i = 0; i < 2; i++)
		othello_lanes_fetch_cells(pair->newest, places[i], LANES_ALL, lanes->own[i]);
	if (likely(!pair->previous))
		return;
	lanes->seconds = LANES_ALL;
	if (pair->changed)
		lanes->seconds = othello_lanes_changed(pair->changed, places);
	else
		othello_lanes_places(pair->previous, hash, places);
	for (uint32_t i = 0; i < 2; i++)
		othello_lanes_fetch_cells(pair->previous, places[i], lanes->seconds, lanes->own[2 + i]);
}

/*
 * Each bucket as soon as its cells are there. A SYN has no second bucket: its owner would open a connection where only
 * the arrays before lead, which is lost as they are dropped.
 */
static inline void othello_lanes_buckets(struct lanes *lanes)
{
	const struct othello_pair *pair = lanes->data;
	const struct ring *ring = lanes->ring[0];
	const uint32_t mask = (1U << pair->newest->bits) - 1;
	vec first;

#pragma GCC unroll 8
	for (uint32_t i = 0; i < LANES; i++) {
		const uint32_t bucket = othello_lanes_code(lanes->own, i, mask);

		memcpy(&lanes->place[i], &bucket, sizeof(bucket)); /* below the generation */
		rte_prefetch0(&ring->rows[bucket]);
	}
	if (likely(!pair->previous && !pair->low_bits))
		return;
	first = vec_and(vec_load(lanes->place), vec_all(UINT32_MAX));
	if (pair->previous) {
		vec_store(lanes->second, first);
		for (uint32_t left = lanes->seconds; left; left &= left - 1) {
			const uint32_t i = (uint32_t)__builtin_ctz(left);

			lanes->second[i] = othello_lanes_code(lanes->own + 2, i, mask);
		}
	}
	lanes->seconds = vec_unequal(first, vec_load(lanes->second)) & (uint8_t)~lanes->syns;
	if (lanes->seconds)
		ring_lanes_fetch_rows(ring, lanes->second);
}

static const struct lanes_method othello_lanes = {.has_second = true, .buckets = othello_lanes_buckets};

#endif
