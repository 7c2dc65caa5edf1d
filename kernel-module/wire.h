/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parses what surrounds the list header: who sent the packet, and to which connection it belongs.
 *
 *	outer IPv4 or IPv6 | UDP | GUE base, list | inner IPv4 or IPv6 | TCP, UDP, ICMP
 *	                    ^ skb->data when the socket hands it over
 *	outer IPv4, the paper's option | inner IPv4 | TCP, UDP, ICMP
 *	                                ^ skb->data when IP hands it over
 */
#ifndef FAIRLEAD_WIRE_H
#define FAIRLEAD_WIRE_H

#include <linux/skbuff.h>

#include <fairlead/list.h>
#include <flow.h>

/* The end of what is linear, in front of which all headers are after fl_wire_pull(). */
static inline u8 *fl_wire_end(const struct sk_buff *skb)
{
	return skb->data + skb_headlen(skb);
}

/* Moves all headers that are parsed into the linear area. False if memory runs out. */
bool fl_wire_pull(struct sk_buff *skb);

/* The outer source; none for an IPv4-mapped IPv6 address, which would match a peer's IPv4 prefix. */
struct fl_address fl_wire_source(const struct sk_buff *skb);

/* Whether the outer header has IP options or extension headers, which no mux sends. */
bool fl_wire_has_options(const struct sk_buff *skb);

/* Whether the outer packet came in fragments, which no mux sends. */
bool fl_wire_was_fragmented(const struct sk_buff *skb);

/*
 * Parses the inner packet, inner_at bytes from skb->data, in its linear part; fills in all of *flow and *headers. False
 * if it is no complete IP packet.
 */
bool fl_wire_flow(const struct sk_buff *skb, unsigned int inner_at, bool is_ipv4, struct fl_flow *flow,
		  struct fl_flow_headers *headers);

/* The same for an outgoing packet, its IP header at skb->data, with the flow's ends as in the incoming direction. */
bool fl_wire_flow_out(const struct sk_buff *skb, bool is_ipv4, struct fl_flow *flow);

#endif
