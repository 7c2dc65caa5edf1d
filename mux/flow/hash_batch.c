/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/hash_batch.h"

#ifdef FLOW_HASH_X86
#include <immintrin.h>

#define ADD(word)                                                                                                      \
	do {                                                                                                           \
		v3 ^= (word);                                                                                          \
		FL_SIPROUND(v0, v1, v2, v3);                                                                           \
		FL_SIPROUND(v0, v1, v2, v3);                                                                           \
		v0 ^= (word);                                                                                          \
	} while (0)

/* Defines SipHash for vectors of so many bytes: the rounds of fairlead/hash.h, on vectors instead of words. */
#define SIPHASH(name, isa, bytes)                                                                                      \
	static __attribute__((target(isa))) void name(struct flow_hash_batch *batch)                                   \
	{                                                                                                              \
		typedef uint64_t vector __attribute__((vector_size(bytes)));                                           \
                                                                                                                       \
		for (uint32_t first = 0; first < FLOW_HASH_BATCH_MAX; first += (bytes) / 8) {                          \
			const vector *k0 = (const vector *)(batch->k0 + first);                                        \
			const vector *k1 = (const vector *)(batch->k1 + first);                                        \
			vector v0 = *k0 ^ 0x736f6d6570736575ULL, v1 = *k1 ^ 0x646f72616e646f6dULL;                     \
			vector v2 = *k0 ^ 0x6c7967656e657261ULL, v3 = *k1 ^ 0x7465646279746573ULL;                     \
                                                                                                                       \
			ADD(*(const vector *)(batch->low + first));                                                    \
			ADD(*(const vector *)(batch->high + first));                                                   \
			v2 ^= 0xff;                                                                                    \
			FL_SIPROUND(v0, v1, v2, v3);                                                                   \
			FL_SIPROUND(v0, v1, v2, v3);                                                                   \
			FL_SIPROUND(v0, v1, v2, v3);                                                                   \
			FL_SIPROUND(v0, v1, v2, v3);                                                                   \
			*(vector *)(batch->hash + first) = v0 ^ v1 ^ v2 ^ v3;                                          \
		}                                                                                                      \
	}

SIPHASH(siphash_avx512, "avx512f", 64)
SIPHASH(siphash_avx2, "avx2", 32)

/*
 * CRC-32 of a key of 13 or 8 bytes. The key is right-aligned in a block of 16 bytes, since leading zeros change
 * nothing; inverting its first four bytes stands for the initial value. The 128 bits are folded to 96, then 64, and
 * reduced by Barrett's method (Gopal et al., Fast CRC Computation for Generic Polynomials Using PCLMULQDQ, Intel 2009).
 */
static __attribute__((target("pclmul,sse4.1"))) void crc32_pclmul(struct flow_hash_batch *batch)
{
	const __m128i folds = _mm_set_epi64x(0x163cd6124, 0x0ccaa009e); /* x^64, x^96 modulo the polynomial */
	const __m128i barrett = _mm_set_epi64x(0x1f7011641, 0x1db710641);
	const __m128i low32 = _mm_set_epi32(0, 0, 0, -1);

	for (uint32_t i = 0; i < batch->count; i++) {
		uint64_t first = batch->low[i] ^ 0xffffffffU, rest = batch->high[i] << 24;
		bool whole = batch->high[i] >> 56 == FL_KEY_IPV4_LEN;
		__m128i block = whole ? _mm_set_epi64x((int64_t)(rest | first >> 40), (int64_t)(first << 24))
				      : _mm_set_epi64x((int64_t)first, 0);
		__m128i folded, reduced;

		folded = _mm_xor_si128(_mm_srli_si128(block, 8), _mm_clmulepi64_si128(block, folds, 0x00));
		folded = _mm_xor_si128(_mm_srli_si128(folded, 4),
				       _mm_clmulepi64_si128(_mm_and_si128(folded, low32), folds, 0x10));
		reduced = _mm_clmulepi64_si128(_mm_and_si128(folded, low32), barrett, 0x10);
		reduced = _mm_clmulepi64_si128(_mm_and_si128(reduced, low32), barrett, 0x00);
		batch->hash[i] =
		    fl_flow_hash_from_crc32(~(uint32_t)_mm_extract_epi32(_mm_xor_si128(folded, reduced), 1));
	}
}

static bool has_avx512(void)
{
	return __builtin_cpu_supports("avx512f");
}

static bool has_avx2(void)
{
	return __builtin_cpu_supports("avx2");
}

static bool has_pclmul(void)
{
	return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
}
#endif

static void siphash_scalar(struct flow_hash_batch *batch)
{
	for (uint32_t i = 0; i < batch->count; i++) {
		const struct fl_siphash_key key = {batch->k0[i], batch->k1[i]};
		struct flow_hash_state s = flow_hash_begin(&key);

		flow_hash_add(&s, batch->low[i]);
		flow_hash_add(&s, batch->high[i]);
		batch->hash[i] = flow_hash_end(&s);
	}
}

static void crc32_scalar(struct flow_hash_batch *batch)
{
	for (uint32_t i = 0; i < batch->count; i++) {
		uint64_t words[] = {batch->low[i], batch->high[i]};

		batch->hash[i] =
		    fl_flow_hash_from_crc32(fl_crc32((const uint8_t *)words, (uint32_t)(batch->high[i] >> 56)));
	}
}

static bool has_all(void)
{
	return true;
}

const struct flow_hash_way flow_hash_ways[FLOW_HASH_WAYS] = {
#ifdef FLOW_HASH_X86
    {"avx512", FL_HASH_SIPHASH, siphash_avx512, has_avx512}, {"avx2", FL_HASH_SIPHASH, siphash_avx2, has_avx2},
    {"pclmul", FL_HASH_CRC32, crc32_pclmul, has_pclmul},
#endif
    {"scalar", FL_HASH_SIPHASH, siphash_scalar, has_all},    {"scalar", FL_HASH_CRC32, crc32_scalar, has_all},
};

flow_hash_batch_fn *flow_hash_batch_siphash, *flow_hash_batch_crc32;

static __attribute__((constructor)) void choose(void)
{
#ifdef FLOW_HASH_X86
	__builtin_cpu_init();
#endif
	for (int i = FLOW_HASH_WAYS; i--;)
		if (flow_hash_ways[i].has_cpu())
			*(flow_hash_ways[i].hash == FL_HASH_CRC32 ? &flow_hash_batch_crc32 : &flow_hash_batch_siphash) =
			    flow_hash_ways[i].run;
}
