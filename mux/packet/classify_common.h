/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classifies the common packet with fewer branches than classify(): untagged, IPv4 without options or fragments, TCP or
 * UDP, in one buffer, with nothing wrong, to a port that names no backend. Whatever else a packet is, classify() says
 * so. The destination of the packet before is kept, which many have again.
 */
#ifndef FAIRLEAD_MUX_CLASSIFY_COMMON_H
#define FAIRLEAD_MUX_CLASSIFY_COMMON_H

#include <rte_branch_prediction.h>

#include "packet/transport.h"

enum {
	COMMON_AT_IP = 14,
	COMMON_AT_L4 = 34,
	COMMON_SEEN = 48, /* bytes that are read: up to TCP's flags */
};

/* The destination of the previous packet, and its service. */
struct common_last {
	uint64_t destination;    /* address 4 | port 2 | protocol 1, as loaded */
	struct service *service; /* NULL: there was none */
};

/* The one's-complement sum of the 20 bytes from p on, as a number that is a multiple of 0xffff if it is right. */
static inline uint64_t common_sum(const uint8_t *p)
{
	uint64_t sum = transport_load32(p + 16);
	uint64_t a = transport_load64(p), b = transport_load64(p + 8);

	/* end-around carries */
	sum += a;
	sum += sum < a;
	sum += b;
	return sum + (sum < b);
}

/* The service of a destination, looked up if the packet before had another one; NULL: classify() knows. */
static inline struct service *common_service(const struct lookup *lookup, uint64_t destination,
					     struct common_last *last)
{
	if (likely(last->destination == destination))
		return last->service;
	last->destination = destination;
	last->service = lookup_common(lookup, destination);
	return last->service;
}

/*
 * False: not a common packet, and *out may be half written. data: len bytes, which are the whole frame. *last: zero at
 * first.
 */
static inline __attribute__((always_inline)) bool classify_common(const struct lookup *lookup, uint64_t mac,
								  const uint8_t *data, uint32_t len,
								  struct common_last *last, struct packet *out)
{
	const uint8_t *ip = data + COMMON_AT_IP, *l4 = data + COMMON_AT_L4;
	uint64_t type, fragment, word, key, wrong;
	uint32_t total, ports, own_len, least_len, first;
	struct service *service;
	uint8_t protocol;
	bool is_udp;

	if (unlikely(len < COMMON_SEEN))
		return false;
	type = transport_load64(data + 12);     /* type 2, version and header length 1, class 1, total length 2 */
	fragment = transport_load64(data + 20); /* fragment 2, TTL 1, protocol 1 */
	key = transport_load64(ip + 12);
	ports = transport_load32(l4);
	total = (uint32_t)__builtin_bswap16((uint16_t)(type >> 32));
	protocol = (uint8_t)(fragment >> 24);
	is_udp = protocol == IPPROTO_UDP;
	least_len = is_udp ? TRANSPORT_UDP_LEN : TRANSPORT_TCP_LEN;
	own_len = is_udp ? fl_load_be16(l4 + 4) : (l4[12] >> 4) * 4U;
	first = (uint32_t)key & 0xff;
	wrong = (transport_load64(data) ^ mac) << 16 | ((type ^ 0x450008) & 0xffffff) | (fragment & 0xff3f);
	if (unlikely(wrong || (!is_udp && protocol != IPPROTO_TCP) || total + COMMON_AT_IP > len ||
		     own_len < least_len || total < ENCAP_IPV4_LEN + own_len || common_sum(ip) % 0xffff ||
		     !(fragment & 0xff0000)))
		return false;
	if (unlikely(first - 1 >= 223 || first == 127 || (uint32_t)key == key >> 32 || (!is_udp && !(uint16_t)ports)))
		return false;
	service = common_service(lookup, key >> 32 | (uint64_t)(ports >> 16) << 32 | (uint64_t)protocol << 48, last);
	if (unlikely(!service || (is_udp && (lookup_may_have_ipv4(lookup, __builtin_bswap32((uint32_t)key)) ||
					     !transport_is_plain_udp(service)))))
		return false;
	word = (uint64_t)total << 48 | (uint64_t)COMMON_AT_L4 << 32 | (type & 0xff000000) | COMMON_AT_IP << 16;
	if (!is_udp && l4[TRANSPORT_AT_TCP_FLAGS] & TRANSPORT_TCP_SYN)
		word |= PACKET_SYN << 8;
	/* verdict to ip_len in one store; VERDICT_SERVICE is 0 */
	__builtin_memcpy(out, &word, sizeof(word));
	out->key[0] = key;
	out->key[1] = ports | (uint64_t)protocol << 32;
	out->service = service;
	return true;
}

_Static_assert(VERDICT_SERVICE == 0 && offsetof(struct packet, ip_len) == 6, "the first word of struct packet");

#endif
