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

#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>

#include <fairlead/steer.h>

/* A connection as this host's sockets know it. Points into the packet's linear part. */
struct fl_flow {
	u8 family;                     /* AF_INET or AF_INET6 */
	u8 protocol;                   /* IPPROTO_TCP or IPPROTO_UDP, 0 for what has no connection */
	bool leaves;                   /* it goes from local to remote */
	bool quoted;                   /* by an ICMP error: its packet went the other way than the error */
	bool later_fragment;           /* and so without a protocol */
	struct in6_addr remote, local; /* IPv4 in the last 4 bytes, see fl_flow_ipv4() */
	__be16 remote_port, local_port;
	const void *ip;
	const struct tcphdr *tcp; /* if TCP and not quoted */
};

static inline __be32 fl_flow_ipv4(const struct in6_addr *address)
{
	return address->s6_addr32[3];
}

/* Makes all that is looked at part of the linear area. False without memory for it. */
bool fl_wire_pull(struct sk_buff *skb);

/* The outer source. */
struct fl_address fl_wire_source(const struct sk_buff *skb);

/* Whether the outer header has IP options or extension headers, which no mux sends. */
bool fl_wire_has_options(const struct sk_buff *skb);

/* Whether the outer packet came in fragments, which no mux sends. */
bool fl_wire_was_fragmented(const struct sk_buff *skb);

/* Reads the inner packet, inner_at bytes from skb->data; fills all of *flow, false if it is no whole IP packet. */
bool fl_wire_flow(const struct sk_buff *skb, unsigned int inner_at, bool is_ipv4, struct fl_flow *flow);

/* The same of a packet that leaves, its IP header at skb->data, with the flow's ends as when it came in. */
bool fl_wire_flow_out(const struct sk_buff *skb, bool is_ipv4, struct fl_flow *flow);

#endif
