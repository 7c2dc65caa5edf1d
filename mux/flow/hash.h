/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flow hash of fairlead/hash.h for a connection's key in the packet path's layout: the same results without a loop
 * over bytes.
 *
 *	IPv4	key[0]	src 4 | dst 4			as loaded from memory (little-endian machine)
 *		key[1]	sport 2 | dport 2 | proto 1 | 0 0 0
 *	IPv6	32 bytes of src | dst in memory, and key[1] as above
 */
#ifndef FAIRLEAD_MUX_FLOW_HASH_H
#define FAIRLEAD_MUX_FLOW_HASH_H

#include <string.h>

#include <rte_net_crc.h>

#include "flow/service.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the packet path loads keys as little-endian words"
#endif

enum { FLOW_HASH_ADDRESSES6_LEN = 32, FLOW_HASH_KEY6_WORDS = 5 };

struct flow_hash_state {
	uint64_t v0, v1, v2, v3;
};

static inline struct flow_hash_state flow_hash_begin(const struct fl_siphash_key *key)
{
	return (struct flow_hash_state){key->k0 ^ 0x736f6d6570736575ULL, key->k1 ^ 0x646f72616e646f6dULL,
					key->k0 ^ 0x6c7967656e657261ULL, key->k1 ^ 0x7465646279746573ULL};
}

static inline void flow_hash_add(struct flow_hash_state *s, uint64_t word)
{
	s->v3 ^= word;
	FL_SIPROUND(s->v0, s->v1, s->v2, s->v3);
	FL_SIPROUND(s->v0, s->v1, s->v2, s->v3);
	s->v0 ^= word;
}

static inline uint64_t flow_hash_end(struct flow_hash_state *s)
{
	s->v2 ^= 0xff;
	FL_SIPROUND(s->v0, s->v1, s->v2, s->v3);
	FL_SIPROUND(s->v0, s->v1, s->v2, s->v3);
	FL_SIPROUND(s->v0, s->v1, s->v2, s->v3);
	FL_SIPROUND(s->v0, s->v1, s->v2, s->v3);
	return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

static inline uint64_t flow_hash_ipv4(const struct service *service, const uint64_t key[2])
{
	bool whole = service->affinity == AFFINITY_CONNECTION;
	struct flow_hash_state s;

	if (service->hash == FL_HASH_CRC32)
		return fl_flow_hash_from_crc32(rte_net_crc_calc(key, whole ? FL_KEY_IPV4_LEN : 8, RTE_NET_CRC32_ETH));
	s = flow_hash_begin(&service->key);
	flow_hash_add(&s, key[0]);
	flow_hash_add(&s, whole ? key[1] | (uint64_t)FL_KEY_IPV4_LEN << 56 : (uint64_t)8 << 56);
	return flow_hash_end(&s);
}

/* ports: the packet's key[1]. */
static inline uint64_t flow_hash_ipv6(const struct service *service, const uint8_t *addresses, uint64_t ports)
{
	bool whole = service->affinity == AFFINITY_CONNECTION;
	uint64_t words[FLOW_HASH_KEY6_WORDS];
	struct flow_hash_state s;

	memcpy(words, addresses, FLOW_HASH_ADDRESSES6_LEN);
	words[4] = ports;
	if (service->hash == FL_HASH_CRC32)
		return fl_flow_hash_from_crc32(
		    rte_net_crc_calc(words, whole ? FL_KEY_IPV6_LEN : FLOW_HASH_ADDRESSES6_LEN, RTE_NET_CRC32_ETH));
	s = flow_hash_begin(&service->key);
	for (int i = 0; i < 4; i++)
		flow_hash_add(&s, words[i]);
	flow_hash_add(&s, whole ? ports | (uint64_t)FL_KEY_IPV6_LEN << 56 : (uint64_t)FLOW_HASH_ADDRESSES6_LEN << 56);
	return flow_hash_end(&s);
}

#endif
