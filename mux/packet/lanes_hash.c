/* SPDX-License-Identifier: Apache-2.0 */
#include "packet/lanes.h"

#ifdef LANES_X86
#include <rte_branch_prediction.h>
#include <rte_prefetch.h>

#include "flow/hash_batch.h"
#include "flow/simd.h"
#include "packet/transport.h"
#include "ring/ring.h"
#include "flow/service.h"
#include "steering/methods/lanes.h"
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
static inline ISA __mmask8 has_byte(__m512i word, int at)
{
	return _mm512_test_epi64_mask(word, all(0xffULL << at * 8));
}

static inline ISA __mmask8 is_byte(__m512i word, int at, uint64_t value)
{
	return (__mmask8)~has_byte(_mm512_xor_si512(word, all(value << at * 8)), at);
}

/* The same for lanes with several services, by their first lines side by side: those that stay. */
static inline ISA __mmask8 begin_each(struct lanes *lanes)
{
	static const struct service no_service;
	static const struct ring no_ring;
	const __mmask8 udp = lanes->udp;
	__mmask8 in = lanes->in;
	__m512i word[8];

	for (uint32_t i = 0; i < LANES; i++)
		word[i] = _mm512_load_si512(in >> i & 1 ? lanes->service[i] : &no_service);
	transpose(word);
	in &= _mm512_test_epi64_mask(word[2], word[2]) & is_byte(word[3], 2, FL_HASH_SIPHASH);
	in &= (__mmask8) ~(udp & (has_byte(word[4], 3) | has_byte(word[4], 4)));
	_mm512_store_si512(lanes->ring, _mm512_mask_mov_epi64(all((uint64_t)(uintptr_t)&no_ring), in, word[2]));
	for (uint32_t i = 0; i < LANES; i++)
		rte_prefetch0(lanes->ring[i]);
	_mm512_store_si512(lanes->service_key[0], word[0]);
	_mm512_store_si512(lanes->service_key[1], word[1]);
	lanes->by_lanes = in & is_byte(word[4], 0, STEERING_ring);
	lanes->clamped = lanes->syns & _mm512_test_epi64_mask(word[3], all(0xffffULL << 48));
	lanes->whole = is_byte(word[3], 3, AFFINITY_CONNECTION);
	return in;
}

ISA void lanes_begin(struct lanes *lanes)
{
	lanes->in = begin_each(lanes);
}

/* The key's last word as it is hashed, with its length. */
static inline ISA __m512i last_word(const struct lanes *lanes, uint64_t addresses_len, uint64_t len)
{
	return _mm512_mask_or_epi64(all(addresses_len << 56), lanes->whole, _mm512_load_si512(lanes->key[1]),
				    all(len << 56));
}

static inline ISA struct lanes_siphash siphash_begin(const struct lanes *lanes)
{
	const struct service *service = lanes->service[0];

	if (likely(lanes->is_one))
		return lanes_siphash_begin(all(service->key.k0), all(service->key.k1));
	return lanes_siphash_begin(_mm512_load_si512(lanes->service_key[0]), _mm512_load_si512(lanes->service_key[1]));
}

static inline ISA __m512i siphash(const struct lanes *lanes)
{
	struct lanes_siphash hash = siphash_begin(lanes);

	if (unlikely(lanes->is_ipv6)) {
		for (int i = 0; i < 4; i++)
			lanes_siphash_add(&hash, _mm512_load_si512(lanes->addresses6[i]));
		lanes_siphash_add(&hash, last_word(lanes, FLOW_HASH_ADDRESSES6_LEN, FL_KEY_IPV6_LEN));
	} else {
		lanes_siphash_add(&hash, _mm512_load_si512(lanes->key[0]));
		lanes_siphash_add(&hash, last_word(lanes, 8, FL_KEY_IPV4_LEN));
	}
	return lanes_siphash_end(&hash);
}

/* CRC-32 of IPv4's lanes with one service. */
static ISA __m512i crc32(const struct lanes *lanes)
{
	struct flow_hash_batch batch;

	batch.count = LANES;
	_mm512_store_si512(batch.low, _mm512_load_si512(lanes->key[0]));
	_mm512_store_si512(batch.high, last_word(lanes, 8, FL_KEY_IPV4_LEN));
	flow_hash_batch_crc32(&batch);
	return _mm512_load_si512(batch.hash);
}

/* Lanes with one service, by its method. */
#define FETCH(name)                                                                                                    \
	case STEERING_##name:                                                                                          \
		name##_lanes_fetch(lanes, hash);                                                                       \
		return;

static ISA __attribute__((noinline)) void find_by_method(struct lanes *lanes, __m512i hash)
{
	switch (lanes->method) {
		STEERING_METHODS(FETCH)
	}
}

static inline ISA void find_one(struct lanes *lanes, __m512i hash)
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
		name##_lanes_buckets(lanes);                                                                           \
		return;

ISA void lanes_buckets(struct lanes *lanes)
{
	switch (lanes->method) {
		STEERING_METHODS(BUCKETS)
	}
}

static inline ISA void find_each(struct lanes *lanes, __m512i hash)
{
	__m512i words, bucket, rows;

#define WORD(i) (long long)__atomic_load_n((const uint64_t *)(const void *)lanes->ring[i], __ATOMIC_ACQUIRE)
	words = _mm512_set_epi64(WORD(7), WORD(6), WORD(5), WORD(4), WORD(3), WORD(2), WORD(1), WORD(0));
#undef WORD
	bucket = _mm512_and_si512(_mm512_and_si512(hash, words), all(0xffffffff));
	rows = _mm512_add_epi64(_mm512_load_si512(lanes->ring), all(offsetof(struct ring, rows)));
	_mm512_store_si512(lanes->place, _mm512_or_si512(bucket, _mm512_andnot_si512(all(0xffffffff), words)));
	_mm512_store_si512(lanes->row_at, _mm512_add_epi64(rows, _mm512_slli_epi64(bucket, 3)));
	for (uint32_t i = 0; i < LANES; i++) {
		rte_prefetch1((const void *)(uintptr_t)lanes->row_at[i]); /* as far as these lie apart */
		rte_prefetch0(ring_backends(lanes->ring[i]));
	}
}

static inline ISA void find_buckets(struct lanes *lanes, __m512i hash)
{
	_mm512_store_si512(lanes->hash, hash);
	if (likely(lanes->is_one))
		find_one(lanes, hash);
	else
		find_each(lanes, hash);
}

static inline bool is_siphash(const struct lanes *lanes)
{
	return !lanes->is_one || lanes->service[0]->hash == FL_HASH_SIPHASH;
}

static ISA __attribute__((noinline)) void hash_alone(struct lanes *lanes)
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

ISA void lanes_hash_two(struct lanes *a, struct lanes *b)
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
	lanes_siphash_add_two(&x, _mm512_load_si512(a->key[0]), &y, _mm512_load_si512(b->key[0]));
	lanes_siphash_add_two(&x, last_word(a, 8, FL_KEY_IPV4_LEN), &y, last_word(b, 8, FL_KEY_IPV4_LEN));
	lanes_siphash_end_two(&x, &y);
	find_buckets(a, (__m512i)(x.v0 ^ x.v1 ^ x.v2 ^ x.v3));
	find_buckets(b, (__m512i)(y.v0 ^ y.v1 ^ y.v2 ^ y.v3));
}
#endif
