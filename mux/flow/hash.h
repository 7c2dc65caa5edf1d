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

static inline uint64_t flow_hash_ipv4(const struct service *service, const uint64_t key[2])
{
	bool whole = service->affinity == AFFINITY_CONNECTION;
	uint32_t len = whole ? FL_KEY_IPV4_LEN : 8;
	struct fl_siphash_state s;

	if (service->hash == FL_HASH_CRC32)
		return fl_flow_hash_from_crc32(rte_net_crc_calc(key, len, RTE_NET_CRC32_ETH));
	s = fl_siphash_begin(&service->key);
	fl_siphash_word(&s, key[0]);
	return fl_siphash_end(&s, whole ? key[1] : 0, len);
}

/* ports: the packet's key[1]. */
static inline uint64_t flow_hash_ipv6(const struct service *service, const uint8_t *addresses, uint64_t ports)
{
	bool whole = service->affinity == AFFINITY_CONNECTION;
	uint32_t len = whole ? FL_KEY_IPV6_LEN : FLOW_HASH_ADDRESSES6_LEN;
	uint64_t words[FLOW_HASH_KEY6_WORDS];
	struct fl_siphash_state s;

	memcpy(words, addresses, FLOW_HASH_ADDRESSES6_LEN);
	words[4] = ports;
	if (service->hash == FL_HASH_CRC32)
		return fl_flow_hash_from_crc32(rte_net_crc_calc(words, len, RTE_NET_CRC32_ETH));
	s = fl_siphash_begin(&service->key);
	for (int i = 0; i < 4; i++)
		fl_siphash_word(&s, words[i]);
	return fl_siphash_end(&s, whole ? ports : 0, len);
}

#endif
