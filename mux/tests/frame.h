/* SPDX-License-Identifier: Apache-2.0 */
/* Frames for tests: Ethernet, IPv4 or IPv6, TCP or UDP, with right lengths and IP checksum; tests then change them. */
#ifndef FAIRLEAD_MUX_TESTS_FRAME_H
#define FAIRLEAD_MUX_TESTS_FRAME_H

#include <rte_mbuf.h>

#include "packet/classify.h"
#include "service/service.h"

enum {
	FRAME_MAX = 2048,
	FRAME_HEADROOM = 128,
	FRAME_AT_IP = 14,
	FRAME_AT_L4 = 34,  /* without IP options */
	FRAME_AT_L46 = 54, /* over IPv6, without extension headers */
};

extern const uint8_t frame_mac[6]; /* the port's */

struct frame {
	uint32_t len;
	uint8_t bytes[FRAME_MAX];
};

/* protocol: IPPROTO_TCP or IPPROTO_UDP; the flow's addresses are of one family. */
struct frame frame_new(const struct flow *flow, uint32_t payload);

/* Recomputes the IPv4 checksum. */
void frame_fix_checksum(struct frame *frame);

/* Inserts count bytes at `at`. Lengths in headers are not changed. */
void frame_insert(struct frame *frame, uint32_t at, const void *bytes, uint32_t count);

/* The flows 203.0.113.7:40000 -> 10.99.0.1:80 and [2001:db8:7::7]:40000 -> [2001:db8:99::1]:80. */
struct flow frame_flow(uint8_t protocol);
struct flow frame_flow6(uint8_t protocol);

/* Classifies from memory of exactly the visible bytes, so that the sanitizer sees a read beyond them. */
struct packet frame_classify(const struct lookup *lookup, const struct frame *frame, uint32_t visible);

/* An mbuf over memory of its own: headroom, the frame, nothing after it. frame_unwrap() frees it. */
struct rte_mbuf *frame_wrap(const struct frame *frame);
/* The same with so much room after it. */
struct rte_mbuf *frame_wrap_with(const struct frame *frame, uint32_t tailroom);
void frame_unwrap(struct rte_mbuf *mbuf);

#endif
