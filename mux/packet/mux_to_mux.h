/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fragment sent from one mux to the one that handles its datagram: outer IP, UDP port 6080, GUE base with length 0,
 * so that no server accepts it (protocol/README.md, 8).
 */
#ifndef FAIRLEAD_MUX_MUX_TO_MUX_H
#define FAIRLEAD_MUX_MUX_TO_MUX_H

#include <rte_mbuf.h>

#include "packet/packet.h"

struct backend;
struct lookup;
struct peers;

/* VERDICT_PEER if an IP packet to one of the mux's own addresses is from a mux; else it is the kernel's. */
enum verdict mux_to_mux_classify(const uint8_t *ip, uint32_t len, struct packet *out);

/*
 * Unwraps a packet with VERDICT_PEER: the mbuf then begins with an Ethernet header in front of the inner packet, which
 * is still to be classified. Returns VERDICT_PEER, or why it is dropped: the sender is not a mux, or the inner packet
 * is not IP.
 */
enum verdict mux_to_mux_unwrap(const struct peers *peers, struct rte_mbuf *mbuf, const struct packet *packet);

/*
 * Wraps a packet for a mux; packet->hash must be set. Returns VERDICT_FRAGMENT_FORWARDED and sets packet->port, or
 * returns why it can't be sent. flags: TAG if the header has it that the other mux will add; lookup:
 * whose services it may be for.
 */
enum verdict mux_to_mux_wrap(const struct lookup *lookup, const struct backend *line, uint8_t flags,
			     struct rte_mbuf *mbuf, struct packet *packet);

#endif
