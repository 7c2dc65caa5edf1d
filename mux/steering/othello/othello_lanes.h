/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steering `othello` in lanes (steering/methods/lanes.h): buckets by arrays of codes (pair.h).
 */
#ifndef FAIRLEAD_MUX_OTHELLO_LANES_H
#define FAIRLEAD_MUX_OTHELLO_LANES_H

#include "steering/othello/pair.h"
#include "steering/ring/ring_lanes.h"

/* fl_othello_mix() of halves of lanes. */
static inline ISA __m512i othello_lanes_mix(__m512i v)
{
	for (int round = 0; round < 2; round++) {
		v = _mm512_add_epi32(v, _mm512_slli_epi32(v, 10));
		v = _mm512_xor_si512(v, _mm512_srli_epi32(v, 6));
		v = _mm512_add_epi32(v, _mm512_slli_epi32(v, 3));
		v = _mm512_xor_si512(v, _mm512_srli_epi32(v, 11));
		v = _mm512_add_epi32(v, _mm512_slli_epi32(v, 15));
	}
	return v;
}

/* fl_othello_key_make(): the low half, and above it the high one. */
static inline ISA __m512i othello_lanes_key(const struct othello_set *set, __m512i hash)
{
	const __m512i seed = all(set->seed), crc = _mm512_and_si512(hash, all(UINT32_MAX));

	if (likely(set->hash == FL_HASH_SIPHASH))
		return _mm512_mullo_epi64(hash, seed);
	return othello_lanes_mix(
	    _mm512_xor_si512(_mm512_or_si512(crc, _mm512_slli_epi64(_mm512_rol_epi32(crc, 16), 32)), seed));
}

/* Addresses of cells by the low halves of keys, and prefetches them: fl_othello_index(). Each takes 1 << shift bytes. */
static inline ISA void othello_lanes_cells(const void *cells, uint32_t count, unsigned shift, __m512i key,
					   uint64_t out[LANES])
{
	const __m512i index = _mm512_srli_epi64(_mm512_mul_epu32(key, all(count)), 32);

	_mm512_store_si512(out, _mm512_add_epi64(_mm512_slli_epi64(index, shift), all((uint64_t)(uintptr_t)cells)));
	for (uint32_t i = 0; i < LANES; i++)
		rte_prefetch1((const void *)(uintptr_t)out[i]); /* more at once than the nearest cache can wait for */
}

static inline ISA void othello_lanes_fetch_set(const struct othello_set *set, __m512i hash, uint64_t out[2][LANES])
{
	const __m512i key = othello_lanes_key(set, hash);

	othello_lanes_cells(set->a, set->na, 1, key, out[0]);
	othello_lanes_cells(set->b, set->nb, 1, _mm512_srli_epi64(key, 32), out[1]);
}

static inline ISA void othello_lanes_fetch(struct lanes *lanes, __m512i hash)
{
	const struct othello_pair *pair;
	__m512i key;

	ring_lanes_place(lanes, hash);
	_mm512_store_si512(lanes->second, _mm512_and_si512(_mm512_load_si512(lanes->place), all(UINT32_MAX)));
	lanes->data = pair = othello_pair_of(lanes->service[0]);
	if (unlikely(!pair)) { /* as long as there are no arrays, the bucket is that of the hash's low half */
		ring_lanes_fetch_rows(lanes->ring[0], lanes->place);
		return;
	}
	lanes->is_waiting = true;
	if (pair->both_a) {
		key = othello_lanes_key(&pair->first, hash);
		othello_lanes_cells(pair->both_a, pair->first.na, 2, key, lanes->own[0]);
		othello_lanes_cells(pair->both_b, pair->first.nb, 2, _mm512_srli_epi64(key, 32), lanes->own[1]);
		return;
	}
	othello_lanes_fetch_set(&pair->first, hash, lanes->own);
	if (unlikely(pair->previous))
		othello_lanes_fetch_set(&pair->second, hash, lanes->own + 2);
}

/* A vector of the lanes' cells, by the intrinsic that sets all of its elements, which are of this type. */
#define OTHELLO_LANES_CELLS(set, type, cells)                                                                          \
	set(*(const type *)(uintptr_t)(cells)[7], *(const type *)(uintptr_t)(cells)[6],                                \
	    *(const type *)(uintptr_t)(cells)[5], *(const type *)(uintptr_t)(cells)[4],                                \
	    *(const type *)(uintptr_t)(cells)[3], *(const type *)(uintptr_t)(cells)[2],                                \
	    *(const type *)(uintptr_t)(cells)[1], *(const type *)(uintptr_t)(cells)[0])

/* The codes of one set, of 16 bits. */
static inline ISA __m512i othello_lanes_codes(uint64_t cells[2][LANES])
{
	return _mm512_cvtepu16_epi64(_mm_xor_si128(OTHELLO_LANES_CELLS(_mm_set_epi16, int16_t, cells[0]),
						   OTHELLO_LANES_CELLS(_mm_set_epi16, int16_t, cells[1])));
}

/* The codes of two sets beside each other, of 32. */
static inline ISA __m512i othello_lanes_both(uint64_t cells[2][LANES])
{
	return _mm512_cvtepu32_epi64(_mm256_xor_si256(OTHELLO_LANES_CELLS(_mm256_set_epi32, int32_t, cells[0]),
						      OTHELLO_LANES_CELLS(_mm256_set_epi32, int32_t, cells[1])));
}

/* Of one set alone: each bucket as soon as its cells are there. */
static inline ISA void othello_lanes_buckets_of_one(struct lanes *lanes)
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
static inline ISA void othello_lanes_buckets(struct lanes *lanes)
{
	const struct othello_pair *pair = lanes->data;
	const struct ring *ring = lanes->ring[0];
	const __m512i generation = _mm512_andnot_si512(all(UINT32_MAX), _mm512_load_si512(lanes->place));
	__m512i first, second;

	if (likely(!pair->previous && !pair->low_bits)) {
		othello_lanes_buckets_of_one(lanes);
		return;
	}
	if (pair->both_a) {
		second = othello_lanes_both(lanes->own);
		first = _mm512_and_si512(second, all(UINT16_MAX));
		second = _mm512_srli_epi64(second, 16);
	} else {
		first = second = othello_lanes_codes(lanes->own);
		if (pair->previous)
			second = othello_lanes_codes(lanes->own + 2);
		else if (unlikely(pair->low_bits))
			second = _mm512_load_si512(lanes->second);
	}
	_mm512_store_si512(lanes->place, _mm512_or_si512(first, generation));
	_mm512_store_si512(lanes->second, second);
	ring_lanes_fetch_rows(ring, lanes->place);
	lanes->seconds = _mm512_cmpneq_epu64_mask(first, second) & (__mmask8) ~(lanes->syns | lanes->udp);
	if (lanes->seconds)
		ring_lanes_fetch_rows(ring, lanes->second);
}

enum { othello_lanes_has_second = true };
static lanes_order *const othello_lanes_order = NULL;

#endif
