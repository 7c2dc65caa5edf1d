/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ICMP and ICMPv6 to a VIP.
 *
 *	echo request		VERDICT_ECHO: the mux answers it (answer.h)
 *	error			steered as the connection whose packet it quotes; a server sent that packet from the
 *				VIP, so both ends of the key are swapped. 8 bytes of the quoted transport header suffice
 *	anything else		dropped
 *
 * The checksum is left to the receiver: right or wrong, the error reaches only the server it may concern.
 */
#ifndef FAIRLEAD_MUX_ICMP_H
#define FAIRLEAD_MUX_ICMP_H

#include <fairlead/ip.h>

#include "flow/packet.h"

struct lookup;
struct lookup_vip;

enum icmp_numbers {
	ICMP_ECHO_REPLY = 0,
	ICMP_UNREACHABLE = 3,
	ICMP_FRAGMENTATION_NEEDED = 4, /* a code of unreachable */
	ICMP_ECHO_REQUEST = 8,
	ICMP_TIME = 11,
	ICMP_PARAMETER = 12,
	ICMPV6_TOO_BIG = 2,
	ICMPV6_INFORMATIONAL = 128, /* types below are errors */
	ICMPV6_ECHO_REQUEST = 128,
	ICMPV6_ECHO_REPLY = 129,
};

/* ip: the packet's IP header, checked; icmp: the len bytes behind it, all of the packet and in the buffer. */
enum verdict icmp_classify_ipv4(const struct lookup *lookup, const struct lookup_vip *vip, const uint8_t *ip,
				const uint8_t *icmp, uint32_t len, struct packet *out);
enum verdict icmp_classify_ipv6(const struct lookup *lookup, const struct lookup_vip *vip, const uint8_t *ip,
				const uint8_t *icmp, uint32_t len, struct packet *out);

#endif
