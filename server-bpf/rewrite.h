/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * How packets are rewritten: the outer header of chained packets, and ECN of delivered ones. The XDP program and the
 * property test use the same source. (For the list see fl_list_forward().)
 *
 * Marking congestion updates the checksum incrementally (RFC 1624, equation 3), which is exact: HC' = ~(~HC +
 * sum of ~m + m'). The sum is congruent modulo 65535 to that of the new header's words, and end-around folding of a sum
 * above zero gives 1..65535, as it does for the header itself, which is not all zero.
 */
#ifndef FAIRLEAD_REWRITE_H
#define FAIRLEAD_REWRITE_H

#include <fairlead/ip.h>
#include <fairlead/types.h>

enum fl_chain_numbers {
	FL_CHAIN_TTL = 64, /* a chained packet is a new one; loops are bounded by hops, not by TTL */
	FL_PROTOCOL_UDP = 17,
	FL_ECN_MASK = 3, /* of the traffic class: 0 Not-ECT, 1 and 2 ECT, 3 CE */
};

/* The checksum of a header whose words add up to sum, at most 2^20. */
FL_INLINE fl_u16 fl_checksum_fold(fl_u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (fl_u16)~sum;
}

/* source and destination: 4 bytes each. A packet that is never fragmented needs no identification (RFC 6864). */
FL_INLINE void fl_outer_ipv4(fl_u8 *ip, fl_u8 class, fl_u16 udp_len, const fl_u8 *source, const fl_u8 *destination)
{
	fl_u32 sum = 0;
	int i;

	ip[0] = 0x45;
	ip[1] = class;
	fl_store_be16(ip + 2, (fl_u16)(FL_IPV4_LEN + udp_len));
	fl_store_be16(ip + 4, 0);
	fl_store_be16(ip + 6, FL_IPV4_DONT_FRAGMENT);
	ip[8] = FL_CHAIN_TTL;
	ip[9] = FL_PROTOCOL_UDP;
	fl_store_be16(ip + FL_IPV4_AT_CHECKSUM, 0);
	fl_copy(ip + FL_IPV4_AT_SOURCE, source, 4);
	fl_copy(ip + FL_IPV4_AT_DESTINATION, destination, 4);
	for (i = 0; i < FL_IPV4_LEN; i += 2)
		sum += fl_load_be16(ip + i);
	fl_store_be16(ip + FL_IPV4_AT_CHECKSUM, fl_checksum_fold(sum));
}

/* source and destination: 16 bytes each. The UDP source port spreads flows, so the flow label is 0. */
FL_INLINE void fl_outer_ipv6(fl_u8 *ip, fl_u8 class, fl_u16 udp_len, const fl_u8 *source, const fl_u8 *destination)
{
	fl_store_be32(ip, 6U << 28 | (fl_u32) class << 20);
	fl_store_be16(ip + 4, udp_len);
	ip[6] = FL_PROTOCOL_UDP;
	ip[7] = FL_CHAIN_TTL;
	fl_copy(ip + FL_IPV6_AT_SOURCE, source, 16);
	fl_copy(ip + FL_IPV6_AT_DESTINATION, destination, 16);
}

/* Sets CE in an IPv4 packet, which must not be Not-ECT. */
FL_INLINE void fl_ecn_mark_ipv4(fl_u8 *ip)
{
	fl_u16 from = fl_load_be16(ip), to = from | FL_ECN_MASK;
	fl_u32 sum = (fl_u16)~fl_load_be16(ip + FL_IPV4_AT_CHECKSUM);

	sum += (fl_u16)~from + (fl_u32)to;
	fl_store_be16(ip, to);
	fl_store_be16(ip + FL_IPV4_AT_CHECKSUM, fl_checksum_fold(sum));
}

/* The same for IPv6, whose traffic class spans its first two bytes. */
FL_INLINE void fl_ecn_mark_ipv6(fl_u8 *ip)
{
	ip[1] |= FL_ECN_MASK << 4;
}

#endif
