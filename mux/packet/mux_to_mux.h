/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A packet from mux to mux, on its way to where its fragments meet: outer IP, UDP port 6080, GUE base with length 0, so
 * that no server takes it for its own (protocol/README.md, 8).
 */
#ifndef FAIRLEAD_MUX_MUX_TO_MUX_H
#define FAIRLEAD_MUX_MUX_TO_MUX_H

#include <rte_mbuf.h>

#include "packet/packet.h"

struct backend;
struct peers;

/* Whether an IP packet to one of the mux's own addresses is a mux's: VERDICT_PEER, else the kernel's. */
enum verdict mux_to_mux_classify(const uint8_t *ip, uint32_t len, struct packet *out);

/*
 * Unwraps a packet with VERDICT_PEER: the mbuf then begins with an Ethernet header in front of the inner packet, which
 * is still to be classified. VERDICT_PEER, or why it is dropped: the sender is no mux, or no IP packet is inside.
 */
enum verdict mux_to_mux_unwrap(const struct peers *peers, struct rte_mbuf *mbuf, const struct packet *packet);

/*
 * Wraps a packet for a mux with packet->hash. VERDICT_FRAGMENT_FORWARDED with packet->port, or why it can't be sent.
 * flags: of the steer header that it will get on its way from there to a server, as far as that is known.
 */
enum verdict mux_to_mux_wrap(const struct backend *line, uint8_t flags, struct rte_mbuf *mbuf, struct packet *packet);

#endif
