/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets that the mux itself sends from a VIP. The packet that caused the answer is turned into it in place and goes
 * back through the port it came from, to the MAC address it came from and with the same VLAN tags. The router that sent
 * the packet also forwards to its clients, so an answer needs no route of its own.
 *
 *	echo request		-> echo reply
 *	too big			-> ICMP "fragmentation needed" (RFC 1191) of at most 576 bytes, or ICMPv6 "packet too
 *				   big" (RFC 4443, 3.2) of at most 1280, with the size that fits
 *
 * Each kind of answer has its own rate limit (struct limiter), so that a mux can't be used to flood others.
 */
#ifndef FAIRLEAD_MUX_ANSWER_H
#define FAIRLEAD_MUX_ANSWER_H

#include <rte_mbuf.h>

#include "flow/packet.h"

enum answer_numbers {
	ANSWER_PER_SECOND = 1000, /* of each kind, by each worker */
	ANSWER_BURST = 100,
	ANSWER_IPV4_MAX = 576, /* RFC 1812, 4.3.2.3 */
	ANSWER_IPV6_MAX = 1280,
	ANSWER_TTL = 64,
};

/* A token bucket, used by one thread. All zero: full. */
struct limiter {
	uint64_t at_ms;
	uint64_t spent; /* thousandths of tokens */
};

/* Takes a token at this millisecond of a monotonic clock; false if none is left. */
bool limiter_pass(struct limiter *limiter, uint64_t now_ms);

/* Turns a packet with VERDICT_ECHO into its reply. False: the frame's source MAC is not a host's. */
bool answer_echo(struct rte_mbuf *mbuf, const struct packet *packet);

/*
 * Turns a packet with VERDICT_TOO_BIG into the error about it, with packet->mtu. False: the frame's source MAC is not a
 * host's, or the buffer has no headroom left.
 */
bool answer_too_big(struct rte_mbuf *mbuf, const struct packet *packet);

#endif
