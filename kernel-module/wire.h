/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads what stands around the steer header: who sent the packet, and whose connection it carries.
 *
 *	outer IPv4 or IPv6 | UDP | GUE base, steer | inner IPv4 or IPv6 | TCP, UDP, ICMP
 *	                    ^ skb->data when the socket hands it over
 *	outer IPv4, the paper's option | inner IPv4 | TCP, UDP, ICMP
 *	                                ^ skb->data when IP hands it over
 */
#ifndef FAIRLEAD_WIRE_H
#define FAIRLEAD_WIRE_H

#include <linux/skbuff.h>

#include <fairlead/steer.h>
#include <flow.h>

/* Makes all that is looked at part of the linear area. False without memory for it. */
bool fl_wire_pull(struct sk_buff *skb);

/* The outer source; none for one of IPv6 that holds an IPv4 address, which would pass for a peer of that family. */
struct fl_address fl_wire_source(const struct sk_buff *skb);

/* Whether the outer header has IP options or extension headers, which no mux sends. */
bool fl_wire_has_options(const struct sk_buff *skb);

/* Whether the outer packet came in fragments, which no mux sends. */
bool fl_wire_was_fragmented(const struct sk_buff *skb);

/*
 * Reads the inner packet, inner_at bytes from skb->data, in its linear part; fills all of *flow and *headers, false if
 * it is no whole IP packet.
 */
bool fl_wire_flow(const struct sk_buff *skb, unsigned int inner_at, bool is_ipv4, struct fl_flow *flow,
		  struct fl_flow_headers *headers);

/* The same of a packet that leaves, its IP header at skb->data, with the flow's ends as when it came in. */
bool fl_wire_flow_out(const struct sk_buff *skb, bool is_ipv4, struct fl_flow *flow);

#endif
