/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eight 64-bit lanes in as many registers as a processor needs for them: one with AVX-512, two with AVX2, four with NEON.
 * The stages of lanes_stages.h are written with these operations alone, and compiled once for each (LANES_BYTES).
 */
#ifndef FAIRLEAD_MUX_FLOW_VEC_H
#define FAIRLEAD_MUX_FLOW_VEC_H

#include <string.h>

#include <fairlead/types.h>

#ifdef __aarch64__
#include <arm_neon.h>
#else
#include <immintrin.h>
#endif

/* Vectors of several registers would be passed in memory. */
#define VEC_INLINE static inline __attribute__((always_inline))

enum { VEC_LANES = 8 };

#define VEC_PARTS (64 / LANES_BYTES)

/* One register. */
typedef uint64_t vec_part __attribute__((vector_size(LANES_BYTES)));
typedef uint32_t vec_part32 __attribute__((vector_size(LANES_BYTES)));
typedef uint8_t vec_part8 __attribute__((vector_size(LANES_BYTES)));

typedef struct {
	vec_part part[VEC_PARTS];
} vec;

/* What a comparison gives. Other functions have a bit for each lane in a uint8_t, of lane 0 the lowest. */
#if LANES_BYTES == 64
typedef uint8_t vec_mask;
#else
typedef vec vec_mask;
#endif

#define VEC_EACH _Pragma("GCC unroll 4") for (int p = 0; p < VEC_PARTS; p++)

VEC_INLINE vec vec_all(uint64_t value)
{
	vec v;

	VEC_EACH v.part[p] = (vec_part){0} + value;
	return v;
}

VEC_INLINE vec vec_load(const void *from)
{
	vec v;

	memcpy(&v, __builtin_assume_aligned(from, 64), sizeof(v));
	return v;
}

VEC_INLINE void vec_store(void *to, vec v)
{
	memcpy(__builtin_assume_aligned(to, 64), &v, sizeof(v));
}

/* What f() gives for each lane's number. */
#if LANES_BYTES == 64
#define VEC_OF(f) ((vec){{{f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7)}}})
#elif LANES_BYTES == 32
#define VEC_OF(f) ((vec){{{f(0), f(1), f(2), f(3)}, {f(4), f(5), f(6), f(7)}}})
#else
#define VEC_OF(f) ((vec){{{f(0), f(1)}, {f(2), f(3)}, {f(4), f(5)}, {f(6), f(7)}}})
#endif

#define VEC_BINARY(name, operator)                                                                                     \
	VEC_INLINE vec vec_##name(vec a, vec b)                                                                        \
	{                                                                                                              \
		VEC_EACH a.part[p] = a.part[p] operator b.part[p];                                                     \
		return a;                                                                                              \
	}

VEC_BINARY(and, &)
VEC_BINARY(or, |)
VEC_BINARY(xor, ^)
VEC_BINARY(add, +)
VEC_BINARY(sub, -)
VEC_BINARY(mul, *)

VEC_INLINE vec vec_left(vec v, int bits)
{
	VEC_EACH v.part[p] <<= bits;
	return v;
}

VEC_INLINE vec vec_right(vec v, int bits)
{
	VEC_EACH v.part[p] >>= bits;
	return v;
}

/* a | b | c */
VEC_INLINE vec vec_or3(vec a, vec b, vec c)
{
#if LANES_BYTES == 64
	return (vec){
	    {(vec_part)_mm512_ternarylogic_epi64((__m512i)a.part[0], (__m512i)b.part[0], (__m512i)c.part[0], 0xfe)}};
#else
	return vec_or(vec_or(a, b), c);
#endif
}

/* Bits of (a ^ b) & mask. */
VEC_INLINE vec vec_differ(vec a, vec b, vec mask)
{
	return vec_and(vec_xor(a, b), mask);
}

