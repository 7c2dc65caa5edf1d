/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flow hash of fairlead/hash.h for the key of an IPv4 connection that is already in two words: the same results
 * without a byte loop.
 *
 *	key[0]	src 4 | dst 4			as loaded from memory (little-endian machine)
 *	key[1]	sport 2 | dport 2 | proto 1 | 0 0 0
 */
#ifndef FAIRLEAD_MUX_HASH_H
#define FAIRLEAD_MUX_HASH_H

#include <rte_net_crc.h>

#include "service.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the packet path loads keys as little-endian words"
#endif

static inline uint32_t hash_siphash(const struct fl_siphash_key *key, uint64_t first, uint64_t last, bool whole)
{
	uint64_t v0 = key->k0 ^ 0x736f6d6570736575ULL;
	uint64_t v1 = key->k1 ^ 0x646f72616e646f6dULL;
	uint64_t v2 = key->k0 ^ 0x6c7967656e657261ULL;
	uint64_t v3 = key->k1 ^ 0x7465646279746573ULL;
	uint64_t tail = whole ? last | (uint64_t)FL_KEY_IPV4_LEN << 56 : (uint64_t)8 << 56;

	v3 ^= first;
	FL_SIPROUND(v0, v1, v2, v3);
	FL_SIPROUND(v0, v1, v2, v3);
	v0 ^= first;
	v3 ^= tail;
	FL_SIPROUND(v0, v1, v2, v3);
	FL_SIPROUND(v0, v1, v2, v3);
	v0 ^= tail;
	v2 ^= 0xff;
	FL_SIPROUND(v0, v1, v2, v3);
	FL_SIPROUND(v0, v1, v2, v3);
	FL_SIPROUND(v0, v1, v2, v3);
	FL_SIPROUND(v0, v1, v2, v3);
	return (uint32_t)(v0 ^ v1 ^ v2 ^ v3);
}

static inline uint32_t hash_connection(const struct service *service, const uint64_t key[2])
{
	bool whole = service->affinity == AFFINITY_CONNECTION;

	if (service->hash == FL_HASH_CRC32)
		return rte_net_crc_calc(key, whole ? FL_KEY_IPV4_LEN : 8, RTE_NET_CRC32_ETH);
	return hash_siphash(&service->key, key[0], key[1], whole);
}

#endif
