/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fragment sent from one mux to the one that handles its datagram (fairlead/fragment.h; protocol/README.md, 8): no server
 * accepts it, and with the cluster's key it has a tag.
 */
#ifndef FAIRLEAD_MUX_MUX_TO_MUX_H
#define FAIRLEAD_MUX_MUX_TO_MUX_H

#include <rte_mbuf.h>

#include "flow/packet.h"

struct lookup;
struct peer;
struct peers;

/* VERDICT_PEER if an IP packet to one of the mux's own addresses is from a mux; else it is the kernel's. */
enum verdict mux_to_mux_classify(const uint8_t *ip, uint32_t len, struct packet *out);

/*
 * Unwraps a packet with VERDICT_PEER: the mbuf then begins with an Ethernet header in front of the inner packet, which
 * is still to be classified. Returns VERDICT_PEER, or why it is dropped: the sender is not a mux, its tag is not right, or
 * the inner packet is not IP.
 */
enum verdict mux_to_mux_unwrap(const struct peers *peers, struct rte_mbuf *mbuf, const struct packet *packet);

/*
 * Wraps a packet for a mux; packet->hash must be set. Returns VERDICT_FRAGMENT_FORWARDED and sets packet->port, or
 * returns why it can't be sent. lookup: whose services it may be for.
 */
enum verdict mux_to_mux_wrap(const struct lookup *lookup, const struct peer *peer, struct rte_mbuf *mbuf,
			     struct packet *packet);

#endif
