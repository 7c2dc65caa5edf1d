/* SPDX-License-Identifier: Apache-2.0 */
#include "hash_batch.h"

#ifdef __x86_64__
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
	static __attribute__((target(isa))) void name(struct hash_batch *batch)                                        \
	{                                                                                                              \
		typedef uint64_t vector __attribute__((vector_size(bytes)));                                           \
                                                                                                                       \
		for (uint32_t first = 0; first < HASH_BATCH_MAX; first += (bytes) / 8) {                               \
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
#endif

static void siphash_one_by_one(struct hash_batch *batch)
{
	for (uint32_t i = 0; i < batch->count; i++) {
		const struct fl_siphash_key key = {batch->k0[i], batch->k1[i]};
		struct fl_siphash_state s = fl_siphash_begin(&key);

		fl_siphash_word(&s, batch->low[i]);
		batch->hash[i] = fl_siphash_end(&s, batch->high[i], 0); /* the length is in its last byte */
	}
}

void hash_batch_run(struct hash_batch *batch)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx512f")) {
		siphash_avx512(batch);
		return;
	}
	if (__builtin_cpu_supports("avx2")) {
		siphash_avx2(batch);
		return;
	}
#endif
	siphash_one_by_one(batch);
}
