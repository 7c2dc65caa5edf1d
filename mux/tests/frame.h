/* SPDX-License-Identifier: Apache-2.0 */
/* Frames for tests: Ethernet, IPv4 and TCP or UDP with right lengths and IP checksum, to be bent afterwards. */
#ifndef FAIRLEAD_MUX_TESTS_FRAME_H
#define FAIRLEAD_MUX_TESTS_FRAME_H

#include <rte_mbuf.h>

#include "../service.h"

enum {
	FRAME_MAX = 2048,
	FRAME_HEADROOM = 128,
	FRAME_AT_IP = 14,
	FRAME_AT_L4 = 34, /* without IP options */
};

extern const uint8_t frame_mac[6]; /* the port's */

struct frame {
	uint32_t len;
	uint8_t bytes[FRAME_MAX];
};

/* protocol: IPPROTO_TCP or IPPROTO_UDP; the flow's addresses are IPv4. */
struct frame frame_new(const struct flow *flow, uint32_t payload);

/* Sets the IPv4 checksum right for the header as it stands. */
void frame_fix_checksum(struct frame *frame);

/* The flow 203.0.113.7:40000 -> 10.99.0.1:80. */
struct flow frame_flow(uint8_t protocol);

/* An mbuf over memory of its own: headroom, the frame, nothing after it. frame_unwrap() frees it. */
struct rte_mbuf *frame_wrap(const struct frame *frame);
void frame_unwrap(struct rte_mbuf *mbuf);

#endif
