/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A packet from mux to mux, on its way to where its fragments meet: outer IP, UDP port 6080, GUE base with length 0, so
 * that no server takes it for its own (protocol/README.md, 8).
 */
#ifndef FAIRLEAD_MUX_WRAPPED_H
#define FAIRLEAD_MUX_WRAPPED_H

#include <rte_mbuf.h>

#include "packet/classify.h"

struct backend;

/* Whether an IP packet to one of the mux's own addresses is a mux's: VERDICT_PEER, else the kernel's. */
enum verdict wrapped_classify(const uint8_t *ip, uint32_t len, struct packet *out);

/*
 * Unwraps a packet with VERDICT_PEER: the mbuf then begins with an Ethernet header in front of the inner packet, which
 * is classified. VERDICT_FRAGMENT, or why it is dropped: the sender is no mux, or nothing that muxes send is inside.
 */
enum verdict wrapped_read(const struct lookup *lookup, struct rte_mbuf *mbuf, struct packet *packet);

/*
 * Wraps a packet for a mux with packet->hash. VERDICT_FRAGMENT_FORWARDED with packet->port, or why it can't be sent.
 * flags: of the steer header that it will get on its way from there to a server, as far as that is known.
 */
enum verdict wrapped_write(const struct backend *line, uint8_t flags, struct rte_mbuf *mbuf, struct packet *packet);

#endif
