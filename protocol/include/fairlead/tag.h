/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The tag proves that a holder of the cluster's key has written this steer header for this connection.
 *
 *	tag = SipHash-2-4(cluster key, message), on the wire in network byte order
 *
 *	message    0  steer 12				as in the packet, including hops and flags
 *	(72 bytes) 12  since 4				of the packet; 0 without MOVED
 *	           16  previous 16			IPv4 as ::ffff:a.b.c.d; 0 without MOVED
 *	           32  source 16, destination 16	of the inner IP header, in the same form
 *	           64  source port 2, destination port 2
 *	           68  protocol 1			protocol, or next header, of the inner IP header
 *	           69  0 3
 *
 * The message has a fixed length, so that it is hashed without a branch. Ports are the 4 bytes behind the inner IP
 * header if the protocol is TCP or UDP, the packet is no later fragment, and has them; otherwise 0. An ICMP error is
 * tagged as an ICMP packet, not as the packet that it quotes. IPv6 with any extension header has no ports here.
 */
#ifndef FAIRLEAD_TAG_H
#define FAIRLEAD_TAG_H

#include "hash.h"
#include "steer.h"

enum fl_tag_numbers {
	FL_TAG_MESSAGE_LEN = 72,
	FL_TAG_AT_SINCE = 12,
	FL_TAG_AT_PREVIOUS = 16,
	FL_TAG_AT_SOURCE = 32,
	FL_TAG_AT_DESTINATION = 48,
	FL_TAG_AT_PORTS = 64,
	FL_TAG_AT_PROTOCOL = 68,
	FL_TAG_IPV4_LEN = 20,
	FL_TAG_IPV6_LEN = 40,
	FL_TAG_PORTS_LEN = 4,
	FL_TAG_TCP = 6,
	FL_TAG_UDP = 17,
};

struct fl_tag_message {
	fl_u8 bytes[FL_TAG_MESSAGE_LEN];
};

/* Copies the ports if the transport header at p has them, within the IP packet (room bytes) and the data. */
FL_INLINE void fl_tag_ports(const fl_u8 *p, const fl_u8 *end, fl_u32 room, struct fl_tag_message *m)
{
	fl_u8 protocol = m->bytes[FL_TAG_AT_PROTOCOL];

	if ((protocol != FL_TAG_TCP && protocol != FL_TAG_UDP) || room < FL_TAG_PORTS_LEN || p + FL_TAG_PORTS_LEN > end)
		return;
	__builtin_memcpy(m->bytes + FL_TAG_AT_PORTS, p, FL_TAG_PORTS_LEN);
}

FL_INLINE bool fl_tag_ipv4(const fl_u8 *ip, const fl_u8 *end, struct fl_tag_message *m)
{
	struct fl_address source, destination;
	fl_u32 header_len, len;

	if (ip + FL_TAG_IPV4_LEN > end || ip[0] >> 4 != 4)
		return false;
	header_len = (fl_u32)(ip[0] & 15) * 4;
	len = fl_load_be16(ip + 2);
	if (header_len < FL_TAG_IPV4_LEN || len < header_len)
		return false;
	source = fl_address_from_ipv4(ip + 12);
	destination = fl_address_from_ipv4(ip + 16);
	__builtin_memcpy(m->bytes + FL_TAG_AT_SOURCE, &source, sizeof(source));
	__builtin_memcpy(m->bytes + FL_TAG_AT_DESTINATION, &destination, sizeof(destination));
	m->bytes[FL_TAG_AT_PROTOCOL] = ip[9];
	if (!(fl_load_be16(ip + 6) & 0x1fff))
		fl_tag_ports(ip + header_len, end, len - header_len, m);
	return true;
}

FL_INLINE bool fl_tag_ipv6(const fl_u8 *ip, const fl_u8 *end, struct fl_tag_message *m)
{
	if (ip + FL_TAG_IPV6_LEN > end || ip[0] >> 4 != 6)
		return false;
	__builtin_memcpy(m->bytes + FL_TAG_AT_SOURCE, ip + 8, 32);
	m->bytes[FL_TAG_AT_PROTOCOL] = ip[6];
	fl_tag_ports(ip + FL_TAG_IPV6_LEN, end, fl_load_be16(ip + 4), m);
	return true;
}

/* Writes the first 32 bytes of *m and clears the others. False only if end is less than it was for the parser. */
FL_INLINE bool fl_tag_message_begin(const fl_u8 *gue, const struct fl_steer *steer, const fl_u8 *end,
				    struct fl_tag_message *m)
{
	__builtin_memset(m, 0, sizeof(*m));
	if (gue + FL_GUE_BASE_LEN + FL_STEER_BASE_LEN > end)
		return false;
	__builtin_memcpy(m->bytes, gue + FL_STEER_AT_VERSION, FL_STEER_BASE_LEN);
	if (steer->flags & FL_STEER_MOVED) {
		fl_store_be32(m->bytes + FL_TAG_AT_SINCE, steer->since);
		__builtin_memcpy(m->bytes + FL_TAG_AT_PREVIOUS, &steer->previous, sizeof(steer->previous));
	}
	return true;
}

/*
 * Writes all of *m for a header that fl_steer_parse() has read into *steer, and the inner packet from inner to end.
 * False if that is no IP packet of the family that GUE names, or its header is truncated.
 */
FL_INLINE bool fl_tag_message(const fl_u8 *gue, const struct fl_steer *steer, const fl_u8 *inner, const fl_u8 *end,
			      struct fl_tag_message *m)
{
	if (!fl_tag_message_begin(gue, steer, end, m))
		return false;
	return steer->inner_protocol == FL_GUE_PROTO_IPV4 ? fl_tag_ipv4(inner, end, m) : fl_tag_ipv6(inner, end, m);
}

FL_INLINE fl_u64 fl_tag(const struct fl_siphash_key *key, const struct fl_tag_message *m)
{
	return fl_siphash(key, m->bytes, FL_TAG_MESSAGE_LEN);
}

FL_INLINE fl_u64 fl_tag_load(const fl_u8 *p)
{
	return fl_load_be64(p);
}

FL_INLINE void fl_tag_store(fl_u8 *p, fl_u64 tag)
{
	fl_store_be64(p, tag);
}

/*
 * Adds a new tag to a header that fl_steer_chain() has rewritten. The header had a tag, and so has room for one behind
 * the generation. *m is the message of the incoming packet; it becomes that of the outgoing one. Returns false, with
 * nothing changed in the packet, only if end is less than it was for the parser.
 */
FL_INLINE bool fl_tag_chain(const struct fl_siphash_key *key, fl_u8 *gue, const fl_u8 *end, struct fl_tag_message *m)
{
	if (gue + FL_STEER_AT_SINCE + FL_STEER_TAG_LEN > end)
		return false;
	gue[FL_STEER_AT_FLAGS] = FL_STEER_TAG;
	__builtin_memcpy(m->bytes, gue + FL_STEER_AT_VERSION, FL_STEER_BASE_LEN);
	__builtin_memset(m->bytes + FL_TAG_AT_SINCE, 0, FL_TAG_AT_SOURCE - FL_TAG_AT_SINCE);
	fl_tag_store(gue + FL_STEER_AT_SINCE, fl_tag(key, m));
	return true;
}

#endif