/* Products of the low halves. */
VEC_INLINE vec vec_mul32(vec a, vec b)
{
#if LANES_BYTES == 64
	a.part[0] = (vec_part)_mm512_mul_epu32((__m512i)a.part[0], (__m512i)b.part[0]);
	return a;
#elif LANES_BYTES == 32
	VEC_EACH a.part[p] = (vec_part)_mm256_mul_epu32((__m256i)a.part[p], (__m256i)b.part[p]);
	return a;
#else
	VEC_EACH a.part[p] = (vec_part)vmull_u32(vmovn_u64((uint64x2_t)a.part[p]), vmovn_u64((uint64x2_t)b.part[p]));
	return a;
#endif
}

/* A register's lanes rotated to the left. */
VEC_INLINE vec_part vec_part_rotated(vec_part v, int bits)
{
#if LANES_BYTES == 32 /* which has shuffles in place of rotations */
	const __m256i two_bytes =
	    _mm256_set_epi64x(0x0d0c0b0a09080f0e, 0x0504030201000706, 0x0d0c0b0a09080f0e, 0x0504030201000706);

	if (bits == 32)
		return (vec_part)_mm256_shuffle_epi32((__m256i)v, 0xb1);
	if (bits == 16)
		return (vec_part)_mm256_shuffle_epi8((__m256i)v, two_bytes);
#endif
	return v << bits | v >> (64 - bits);
}

VEC_INLINE vec_mask vec_equal(vec a, vec b)
{
#if LANES_BYTES == 64
	return _mm512_cmpeq_epi64_mask((__m512i)a.part[0], (__m512i)b.part[0]);
#else
	VEC_EACH a.part[p] = (vec_part)(a.part[p] == b.part[p]);
	return a;
#endif
}

/* Signed: both must be below 2^63. */
VEC_INLINE vec_mask vec_less(vec a, vec b)
{
#if LANES_BYTES == 64
	return _mm512_cmplt_epi64_mask((__m512i)a.part[0], (__m512i)b.part[0]);
#else
	typedef int64_t number __attribute__((vector_size(LANES_BYTES)));

	VEC_EACH a.part[p] = (vec_part)((number)a.part[p] < (number)b.part[p]);
	return a;
#endif
}

/* The lanes whose highest bit is set. */
VEC_INLINE uint8_t vec_signs(vec v)
{
#if LANES_BYTES == 64
	return _mm512_movepi64_mask((__m512i)v.part[0]);
#elif LANES_BYTES == 32
	return (uint8_t)(_mm256_movemask_pd((__m256d)v.part[0]) | _mm256_movemask_pd((__m256d)v.part[1]) << 4);
#else
	static const int16_t at[] = {0, 1, 2, 3, 4, 5, 6, 7};
	uint32x4_t low = vuzp2q_u32((uint32x4_t)v.part[0], (uint32x4_t)v.part[1]),
		   high = vuzp2q_u32((uint32x4_t)v.part[2], (uint32x4_t)v.part[3]);
	uint16x8_t signs = vshrq_n_u16(vuzp2q_u16((uint16x8_t)low, (uint16x8_t)high), 15);

	return (uint8_t)vaddvq_u16(vshlq_u16(signs, vld1q_s16(at)));
#endif
}

VEC_INLINE uint8_t vec_bits(vec_mask mask)
{
#if LANES_BYTES == 64
	return mask;
#else
	return vec_signs(mask);
#endif
}

/* The mask that has these bits. */
VEC_INLINE vec_mask vec_mask_of(uint8_t bits)
{
#if LANES_BYTES == 64
	return bits;
#else
#define BIT(i) 1U << (i)
	const vec each = VEC_OF(BIT);
#undef BIT

	return vec_equal(vec_and(vec_all(bits), each), each);
#endif
}

