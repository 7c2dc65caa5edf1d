/* SPDX-License-Identifier: Apache-2.0 */
/* What the stages of lanes.h share: registers of eight lanes of 64 bits, by AVX-512. Included on x86-64 only. */
#ifndef FAIRLEAD_MUX_FLOW_SIMD_H
#define FAIRLEAD_MUX_FLOW_SIMD_H

#include <immintrin.h>

#include <fairlead/hash.h>
#include <fairlead/types.h>

#include "encap/gue.h"
#include "flow/lanes.h"

enum {
	AT_IP = ENCAP_AT_IP, /* of an untagged frame */
	LANES_SEEN_MAX = 80, /* what is read of a frame at most */
};

/* What lanes_has_cpu() asks for. */
#define ISA __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,bmi,bmi2")))

static inline ISA __m512i all(uint64_t value)
{
	return _mm512_set1_epi64((long long)value);
}

/* A constant that stays in its register: compilers would load it again wherever it is used. */
static inline ISA __mmask64 kept(__mmask64 mask)
{
	__asm__("" : "+k"(mask));
	return mask;
}

/* 16 bytes of each of four addresses. */
static inline ISA __m512i four_of(const void *a, const void *b, const void *c, const void *d)
{
	__m512i v = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)a));

	v = _mm512_mask_broadcast_i32x4(v, 0x00f0, _mm_loadu_si128((const __m128i *)b));
	v = _mm512_mask_broadcast_i32x4(v, 0x0f00, _mm_loadu_si128((const __m128i *)c));
	return _mm512_mask_broadcast_i32x4(v, 0xf000, _mm_loadu_si128((const __m128i *)d));
}

/* Bits of (a ^ b) & mask. */
static inline ISA __m512i differ(__m512i a, __m512i b, __m512i mask)
{
	return _mm512_ternarylogic_epi64(a, b, mask, 0x28);
}

/* a | b | c */
static inline ISA __m512i any(__m512i a, __m512i b, __m512i c)
{
	return _mm512_ternarylogic_epi64(a, b, c, 0xfe);
}

/* The low 16 bits of each lane with their bytes swapped; the rest is zero. */
static inline ISA __m512i swap16(__m512i v)
{
	const long long even = (long long)0xffffffffffff0001, odd = (long long)0xffffffffffff0809;

	return _mm512_shuffle_epi8(v, _mm512_set4_epi64(odd, even, odd, even));
}

/* Each half of 32 bits with its bytes swapped. */
static inline ISA __m512i swap32(__m512i v)
{
	return _mm512_shuffle_epi8(
	    v, _mm512_set4_epi64(0x0c0d0e0f08090a0b, 0x0405060700010203, 0x0c0d0e0f08090a0b, 0x0405060700010203));
}

static inline ISA __m512i swap64(__m512i v)
{
	const long long even = 0x0001020304050607, odd = 0x08090a0b0c0d0e0f;

	return _mm512_shuffle_epi8(v, _mm512_set4_epi64(odd, even, odd, even));
}

/* Sums below 2^35 folded twice: 0xffff if and only if the sum is a multiple of 0xffff and not 0. */
static inline ISA __m512i fold(__m512i sum)
{
	const __m512i low16 = all(0xffff);

	sum = _mm512_add_epi64(_mm512_and_si512(sum, low16), _mm512_srli_epi64(sum, 16));
	return _mm512_add_epi64(_mm512_and_si512(sum, low16), _mm512_srli_epi64(sum, 16));
}

static inline ISA __m512i halves_sum(__m512i v)
{
	return _mm512_add_epi64(_mm512_and_si512(v, all(0xffffffff)), _mm512_srli_epi64(v, 32));
}

/* Eight words of each of eight packets: what was a lane of every register is a register. */
static inline ISA void transpose(__m512i v[8])
{
	const __m512i low = _mm512_set_epi64(13, 12, 5, 4, 9, 8, 1, 0),
		      high = _mm512_set_epi64(15, 14, 7, 6, 11, 10, 3, 2);
	__m512i pair[8], four[8];

	for (int i = 0; i < 8; i += 2) {
		pair[i] = _mm512_unpacklo_epi64(v[i], v[i + 1]);     /* words i, i + 1 of packets 0 2 4 6 */
		pair[i + 1] = _mm512_unpackhi_epi64(v[i], v[i + 1]); /* of packets 1 3 5 7 */
	}
	for (int i = 0; i < 8; i += 4)
		for (int j = 0; j < 2; j++) {
			/* words i to i + 3 of packets j and j + 4, or j + 2 and j + 6 */
			four[i + j] = _mm512_permutex2var_epi64(pair[i + j], low, pair[i + j + 2]);
			four[i + j + 2] = _mm512_permutex2var_epi64(pair[i + j], high, pair[i + j + 2]);
		}
	for (int j = 0; j < 4; j++) {
		v[j] = _mm512_permutex2var_epi64(four[j], _mm512_set_epi64(11, 10, 9, 8, 3, 2, 1, 0), four[j + 4]);
		v[j + 4] =
		    _mm512_permutex2var_epi64(four[j], _mm512_set_epi64(15, 14, 13, 12, 7, 6, 5, 4), four[j + 4]);
	}
}

