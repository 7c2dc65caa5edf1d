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
 *	SECOND     72  second bucket 4, owner 16	only with SECOND, whose message has 112 bytes; IPv4 as above
 *	(112)      92  since 4, previous 16		of the second bucket; 0 without MOVED2
 *
 * The first 72 bytes are hashed without a branch. Ports are the 4 bytes behind the inner IP
 * header if the protocol is TCP or UDP, the packet is no later fragment, and has them; otherwise 0. An ICMP error is
 * tagged as an ICMP packet, not as the packet that it quotes. IPv6 with any extension header has no ports here.
 */
#ifndef FAIRLEAD_TAG_H
#define FAIRLEAD_TAG_H

#include "hash.h"
#include "steer.h"

enum fl_tag_numbers {
	FL_TAG_MESSAGE_LEN = 72, /* without SECOND */
	FL_TAG_MESSAGE_MAX_LEN = 112,
	FL_TAG_AT_SINCE = 12,
	FL_TAG_AT_PREVIOUS = 16,
	FL_TAG_AT_SOURCE = 32,
	FL_TAG_AT_DESTINATION = 48,
	FL_TAG_AT_PORTS = 64,
	FL_TAG_AT_PROTOCOL = 68,
	FL_TAG_AT_SECOND = 72,
	FL_TAG_AT_SINCE2 = 92,
	FL_TAG_IPV4_LEN = 20,
	FL_TAG_IPV6_LEN = 40,
	FL_TAG_PORTS_LEN = 4,
	FL_TAG_TCP = 6,
	FL_TAG_UDP = 17,
};

/* The bytes behind FL_TAG_MESSAGE_LEN are valid with SECOND only. Hashed by words of 8 bytes. */
struct fl_tag_message {
	fl_u8 bytes[FL_TAG_MESSAGE_MAX_LEN];
} __attribute__((aligned(8)));

/* Whether the message is of a header with SECOND: its flags are the message's second byte. */
FL_INLINE bool fl_tag_message_has_second(const struct fl_tag_message *m)
{
	return m->bytes[FL_STEER_AT_FLAGS - FL_STEER_AT_VERSION] & FL_STEER_SECOND;
}

FL_INLINE fl_u32 fl_tag_message_len(const struct fl_tag_message *m)
{
	return fl_tag_message_has_second(m) ? FL_TAG_MESSAGE_MAX_LEN : FL_TAG_MESSAGE_LEN;
}

/* Copies the ports if the transport header at p has them, within the IP packet (room bytes) and the data. */
FL_INLINE void fl_tag_ports(const fl_u8 *p, const fl_u8 *end, fl_u32 room, struct fl_tag_message *m)
{
	fl_u8 protocol = m->bytes[FL_TAG_AT_PROTOCOL];

	if ((protocol != FL_TAG_TCP && protocol != FL_TAG_UDP) || room < FL_TAG_PORTS_LEN || p + FL_TAG_PORTS_LEN > end)
		return;
	fl_copy(m->bytes + FL_TAG_AT_PORTS, p, FL_TAG_PORTS_LEN);
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
	fl_copy(m->bytes + FL_TAG_AT_SOURCE, &source, sizeof(source));
	fl_copy(m->bytes + FL_TAG_AT_DESTINATION, &destination, sizeof(destination));
	m->bytes[FL_TAG_AT_PROTOCOL] = ip[9];
	if (!(fl_load_be16(ip + 6) & 0x1fff))
		fl_tag_ports(ip + header_len, end, len - header_len, m);
	return true;
}

FL_INLINE bool fl_tag_ipv6(const fl_u8 *ip, const fl_u8 *end, struct fl_tag_message *m)
{
	if (ip + FL_TAG_IPV6_LEN > end || ip[0] >> 4 != 6)
		return false;
	fl_copy(m->bytes + FL_TAG_AT_SOURCE, ip + 8, 32);
	m->bytes[FL_TAG_AT_PROTOCOL] = ip[6];
	fl_tag_ports(ip + FL_TAG_IPV6_LEN, end, fl_load_be16(ip + 4), m);
	return true;
}

/* Writes what *m says of moves and of a second bucket, of a header without them only zeros that are there already. */
FL_INLINE void fl_tag_message_buckets(const struct fl_steer *steer, struct fl_tag_message *m)
{
	if (steer->flags & FL_STEER_MOVED) {
		fl_store_be32(m->bytes + FL_TAG_AT_SINCE, steer->since);
		fl_copy(m->bytes + FL_TAG_AT_PREVIOUS, &steer->previous, sizeof(steer->previous));
	}
	if (steer->flags & FL_STEER_SECOND) {
		fl_store_be32(m->bytes + FL_TAG_AT_SECOND, steer->second.bucket);
		fl_copy(m->bytes + FL_TAG_AT_SECOND + 4, &steer->second.owner, 16);
		fl_clear(m->bytes + FL_TAG_AT_SINCE2, FL_TAG_MESSAGE_MAX_LEN - FL_TAG_AT_SINCE2);
	}
	if (steer->flags & FL_STEER_MOVED2) {
		fl_store_be32(m->bytes + FL_TAG_AT_SINCE2, steer->second.since);
		fl_copy(m->bytes + FL_TAG_AT_SINCE2 + 4, &steer->second.previous, 16);
	}
}

