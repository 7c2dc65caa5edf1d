/* SPDX-License-Identifier: Apache-2.0 */
#include "packet/lanes_stages.h"

#include <rte_branch_prediction.h>
#include <rte_prefetch.h>

#include "flow/hash.h"
#include "flow/lanes_siphash.h"
#include "packet/transport.h"
#include "ring/ring.h"
#include "flow/service.h"
#include "steering/methods/inline.h"
#include "steering/methods.h"
#include "steering/steering.h"

/* What lanes_begin() does for several: whether lanes with one service stay. Reads what they need of it. */
static inline bool begin_one(struct lanes *lanes)
{
	const struct service *service = lanes->service[0];
	struct ring *ring = service_ring(service);

	if (unlikely(!ring || (lanes->udp && !transport_is_plain_udp(service)) ||
		     (lanes->is_ipv6 && service->hash != FL_HASH_SIPHASH)))
		return false;
	lanes->ring[0] = ring;
	lanes->method = service->steering;
	lanes->by_lanes = service->steering == STEERING_ring || lanes->in == LANES_ALL ? lanes->in : 0;
	lanes->clamped = __atomic_load_n(&service->mss, __ATOMIC_RELAXED) ? lanes->syns : 0;
	lanes->whole = service->affinity == AFFINITY_CONNECTION ? LANES_ALL : 0;
	return true;
}

_Static_assert(offsetof(struct service, ring) == 16 && offsetof(struct service, hash) == 26 &&
		   offsetof(struct service, affinity) == 27 && offsetof(struct service, mss) == 30 &&
		   offsetof(struct service, steering) == 32 && offsetof(struct service, quic.length) == 35 &&
		   offsetof(struct service, stateless_udp) == 36,
	       "words of a service's first line");
_Static_assert(offsetof(struct ring, generation) == offsetof(struct ring, mask) + 4, "one word of a ring");

/* Lanes in which there is a byte at this place of a word. */
VEC_INLINE uint8_t has_byte(vec word, int at)
{
	return vec_test(word, vec_all(0xffULL << at * 8));
}

VEC_INLINE uint8_t is_byte(vec word, int at, uint64_t value)
{
	return (uint8_t)~has_byte(vec_xor(word, vec_all(value << at * 8)), at);
}

/* The same for lanes with several services, by their first lines side by side: those that stay. */
static inline uint8_t begin_each(struct lanes *lanes)
{
	static const struct service no_service;
	static const struct ring no_ring;
	const uint8_t udp = lanes->udp;
	uint8_t in = lanes->in;
	const uint8_t *services[LANES];
	vec word[6];

	for (uint32_t i = 0; i < LANES; i++)
		services[i] = (const uint8_t *)(in >> i & 1 ? lanes->service[i] : &no_service);
	for (size_t i = 0; i < 6; i += 2)
		vec_load_words(services, i * sizeof(uint64_t), &word[i], &word[i + 1]);
	in &= vec_test(word[2], word[2]) & is_byte(word[3], 2, FL_HASH_SIPHASH);
	in &= (uint8_t) ~(udp & (has_byte(word[4], 3) | has_byte(word[4], 4)));
	vec_store(lanes->ring, vec_select(vec_mask_of(in), word[2], vec_all((uint64_t)(uintptr_t)&no_ring)));
	for (uint32_t i = 0; i < LANES; i++)
		rte_prefetch0(lanes->ring[i]);
	vec_store(lanes->service_key[0], word[0]);
	vec_store(lanes->service_key[1], word[1]);
	lanes->by_lanes = in & is_byte(word[4], 0, STEERING_ring);
	lanes->clamped = lanes->syns & vec_test(word[3], vec_all(0xffffULL << 48));
	lanes->whole = is_byte(word[3], 3, AFFINITY_CONNECTION);
	return in;
}

void lanes_begin(struct lanes *lanes)
{
	lanes->in = begin_each(lanes);
}