/* `yes` in lanes of the mask, and else `no`. */
VEC_INLINE vec vec_select(vec_mask mask, vec yes, vec no)
{
#if LANES_BYTES == 64
	no.part[0] = (vec_part)_mm512_mask_mov_epi64((__m512i)no.part[0], mask, (__m512i)yes.part[0]);
#elif LANES_BYTES == 32
	VEC_EACH no.part[p] =
	    (vec_part)_mm256_blendv_pd((__m256d)no.part[p], (__m256d)yes.part[p], (__m256d)mask.part[p]);
#else
	VEC_EACH no.part[p] =
	    (vec_part)vbslq_u64((uint64x2_t)mask.part[p], (uint64x2_t)yes.part[p], (uint64x2_t)no.part[p]);
#endif
	return no;
}

/* The same, or zero. */
VEC_INLINE vec vec_some(vec_mask mask, vec v)
{
#if LANES_BYTES == 64
	v.part[0] = (vec_part)_mm512_maskz_mov_epi64(mask, (__m512i)v.part[0]);
	return v;
#else
	return vec_and(v, mask);
#endif
}

/* The lanes in which a & b is not 0. */
VEC_INLINE uint8_t vec_test(vec a, vec b)
{
#if LANES_BYTES == 64
	return _mm512_test_epi64_mask((__m512i)a.part[0], (__m512i)b.part[0]);
#else
	return (uint8_t)~vec_bits(vec_equal(vec_and(a, b), vec_all(0)));
#endif
}

VEC_INLINE uint8_t vec_unequal(vec a, vec b)
{
	return (uint8_t)~vec_bits(vec_equal(a, b));
}

VEC_INLINE uint64_t vec_first(vec v)
{
	return v.part[0][0];
}

VEC_INLINE uint64_t vec_sum(vec v)
{
	uint64_t sum = 0, lanes[VEC_LANES] __attribute__((aligned(64)));

	vec_store(lanes, v);
	for (int i = 0; i < VEC_LANES; i++)
		sum += lanes[i];
	return sum;
}

/* Byte i of each half of a lane comes from the byte of its half that `from` says, or is zero where that says VEC_ZERO. */
#define VEC_ZERO                          0x80
#define VEC_BYTES(a, b, c, d, e, f, g, h) a, b, c, d, e, f, g, h, a | 8, b | 8, c | 8, d | 8, e | 8, f | 8, g | 8, h | 8

VEC_INLINE vec vec_shuffle(vec v, const uint8_t from[16])
{
#if LANES_BYTES == 64
	const __m512i order = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)from));

	v.part[0] = (vec_part)_mm512_shuffle_epi8((__m512i)v.part[0], order);
#elif LANES_BYTES == 32
	const __m256i order = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)from));

	VEC_EACH v.part[p] = (vec_part)_mm256_shuffle_epi8((__m256i)v.part[p], order);
#else
	const uint8x16_t order = vld1q_u8(from);

	VEC_EACH v.part[p] = (vec_part)vqtbl1q_u8((uint8x16_t)v.part[p], order);
#endif
	return v;
}

#define Z VEC_ZERO
/* The low 16 bits of each lane with their bytes swapped; the rest is zero. */
VEC_INLINE vec swap16(vec v)
{
	static const uint8_t from[16] = {VEC_BYTES(1, 0, Z, Z, Z, Z, Z, Z)};

	return vec_shuffle(v, from);
}

/* Each half of 32 bits with its bytes swapped. */
VEC_INLINE vec swap32(vec v)
{
	static const uint8_t from[16] = {VEC_BYTES(3, 2, 1, 0, 7, 6, 5, 4)};

	return vec_shuffle(v, from);
}

VEC_INLINE vec swap64(vec v)
{
	static const uint8_t from[16] = {VEC_BYTES(7, 6, 5, 4, 3, 2, 1, 0)};

	return vec_shuffle(v, from);
}
#undef Z

#if LANES_BYTES < 64
/* A register's bytes, but those for which `from` names one of these 16 instead. */
VEC_INLINE vec_part8 vec_part_pick(vec_part8 own, const uint8_t bytes[16], vec_part8 from)
{
#if LANES_BYTES == 32
	const __m256i both = _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)(const void *)bytes));

	return (vec_part8)_mm256_blendv_epi8(_mm256_shuffle_epi8(both, (__m256i)from), (__m256i)own, (__m256i)from);