/* Writes the first 32 bytes of *m and those of SECOND, and clears the others. False only if end is less than it was for the parser. */
FL_INLINE bool fl_tag_message_begin(const fl_u8 *gue, const struct fl_steer *steer, const fl_u8 *end,
				    struct fl_tag_message *m)
{
	__builtin_memset(m, 0, FL_TAG_MESSAGE_LEN);
	if (gue + FL_GUE_BASE_LEN + FL_STEER_BASE_LEN > end)
		return false;
	fl_copy(m->bytes, gue + FL_STEER_AT_VERSION, FL_STEER_BASE_LEN);
	fl_tag_message_buckets(steer, m);
	return true;
}

/* Writes what *m says of the inner packet from inner to end. False if that is no IP packet of the family named. */
FL_INLINE bool fl_tag_message_inner(const struct fl_steer *steer, const fl_u8 *inner, const fl_u8 *end,
				    struct fl_tag_message *m)
{
	return steer->inner_protocol == FL_GUE_PROTO_IPV4 ? fl_tag_ipv4(inner, end, m) : fl_tag_ipv6(inner, end, m);
}

/*
 * Writes all of *m for a header that fl_steer_parse() has read into *steer, and the inner packet from inner to end.
 * False if that is no IP packet of the family that GUE names, or its header is truncated.
 */
FL_INLINE bool fl_tag_message(const fl_u8 *gue, const struct fl_steer *steer, const fl_u8 *inner, const fl_u8 *end,
			      struct fl_tag_message *m)
{
	return fl_tag_message_begin(gue, steer, end, m) && fl_tag_message_inner(steer, inner, end, m);
}

FL_INLINE fl_u64 fl_tag(const struct fl_siphash_key *key, const struct fl_tag_message *m)
{
	struct fl_siphash_state s = fl_siphash_begin(key);
	fl_u32 i;

	for (i = 0; i < FL_TAG_MESSAGE_LEN; i += 8)
		fl_siphash_word(&s, fl_load_le64(m->bytes + i));
	if (!fl_tag_message_has_second(m))
		return fl_siphash_end(&s, 0, FL_TAG_MESSAGE_LEN);
	for (; i < FL_TAG_MESSAGE_MAX_LEN; i += 8)
		fl_siphash_word(&s, fl_load_le64(m->bytes + i));
	return fl_siphash_end(&s, 0, FL_TAG_MESSAGE_MAX_LEN);
}

FL_INLINE fl_u64 fl_tag_load(const fl_u8 *p)
{
	return fl_load_be64(p);
}

FL_INLINE void fl_tag_store(fl_u8 *p, fl_u64 tag)
{
	fl_store_be64(p, tag);
}

/* Makes the message of an incoming packet, whose head the outgoing packet's has replaced, the outgoing one's. */
FL_INLINE void fl_tag_message_renew(struct fl_tag_message *m)
{
	/* Chaining clears the move; what moved after promotion is the second bucket. */
	if (m->bytes[FL_STEER_AT_FLAGS - FL_STEER_AT_VERSION] & FL_STEER_MOVED)
		fl_copy(m->bytes + FL_TAG_AT_SINCE, m->bytes + FL_TAG_AT_SINCE2, FL_TAG_AT_SOURCE - FL_TAG_AT_SINCE);
	else
		fl_clear(m->bytes + FL_TAG_AT_SINCE, FL_TAG_AT_SOURCE - FL_TAG_AT_SINCE);
}

/*
 * Adds a new tag to a header that fl_steer_chain() or fl_steer_promote() has rewritten, or first the one and then the
 * other. The header had a tag, and so has room for one. *m is the message of the incoming packet; it becomes that of the
 * outgoing one. Returns false, with nothing changed in the packet, only if end is less than it was for the parser.
 */
FL_INLINE bool fl_tag_renew(const struct fl_siphash_key *key, fl_u8 *gue, const fl_u8 *end, struct fl_tag_message *m)
{
	fl_u8 flags, *at;

	if (gue + FL_GUE_BASE_LEN + FL_STEER_BASE_LEN > end)
		return false;
	flags = gue[FL_STEER_AT_FLAGS];
	at = fl_steer_part(gue, fl_steer_before_tag(flags));
	if (at + FL_STEER_TAG_LEN > end)
		return false;
	gue[FL_STEER_AT_FLAGS] = flags | FL_STEER_TAG;
	fl_copy(m->bytes, gue + FL_STEER_AT_VERSION, FL_STEER_BASE_LEN);
	fl_tag_message_renew(m);
	fl_tag_store(at, fl_tag(key, m));
	return true;
}

#endif