/* The key's last word as it is hashed, with its length. */
VEC_INLINE vec last_word(const struct lanes *lanes, uint64_t addresses_len, uint64_t len)
{
	if (likely(lanes->whole == LANES_ALL))
		return vec_or(vec_load(lanes->key[1]), vec_all(len << 56));
	return vec_select(vec_mask_of(lanes->whole), vec_or(vec_load(lanes->key[1]), vec_all(len << 56)),
			  vec_all(addresses_len << 56));
}

VEC_INLINE struct lanes_siphash siphash_begin(const struct lanes *lanes)
{
	const struct service *service = lanes->service[0];

	if (likely(lanes->is_one))
		return lanes_siphash_begin(vec_all(service->key.k0), vec_all(service->key.k1));
	return lanes_siphash_begin(vec_load(lanes->service_key[0]), vec_load(lanes->service_key[1]));
}

VEC_INLINE vec siphash(const struct lanes *lanes)
{
	struct lanes_siphash hash = siphash_begin(lanes);

	if (unlikely(lanes->is_ipv6)) {
		for (int i = 0; i < 4; i++)
			lanes_siphash_add(&hash, vec_load(lanes->addresses6[i]));
		lanes_siphash_add(&hash, last_word(lanes, FLOW_HASH_ADDRESSES6_LEN, FL_KEY_IPV6_LEN));
	} else {
		lanes_siphash_add(&hash, vec_load(lanes->key[0]));
		lanes_siphash_add(&hash, last_word(lanes, 8, FL_KEY_IPV4_LEN));
	}
	return lanes_siphash_end(&hash);
}

#ifdef __x86_64__
/*
 * CRC-32 of a key of 13 or 8 bytes: its words as they are hashed. The key is right-aligned in a block of 16 bytes, since
 * leading zeros change nothing; inverting its first four bytes stands for the initial value. The 128 bits are folded to
 * 96, then 64, and reduced by Barrett's method (Gopal et al., Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
 * Instruction, Intel 2009).
 */
static inline uint64_t crc32_one(uint64_t low, uint64_t high)
{
	const __m128i folds = _mm_set_epi64x(0x163cd6124, 0x0ccaa009e); /* x^64, x^96 modulo the polynomial */
	const __m128i barrett = _mm_set_epi64x(0x1f7011641, 0x1db710641);
	const __m128i low32 = _mm_set_epi32(0, 0, 0, -1);
	uint64_t first = low ^ 0xffffffffU, rest = high << 24;
	bool whole = high >> 56 == FL_KEY_IPV4_LEN;
	__m128i block = whole ? _mm_set_epi64x((int64_t)(rest | first >> 40), (int64_t)(first << 24))
			      : _mm_set_epi64x((int64_t)first, 0);
	__m128i folded, reduced;

	folded = _mm_xor_si128(_mm_srli_si128(block, 8), _mm_clmulepi64_si128(block, folds, 0x00));
	folded =
	    _mm_xor_si128(_mm_srli_si128(folded, 4), _mm_clmulepi64_si128(_mm_and_si128(folded, low32), folds, 0x10));
	reduced = _mm_clmulepi64_si128(_mm_and_si128(folded, low32), barrett, 0x10);
	reduced = _mm_clmulepi64_si128(_mm_and_si128(reduced, low32), barrett, 0x00);
	return fl_flow_hash_from_crc32(~(uint32_t)_mm_extract_epi32(_mm_xor_si128(folded, reduced), 1));
}
#else
static inline uint64_t crc32_one(uint64_t low, uint64_t high)
{
	const uint64_t words[] = {low, high};

	return fl_flow_hash_from_crc32(fl_crc32((const uint8_t *)words, (uint32_t)(high >> 56)));
}
#endif

/* CRC-32 of IPv4's lanes with one service: one by one, which a processor overlaps. */
static vec crc32(const struct lanes *lanes)
{
	uint64_t hash[LANES] __attribute__((aligned(64))), high[LANES] __attribute__((aligned(64)));

	vec_store(high, last_word(lanes, 8, FL_KEY_IPV4_LEN));
	for (uint32_t i = 0; i < LANES; i++)
		hash[i] = crc32_one(lanes->key[0][i], high[i]);
	return vec_load(hash);
}

