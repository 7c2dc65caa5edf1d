/* SPDX-License-Identifier: Apache-2.0 */
#include "packet/lanes.h"

#ifdef LANES_X86
#include <rte_branch_prediction.h>
#include <rte_prefetch.h>

#include "packet/flow_hash_batch.h"
#include "packet/lanes_simd.h"
#include "packet/transport.h"
#include "ring/ring.h"
#include "service/service.h"
#include "steering/steering.h"

/* The key's last word as it is hashed, with its length; whole: lanes whose services hash ports, too. */
static inline ISA __m512i last_word(const struct lanes *lanes, __mmask8 whole, uint64_t addresses_len, uint64_t len)
{
	return _mm512_mask_or_epi64(all(addresses_len << 56), whole, _mm512_load_si512(lanes->key[1]), all(len << 56));
}

static inline ISA __m512i siphash(const struct lanes *lanes, __m512i k0, __m512i k1, __mmask8 whole)
{
	struct lanes_siphash hash = lanes_siphash_begin(k0, k1);

	if (unlikely(lanes->is_ipv6)) {
		for (int i = 0; i < 4; i++)
			lanes_siphash_add(&hash, _mm512_load_si512(lanes->addresses6[i]));
		lanes_siphash_add(&hash, last_word(lanes, whole, FLOW_HASH_ADDRESSES6_LEN, FL_KEY_IPV6_LEN));
	} else {
		lanes_siphash_add(&hash, _mm512_load_si512(lanes->key[0]));
		lanes_siphash_add(&hash, last_word(lanes, whole, 8, FL_KEY_IPV4_LEN));
	}
	return lanes_siphash_end(&hash);
}

/* CRC-32 of IPv4's lanes with one service. */
static ISA __m512i crc32(const struct lanes *lanes, __mmask8 whole)
{
	struct flow_hash_batch batch;

	batch.count = LANES;
	_mm512_store_si512(batch.low, _mm512_load_si512(lanes->key[0]));
	_mm512_store_si512(batch.high, last_word(lanes, whole, 8, FL_KEY_IPV4_LEN));
	flow_hash_batch_crc32(&batch);
	return _mm512_load_si512(batch.hash);
}

/* Whether lanes with one service can be hashed; they leave otherwise. */
static inline bool begin_one(struct lanes *lanes)
{
	const struct service *service = lanes->service[0];
	struct ring *ring = service_ring(service);

	lanes->ring[0] = ring;
	if (likely(ring && !(lanes->udp && !transport_is_plain_udp(service)) &&
		   !(lanes->is_ipv6 && service->hash != FL_HASH_SIPHASH)))
		return true;
	lanes->in = 0;
	return false;
}

/* Buckets of lanes with one service, whose hashes are known. */
static inline ISA void end_one(struct lanes *lanes, __m512i hash)
{
	const struct ring *ring = lanes->ring[0];
	uint32_t generation = ring_generation(ring);

	_mm512_store_si512(lanes->hash, hash);
	_mm512_store_si512(lanes->place,
			   _mm512_or_si512(_mm512_and_si512(hash, all(ring->mask)), all((uint64_t)generation << 32)));
	lanes->low = lanes->service[0]->way == STEERING_LOW_HALF ? lanes->in : 0;
	rte_prefetch0(ring_backends(ring));
	for (uint32_t i = 0; i < LANES; i++)
		rte_prefetch0(&ring->rows[(uint32_t)lanes->place[i]]);
}

static inline __mmask8 whole_of(const struct service *service)
{
	return service->affinity == AFFINITY_CONNECTION ? LANES_ALL : 0;
}

static inline ISA void hash_one(struct lanes *lanes)
{
	const struct service *service = lanes->service[0];
	const __mmask8 whole = whole_of(service);

	if (unlikely(!begin_one(lanes)))
		return;
	end_one(lanes, likely(service->hash == FL_HASH_SIPHASH)
			   ? siphash(lanes, all(service->key.k0), all(service->key.k1), whole)
			   : crc32(lanes, whole));
}

/* Of lanes with several services. */
static inline ISA void hash_each(struct lanes *lanes)
{
	uint64_t k0[LANES] __attribute__((aligned(64))), k1[LANES] __attribute__((aligned(64)));
	uint32_t in = lanes->in, whole = 0, low = 0;
	__m512i hash;

	for (uint32_t left = in; left; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(left);
		const struct service *service = lanes->service[i];
		struct ring *ring = service_ring(service);

		if (unlikely(!ring || service->hash != FL_HASH_SIPHASH ||
			     (lanes->udp >> i & 1 && !transport_is_plain_udp(service)))) {
			in &= ~(1U << i);
			continue;
		}
		rte_prefetch0(ring);
		lanes->ring[i] = ring;
		k0[i] = service->key.k0;
		k1[i] = service->key.k1;
		whole |= (uint32_t)(service->affinity == AFFINITY_CONNECTION) << i;
		low |= (uint32_t)(service->way == STEERING_LOW_HALF) << i;
	}
	lanes->in = (uint8_t)in;
	lanes->low = (uint8_t)low;
	hash = siphash(lanes, _mm512_load_si512(k0), _mm512_load_si512(k1), (__mmask8)whole);
	_mm512_store_si512(lanes->hash, hash);
	for (uint32_t left = in; left; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(left), bucket;
		const struct ring *ring = lanes->ring[i];
		uint64_t generation = ring_generation(ring);

		bucket = (uint32_t)lanes->hash[i] & ring->mask;
		lanes->place[i] = generation << 32 | bucket;
		rte_prefetch0(ring_backends(ring));
		rte_prefetch0(&ring->rows[bucket]);
	}
}

ISA void lanes_hash(struct lanes *lanes)
{
	if (!lanes->in)
		return;
	if (likely(lanes->is_one))
		hash_one(lanes);
	else
		hash_each(lanes);
}

/* Whether a group has one service, and its keys are two words for SipHash, as most have. */
static inline bool is_usual(const struct lanes *lanes)
{
	return lanes->in && lanes->is_one && !lanes->is_ipv6 && lanes->service[0]->hash == FL_HASH_SIPHASH;
}

static inline ISA struct lanes_siphash begin_siphash(const struct lanes *lanes)
{
	const struct service *service = lanes->service[0];

	return lanes_siphash_begin(all(service->key.k0), all(service->key.k1));
}

ISA void lanes_hash_two(struct lanes *a, struct lanes *b)
{
	struct lanes_siphash x, y;

	if (unlikely(!is_usual(a) || !is_usual(b) || !begin_one(a) || !begin_one(b))) {
		lanes_hash(a);
		lanes_hash(b);
		return;
	}
	x = begin_siphash(a);
	y = begin_siphash(b);
	lanes_siphash_add_two(&x, _mm512_load_si512(a->key[0]), &y, _mm512_load_si512(b->key[0]));
	lanes_siphash_add_two(&x, last_word(a, whole_of(a->service[0]), 8, FL_KEY_IPV4_LEN), &y,
			      last_word(b, whole_of(b->service[0]), 8, FL_KEY_IPV4_LEN));
	lanes_siphash_end_two(&x, &y);
	end_one(a, (__m512i)(x.v0 ^ x.v1 ^ x.v2 ^ x.v3));
	end_one(b, (__m512i)(y.v0 ^ y.v1 ^ y.v2 ^ y.v3));
}
#endif