/* SipHash-2-4 of each lane: the rounds of fairlead/hash.h, on vectors instead of words. */
typedef uint64_t lanes_vector __attribute__((vector_size(64)));

struct lanes_siphash {
	lanes_vector v0, v1, v2, v3;
};

static inline ISA struct lanes_siphash lanes_siphash_begin(__m512i k0, __m512i k1)
{
	return (struct lanes_siphash){
	    (lanes_vector)k0 ^ 0x736f6d6570736575ULL, (lanes_vector)k1 ^ 0x646f72616e646f6dULL,
	    (lanes_vector)k0 ^ 0x6c7967656e657261ULL, (lanes_vector)k1 ^ 0x7465646279746573ULL};
}

static inline ISA void lanes_siphash_add(struct lanes_siphash *s, __m512i word)
{
	s->v3 ^= (lanes_vector)word;
	FL_SIPROUND(s->v0, s->v1, s->v2, s->v3);
	FL_SIPROUND(s->v0, s->v1, s->v2, s->v3);
	s->v0 ^= (lanes_vector)word;
}

static inline ISA __m512i lanes_siphash_end(struct lanes_siphash *s)
{
	s->v2 ^= 0xff;
	FL_SIPROUND(s->v0, s->v1, s->v2, s->v3);
	FL_SIPROUND(s->v0, s->v1, s->v2, s->v3);
	FL_SIPROUND(s->v0, s->v1, s->v2, s->v3);
	FL_SIPROUND(s->v0, s->v1, s->v2, s->v3);
	return (__m512i)(s->v0 ^ s->v1 ^ s->v2 ^ s->v3);
}

/*
 * The same for two at once, round by round: each operation waits for the one before, so that one alone leaves much of a
 * core idle.
 */
static inline ISA void lanes_siphash_rounds(struct lanes_siphash *x, struct lanes_siphash *y, int rounds)
{
	for (int i = 0; i < rounds; i++) {
		FL_SIPROUND(x->v0, x->v1, x->v2, x->v3);
		FL_SIPROUND(y->v0, y->v1, y->v2, y->v3);
	}
}

static inline ISA void lanes_siphash_add_two(struct lanes_siphash *x, __m512i of_x, struct lanes_siphash *y,
					     __m512i of_y)
{
	x->v3 ^= (lanes_vector)of_x;
	y->v3 ^= (lanes_vector)of_y;
	lanes_siphash_rounds(x, y, 2);
	x->v0 ^= (lanes_vector)of_x;
	y->v0 ^= (lanes_vector)of_y;
}

/* The hashes are then the words of each state, joined by exclusive or. */
static inline ISA void lanes_siphash_end_two(struct lanes_siphash *x, struct lanes_siphash *y)
{
	x->v2 ^= 0xff;
	y->v2 ^= 0xff;
	lanes_siphash_rounds(x, y, 4);
}

/* Room in front of a frame for the longest header that lanes write. */
enum { LANES_ROOM = GUE_PLAIN_LEN + FL_LIST_SHORT_BYTES + FL_LIST_TAG_LEN - AT_IP };

/*
 * Where frames are, and which of them are in one buffer, with room for a header in front, and have the least bytes;
 * others are read from zeros instead.
 */
static inline ISA uint32_t lanes_find_frames(const struct burst *burst, uint32_t first, uint32_t least,
					     const uint8_t *data[LANES], __m512i *frame_len)
{
	static const uint8_t nothing[LANES_SEEN_MAX] __attribute__((aligned(64)));
	const struct rte_mbuf *const *mbufs = (const struct rte_mbuf *const *)burst->mbufs + first;
	uint32_t usable = 0;
	__m128i lens = _mm_setzero_si128();

#define FRAME(i)                                                                                                       \
	do {                                                                                                           \
		uint32_t len = mbufs[i]->data_len;                                                                     \
		bool is_usable = len == mbufs[i]->pkt_len && len >= least && mbufs[i]->data_off >= LANES_ROOM;         \
                                                                                                                       \
		data[i] = is_usable ? rte_pktmbuf_mtod(mbufs[i], const uint8_t *) : nothing;                           \
		usable |= (uint32_t)is_usable << (i);                                                                  \
		lens = _mm_insert_epi16(lens, (int)len, i);                                                            \
	} while (0)
	FRAME(0);
	FRAME(1);
	FRAME(2);
	FRAME(3);
	FRAME(4);
	FRAME(5);
	FRAME(6);
	FRAME(7);
#undef FRAME
	*frame_len = _mm512_cvtepu16_epi64(lens);
	return usable;
}

#endif