/* Lanes with one service, by its method. */
#define FETCH(name)                                                                                                    \
	case STEERING_##name:                                                                                          \
		name##_lanes_fetch(lanes, hash);                                                                       \
		return;

static __attribute__((noinline)) void find_by_method(struct lanes *lanes, vec hash)
{
	switch (lanes->method) {
		STEERING_METHODS(FETCH)
	}
}

VEC_INLINE void find_one(struct lanes *lanes, vec hash)
{
	if (unlikely(!lanes->by_lanes)) /* the general path does it */
		return;
	if (likely(lanes->method == STEERING_ring))
		ring_lanes_fetch(lanes, hash);
	else
		find_by_method(lanes, hash);
}

#define BUCKETS(name)                                                                                                  \
	case STEERING_##name:                                                                                          \
		if (name##_lanes.buckets)                                                                              \
			name##_lanes.buckets(lanes);                                                                   \
		return;

void lanes_buckets(struct lanes *lanes)
{
	switch (lanes->method) {
		STEERING_METHODS(BUCKETS)
	}
}

VEC_INLINE void find_each(struct lanes *lanes, vec hash)
{
	vec words, bucket, rows;

#define WORD(i) __atomic_load_n((const uint64_t *)(const void *)lanes->ring[i], __ATOMIC_ACQUIRE)
	words = VEC_OF(WORD);
#undef WORD
	bucket = vec_and(vec_and(hash, words), vec_all(0xffffffff));
	rows = vec_add(vec_load(lanes->ring), vec_all(offsetof(struct ring, rows)));
	vec_store(lanes->place, vec_or(bucket, vec_and(words, vec_all(0xffffffff00000000))));
	vec_store(lanes->row_at, vec_add(rows, vec_left(bucket, 3)));
	for (uint32_t i = 0; i < LANES; i++) {
		rte_prefetch1((const void *)(uintptr_t)lanes->row_at[i]); /* as far as these lie apart */
		rte_prefetch0(ring_backends(lanes->ring[i]));
	}
}

VEC_INLINE void find_buckets(struct lanes *lanes, vec hash)
{
	vec_store(lanes->hash, hash);
	if (likely(lanes->is_one))
		find_one(lanes, hash);
	else
		find_each(lanes, hash);
}

static inline bool is_siphash(const struct lanes *lanes)
{
	return !lanes->is_one || lanes->service[0]->hash == FL_HASH_SIPHASH;
}

static __attribute__((noinline)) void hash_alone(struct lanes *lanes)
{
	if (lanes->in)
		find_buckets(lanes, likely(is_siphash(lanes)) ? siphash(lanes) : crc32(lanes));
}

/* Lanes that leave are not hashed. */
static inline void begin(struct lanes *lanes)
{
	if (likely(lanes->is_one) && unlikely(!lanes->in || !begin_one(lanes)))
		lanes->in = lanes->by_lanes = 0;
}

void lanes_hash_two(struct lanes *a, struct lanes *b)
{
	struct lanes_siphash x, y;

	begin(a);
	if (a != b)
		begin(b);
	if (unlikely(a == b || !a->in || !b->in || a->is_ipv6 || b->is_ipv6 || !is_siphash(a) || !is_siphash(b))) {
		hash_alone(a);
		if (a != b)
			hash_alone(b);
		return;
	}
	x = siphash_begin(a);
	y = siphash_begin(b);
	lanes_siphash_add_two(&x, vec_load(a->key[0]), &y, vec_load(b->key[0]));
	lanes_siphash_add_two(&x, last_word(a, 8, FL_KEY_IPV4_LEN), &y, last_word(b, 8, FL_KEY_IPV4_LEN));
	lanes_siphash_end_two(&x, &y);
	find_buckets(a, lanes_siphash_result(&x));
	find_buckets(b, lanes_siphash_result(&y));
}
