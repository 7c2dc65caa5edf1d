/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steering `othello` in lanes (steering/methods/lanes.h): buckets by arrays of codes (pair.h).
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
VEC_INLINE vec othello_lanes_key(const struct othello_set *set, vec hash)
{
	const vec seed = vec_all(set->seed), crc = vec_and(hash, vec_all(UINT32_MAX));

	if (likely(set->hash == FL_HASH_SIPHASH))
		return vec_mul(hash, seed);
	return othello_lanes_mix(
	    vec_xor(vec_or(crc, vec_or(vec_left(crc, 48), vec_left(vec_right(crc, 16), 32))), seed));
}

/* Addresses of cells by the low halves of keys, and prefetches them: fl_othello_index(). Each takes 1 << shift bytes. */
VEC_INLINE void othello_lanes_cells(const void *cells, uint32_t count, unsigned shift, vec key, uint64_t out[LANES])
{
	const vec index = vec_right(vec_mul32(key, vec_all(count)), 32);

	vec_store(out, vec_add(vec_left(index, shift), vec_all((uint64_t)(uintptr_t)cells)));
	for (uint32_t i = 0; i < LANES; i++)
		rte_prefetch1((const void *)(uintptr_t)out[i]); /* more at once than the nearest cache can wait for */
}

VEC_INLINE void othello_lanes_fetch_set(const struct othello_set *set, vec hash, uint64_t out[2][LANES])
{
	const vec key = othello_lanes_key(set, hash);

	othello_lanes_cells(set->a, set->na, 1, key, out[0]);
	othello_lanes_cells(set->b, set->nb, 1, vec_right(key, 32), out[1]);
}

VEC_INLINE void othello_lanes_fetch(struct lanes *lanes, vec hash)
{
	const struct othello_pair *pair;
	vec key;

	ring_lanes_place(lanes, hash);
	vec_store(lanes->second, vec_and(vec_load(lanes->place), vec_all(UINT32_MAX)));
	lanes->data = pair = othello_pair_of(lanes->service[0]);
	if (unlikely(!pair)) { /* as long as there are no arrays, the bucket is that of the hash's low half */
		ring_lanes_fetch_rows(lanes->ring[0], lanes->place);
		return;
	}
	lanes->is_waiting = true;
	if (pair->both_a) {
		key = othello_lanes_key(&pair->first, hash);
		othello_lanes_cells(pair->both_a, pair->first.na, 2, key, lanes->own[0]);
		othello_lanes_cells(pair->both_b, pair->first.nb, 2, vec_right(key, 32), lanes->own[1]);
		return;
	}
	othello_lanes_fetch_set(&pair->first, hash, lanes->own);
	if (unlikely(pair->previous))
		othello_lanes_fetch_set(&pair->second, hash, lanes->own + 2);
}

/* The codes of one set, of 16 bits. */
VEC_INLINE vec othello_lanes_codes(uint64_t cells[2][LANES])
{
#define CODE(i) (uint64_t)(*(const uint16_t *)(uintptr_t)cells[0][i] ^ *(const uint16_t *)(uintptr_t)cells[1][i])
	return VEC_OF(CODE);
#undef CODE
}

/* The codes of two sets beside each other, of 32. */
VEC_INLINE vec othello_lanes_both(uint64_t cells[2][LANES])
{
#define CODES(i) (uint64_t)(*(const uint32_t *)(uintptr_t)cells[0][i] ^ *(const uint32_t *)(uintptr_t)cells[1][i])
	return VEC_OF(CODES);
#undef CODES
}

/* Of one set alone: each bucket as soon as its cells are there. */
static inline void othello_lanes_buckets_of_one(struct lanes *lanes)
{
	const struct ring *ring = lanes->ring[0];

#pragma GCC unroll 8
	for (uint32_t i = 0; i < LANES; i++) {
		const uint32_t bucket =
		    *(const uint16_t *)(uintptr_t)lanes->own[0][i] ^ *(const uint16_t *)(uintptr_t)lanes->own[1][i];

		memcpy(&lanes->place[i], &bucket, sizeof(bucket)); /* below the generation */
		rte_prefetch0(&ring->rows[bucket]);
	}
}

/*
 * A SYN has no second bucket: its owner would open a connection where only the arrays before lead, which is lost as they
 * are dropped.
 */
static inline void othello_lanes_buckets(struct lanes *lanes)
{
	const struct othello_pair *pair = lanes->data;
	const struct ring *ring = lanes->ring[0];
	const vec generation = vec_and(vec_load(lanes->place), vec_all((uint64_t)UINT32_MAX << 32));
	vec first, second;

	if (likely(!pair->previous && !pair->low_bits)) {
		othello_lanes_buckets_of_one(lanes);
		return;
	}
	if (pair->both_a) {
		second = othello_lanes_both(lanes->own);
		first = vec_and(second, vec_all(UINT16_MAX));
		second = vec_right(second, 16);
	} else {
		first = second = othello_lanes_codes(lanes->own);
		if (pair->previous)
			second = othello_lanes_codes(lanes->own + 2);
		else if (unlikely(pair->low_bits))
			second = vec_load(lanes->second);
	}
	vec_store(lanes->place, vec_or(first, generation));
	vec_store(lanes->second, second);
	ring_lanes_fetch_rows(ring, lanes->place);
	lanes->seconds = vec_unequal(first, second) & (uint8_t) ~(lanes->syns | lanes->udp);
	if (lanes->seconds)
		ring_lanes_fetch_rows(ring, lanes->second);
}

static const struct lanes_method othello_lanes = {.has_second = true, .buckets = othello_lanes_buckets};

#endif
