/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a mux itself says, in the VIP's name: the packet that caused it is made into the answer in its own buffer and
 * goes back by the port, to the MAC address and with the VLAN tags that it came with. A router that sent it here takes
 * what is for its clients; so an answer needs no route of its own.
 *
 *	echo request		-> echo reply
 *	too big			-> ICMP "fragmentation needed" (RFC 1191) of at most 576 bytes, or ICMPv6 "packet too
 *				   big" (RFC 4443, 3.2) of at most 1280, with the size that fits
 *
 * Answers are limited (struct limiter), each kind for itself: a mux must not be made to send.
 */
#ifndef FAIRLEAD_MUX_ANSWER_H
#define FAIRLEAD_MUX_ANSWER_H

#include <rte_mbuf.h>

#include "packet/packet.h"

enum answer_numbers {
	ANSWER_PER_SECOND = 1000, /* of each kind, by each worker */
	ANSWER_BURST = 100,
	ANSWER_IPV4_MAX = 576, /* RFC 1812, 4.3.2.3 */
	ANSWER_IPV6_MAX = 1280,
	ANSWER_TTL = 64,
};

/* A token bucket; one thread's. All zero: full. */
struct limiter {
	uint64_t at_ms;
	uint64_t spent; /* thousandths of tokens */
};

/* Whether one more may pass at this millisecond of a monotonic clock; counts it if so. */
bool limiter_pass(struct limiter *limiter, uint64_t now_ms);

/* Makes a packet with VERDICT_ECHO its reply. False: the frame came from no host's MAC address. */
bool answer_echo(struct rte_mbuf *mbuf, const struct packet *packet);

/*
 * Makes a packet with VERDICT_TOO_BIG the error about it, with packet->mtu. False: the frame came from no host's MAC
 * address, or the buffer has no room in front.
 */
bool answer_too_big(struct rte_mbuf *mbuf, const struct packet *packet);

#endif