#else
	return (vec_part8)vqtbx1q_u8((uint8x16_t)own, vld1q_u8(bytes), (uint8x16_t)from);
#endif
}
#endif

/* The even lanes of a, each followed by the same of b; and the odd ones. */
VEC_INLINE vec vec_evens(vec a, vec b)
{
#if LANES_BYTES == 64
	a.part[0] = (vec_part)_mm512_unpacklo_epi64((__m512i)a.part[0], (__m512i)b.part[0]);
#elif LANES_BYTES == 32
	VEC_EACH a.part[p] = (vec_part)_mm256_unpacklo_epi64((__m256i)a.part[p], (__m256i)b.part[p]);
#else
	VEC_EACH a.part[p] = (vec_part)vzip1q_u64((uint64x2_t)a.part[p], (uint64x2_t)b.part[p]);
#endif
	return a;
}

VEC_INLINE vec vec_odds(vec a, vec b)
{
#if LANES_BYTES == 64
	a.part[0] = (vec_part)_mm512_unpackhi_epi64((__m512i)a.part[0], (__m512i)b.part[0]);
#elif LANES_BYTES == 32
	VEC_EACH a.part[p] = (vec_part)_mm256_unpackhi_epi64((__m256i)a.part[p], (__m256i)b.part[p]);
#else
	VEC_EACH a.part[p] = (vec_part)vzip2q_u64((uint64x2_t)a.part[p], (uint64x2_t)b.part[p]);
#endif
	return a;
}

/* 16 bytes of each of four addresses. */
VEC_INLINE vec four_of(const void *a, const void *b, const void *c, const void *d)
{
	vec v;

#if LANES_BYTES == 64
	__m512i four = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)a));

	four = _mm512_mask_broadcast_i32x4(four, 0x00f0, _mm_loadu_si128((const __m128i *)b));
	four = _mm512_mask_broadcast_i32x4(four, 0x0f00, _mm_loadu_si128((const __m128i *)c));
	v.part[0] = (vec_part)_mm512_mask_broadcast_i32x4(four, 0xf000, _mm_loadu_si128((const __m128i *)d));
#elif LANES_BYTES == 32
	v.part[0] = (vec_part)_mm256_loadu2_m128i((const __m128i *)b, (const __m128i *)a);
	v.part[1] = (vec_part)_mm256_loadu2_m128i((const __m128i *)d, (const __m128i *)c);
#else
	v.part[0] = (vec_part)vld1q_u8(a);
	v.part[1] = (vec_part)vld1q_u8(b);
	v.part[2] = (vec_part)vld1q_u8(c);
	v.part[3] = (vec_part)vld1q_u8(d);
#endif
	return v;
}

/* Two words of each lane's bytes, the first at this offset: by a load of 16 bytes each. */
VEC_INLINE void vec_load_words(const uint8_t *const at[VEC_LANES], size_t offset, vec *first, vec *second)
{
	const vec even = four_of(at[0] + offset, at[2] + offset, at[4] + offset, at[6] + offset),
		  odd = four_of(at[1] + offset, at[3] + offset, at[5] + offset, at[7] + offset);

	*first = vec_evens(even, odd);
	*second = vec_odds(even, odd);
}

/* Stores two words of each of these lanes: lane i's at to + i * stride. */
VEC_INLINE void vec_store_words(uint8_t *to, size_t stride, uint8_t lanes, vec first, vec second)
{
	uint8_t words[VEC_LANES][16] __attribute__((aligned(64)));

	vec_store(words, vec_evens(first, second));   /* of packets 0 2 4 6 */
	vec_store(words[4], vec_odds(first, second)); /* of packets 1 3 5 7 */
	for (unsigned i = 0; i < VEC_LANES; i++)
		if (lanes >> i & 1)
			memcpy(to + i * stride, words[(i & 1) * 4 + i / 2], sizeof(words[0]));
}

#endif
