/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * How packets are rewritten: outer headers of those that are chained, ECN of those that are delivered. The same source
 * in the XDP program and in the property test.
 *
 *	outer IPv4	source, destination, TTL; checksum adjusted for these alone (RFC 1624, equation 3)
 *	UDP		checksum 0
 *	steer		hops + 1, MOVED and PREVIOUS6 cleared, since and previous zeroed: their words become padding
 *
 * The adjustment is exact. HC' = ~(~HC + sum of ~m + m'): the sum is congruent modulo 65535 to that of the new
 * header's words, and end-around folding of a sum above zero gives 1..65535, as it does for the header itself, which is
 * not all zero. At most 1 + 2 * 5 words are added: below 2^20, so two folds are enough.
 */
#ifndef FAIRLEAD_REWRITE_H
#define FAIRLEAD_REWRITE_H

#include <fairlead/steer.h>

enum fl_chain_numbers {
	FL_CHAIN_TTL = 64,  /* a chained packet is a new one; loops are bounded by hops, not by TTL */
	FL_IPV4_LEN = 20,   /* the outer header has no options */
	FL_IPV4_AT_TTL = 8, /* shares its 16-bit word with the protocol */
	FL_IPV4_AT_CHECKSUM = 10,
	FL_IPV4_AT_SOURCE = 12,
	FL_IPV4_AT_DESTINATION = 16,
	FL_UDP_AT_CHECKSUM = 6,
	FL_ECN_MASK = 3, /* of the traffic class: 0 Not-ECT, 1 and 2 ECT, 3 CE */
};

/* The sum that an adjustment of a header begins with; checksum is where the header has it. */
FL_INLINE fl_u32 fl_checksum_begin(const fl_u8 *checksum)
{
	return (fl_u16)~fl_load_be16(checksum);
}

/* Replaces a 16-bit word of a header; returns the sum with the difference. */
FL_INLINE fl_u32 fl_checksum_replace(fl_u8 *p, fl_u16 to, fl_u32 sum)
{
	sum += (fl_u16)~fl_load_be16(p) + (fl_u32)to;
	fl_store_be16(p, to);
	return sum;
}

/* After at most 5 replacements. */
FL_INLINE void fl_checksum_end(fl_u8 *checksum, fl_u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	fl_store_be16(checksum, (fl_u16)~sum);
}

/* source and destination: 4 bytes each. */
FL_INLINE void fl_chain_ipv4(fl_u8 *ip, const fl_u8 *source, const fl_u8 *destination)
{
	fl_u32 sum = fl_checksum_begin(ip + FL_IPV4_AT_CHECKSUM);

	sum = fl_checksum_replace(ip + FL_IPV4_AT_TTL, (fl_u16)(FL_CHAIN_TTL << 8 | ip[FL_IPV4_AT_TTL + 1]), sum);
	sum = fl_checksum_replace(ip + FL_IPV4_AT_SOURCE, fl_load_be16(source), sum);
	sum = fl_checksum_replace(ip + FL_IPV4_AT_SOURCE + 2, fl_load_be16(source + 2), sum);
	sum = fl_checksum_replace(ip + FL_IPV4_AT_DESTINATION, fl_load_be16(destination), sum);
	sum = fl_checksum_replace(ip + FL_IPV4_AT_DESTINATION + 2, fl_load_be16(destination + 2), sum);
	fl_checksum_end(ip + FL_IPV4_AT_CHECKSUM, sum);
}

FL_INLINE void fl_chain_udp(fl_u8 *udp)
{
	fl_store_be16(udp + FL_UDP_AT_CHECKSUM, 0);
}

/* Marks an IPv4 packet as having met congestion; it must not be Not-ECT. */
FL_INLINE void fl_ecn_mark_ipv4(fl_u8 *ip)
{
	fl_u32 sum = fl_checksum_begin(ip + FL_IPV4_AT_CHECKSUM);

	sum = fl_checksum_replace(ip, fl_load_be16(ip) | FL_ECN_MASK, sum);
	fl_checksum_end(ip + FL_IPV4_AT_CHECKSUM, sum);
}

/* The same for IPv6, whose traffic class stands across its first two bytes. */
FL_INLINE void fl_ecn_mark_ipv6(fl_u8 *ip)
{
	ip[1] |= FL_ECN_MASK << 4;
}

#endif
