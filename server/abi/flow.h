/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The connection that an inner packet belongs to, for both forms of the server side:
 *
 *	IPv4 or IPv6 | TCP, UDP, or an ICMP error and the head of the packet that it quotes
 *
 * A comparison with the packet's end precedes every read, as the kernel's verifier demands. Both worlds include the
 * same kernel headers, except for byte order.
 */
#ifndef FAIRLEAD_FLOW_H
#define FAIRLEAD_FLOW_H

#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>

#include <fairlead/ip.h>
#include <fairlead/types.h>

enum fl_flow_numbers {
	FL_FLOW_IPV4 = 2,      /* AF_INET */
	FL_FLOW_IPV6 = 10,     /* AF_INET6 */
	FL_FLOW_FRAGMENT = 44, /* the next header of IPv6's fragment header */
	FL_FLOW_ICMP_UNREACHABLE = 3,
	FL_FLOW_ICMP_TIME_EXCEEDED = 11,
	FL_FLOW_ICMP_PARAMETER = 12,
	FL_FLOW_ICMPV6_INFORMATIONAL = 128, /* types below are errors */
};

/* Head of an ICMP or ICMPv6 error. */
struct fl_icmp_error {
	__u8 type;
	__u8 code;
	__be16 checksum;
	__be32 rest;
};

_Static_assert(sizeof(struct fl_icmp_error) == 8, "the quoted packet follows 8 bytes");

/* IPv6's fragment header. */
struct fl_ipv6_fragment {
	__u8 next;
	__u8 reserved;
	__be16 offset;
	__be32 id;
};

_Static_assert(sizeof(struct fl_ipv6_fragment) == 8, "the fragment follows 8 bytes");

/* A connection as this host's sockets know it. */
struct fl_flow {
	__u8 family;         /* FL_FLOW_IPV4 or FL_FLOW_IPV6 */
	__u8 protocol;       /* IPPROTO_TCP or IPPROTO_UDP; 0: no connection */
	bool leaves;         /* an outgoing packet, from local to remote */
	bool quoted;         /* read from the packet that an ICMP error quotes, which went in the other direction */
	bool later_fragment; /* a later fragment, and so without a protocol */
	__be16 remote_port, local_port;
	struct in6_addr remote, local; /* IPv4 in the last word, see fl_flow_ipv4() */
};

/* The packet's headers, in a struct of their own: eBPF allows no pointers to packets in a map. */
struct fl_flow_headers {
	void *ip;
	struct tcphdr *tcp; /* if TCP and not quoted */
};

FL_INLINE __be32 fl_flow_ipv4(const struct in6_addr *address)
{
	return address->in6_u.u6_addr32[3];
}

/* Whether the packet whose headers are read goes from local to remote. */
FL_INLINE bool fl_flow_is_ours(const struct fl_flow *flow)
{
	return flow->quoted != flow->leaves;
}

/* Reads the transport header at l4; if it is truncated, the flow has no connection. */
FL_INLINE void fl_flow_transport(void *l4, void *end, __u8 protocol, struct fl_flow *flow,
				 struct fl_flow_headers *headers)
{
	struct udphdr *udp = l4; /* TCP's ports are at the same offset */
	struct tcphdr *tcp = l4;

	if (protocol == IPPROTO_TCP && !flow->quoted) {
		if ((void *)(tcp + 1) > end)
			return;
		headers->tcp = tcp;
	} else if (protocol != IPPROTO_UDP && protocol != IPPROTO_TCP) {
		return;
	}
	if ((void *)(udp + 1) > end)
		return;
	flow->remote_port = fl_flow_is_ours(flow) ? udp->dest : udp->source;
	flow->local_port = fl_flow_is_ours(flow) ? udp->source : udp->dest;
	flow->protocol = protocol;
}

FL_INLINE void fl_flow_addresses_ipv4(struct fl_flow *flow, const struct iphdr *ip)
{
	flow->remote.in6_u.u6_addr32[3] = fl_flow_is_ours(flow) ? ip->daddr : ip->saddr;
	flow->local.in6_u.u6_addr32[3] = fl_flow_is_ours(flow) ? ip->saddr : ip->daddr;
}

FL_INLINE void fl_flow_addresses_ipv6(struct fl_flow *flow, const struct ipv6hdr *ip)
{
	flow->remote = fl_flow_is_ours(flow) ? ip->daddr : ip->saddr;
	flow->local = fl_flow_is_ours(flow) ? ip->saddr : ip->daddr;
}

FL_INLINE bool fl_flow_ipv6_equal(const struct in6_addr *a, const struct in6_addr *b)
{
	return a->in6_u.u6_addr32[0] == b->in6_u.u6_addr32[0] && a->in6_u.u6_addr32[1] == b->in6_u.u6_addr32[1] &&
	       a->in6_u.u6_addr32[2] == b->in6_u.u6_addr32[2] && a->in6_u.u6_addr32[3] == b->in6_u.u6_addr32[3];
}

/* Reads the packet quoted by an ICMP error, its IP header and at least 8 bytes; both must have the same local end. */
FL_INLINE void fl_flow_icmp_quote(void *l4, void *end, struct fl_flow *flow, struct fl_flow_headers *headers)
{
	struct fl_icmp_error *icmp = l4;
	struct iphdr *quote = (void *)(icmp + 1);

	if ((void *)(quote + 1) > end)
		return;
	if (icmp->type != FL_FLOW_ICMP_UNREACHABLE && icmp->type != FL_FLOW_ICMP_TIME_EXCEEDED &&
	    icmp->type != FL_FLOW_ICMP_PARAMETER)
		return;
	if (quote->version != 4 || quote->ihl < 5 || fl_load_be16((const fl_u8 *)&quote->frag_off) & FL_IPV4_OFFSET ||
	    (flow->leaves ? quote->daddr : quote->saddr) != fl_flow_ipv4(&flow->local))
		return;
	flow->quoted = true;
	fl_flow_addresses_ipv4(flow, quote);
	fl_flow_transport((void *)quote + quote->ihl * 4, end, quote->protocol, flow, headers);
}

FL_INLINE void fl_flow_icmpv6_quote(void *l4, void *end, struct fl_flow *flow, struct fl_flow_headers *headers)
{
	struct fl_icmp_error *icmp = l4;
	struct ipv6hdr *quote = (void *)(icmp + 1);

	if ((void *)(quote + 1) > end || icmp->type >= FL_FLOW_ICMPV6_INFORMATIONAL || quote->version != 6 ||
	    !fl_flow_ipv6_equal(flow->leaves ? &quote->daddr : &quote->saddr, &flow->local))
		return;
	flow->quoted = true;
	fl_flow_addresses_ipv6(flow, quote);
	fl_flow_transport(quote + 1, end, quote->nexthdr, flow, headers);
}

/* Reads an inner IPv4 packet of at most room bytes; false if it is none. A later fragment has no connection. */
FL_INLINE bool fl_flow_read_ipv4(void *data, void *end, __u32 room, struct fl_flow *flow,
				 struct fl_flow_headers *headers)
{
	struct iphdr *ip = data;
	__u32 len;

	if ((void *)(ip + 1) > end || ip->version != 4 || ip->ihl < 5)
		return false;
	len = fl_load_be16((const fl_u8 *)&ip->tot_len);
	if ((len < (__u32)ip->ihl * 4 || len > room) && !flow->leaves) /* 0 in a large GSO packet */
		return false;
	flow->family = FL_FLOW_IPV4;
	headers->ip = ip;
	fl_flow_addresses_ipv4(flow, ip);
	flow->later_fragment = fl_load_be16((const fl_u8 *)&ip->frag_off) & FL_IPV4_OFFSET;
	if (flow->later_fragment)
		return true;
	if (ip->protocol == IPPROTO_ICMP)
		fl_flow_icmp_quote(data + ip->ihl * 4, end, flow, headers);
	else
		fl_flow_transport(data + ip->ihl * 4, end, ip->protocol, flow, headers);
	return true;
}

/* The same for IPv6; with other extension headers than a first fragment's, a packet has no connection here. */
FL_INLINE bool fl_flow_read_ipv6(void *data, void *end, __u32 room, struct fl_flow *flow,
				 struct fl_flow_headers *headers)
{
	struct ipv6hdr *ip = data;
	struct fl_ipv6_fragment *fragment = (void *)(ip + 1);

	if ((void *)(ip + 1) > end || ip->version != 6 ||
	    sizeof(*ip) + fl_load_be16((const fl_u8 *)&ip->payload_len) > room)
		return false;
	flow->family = FL_FLOW_IPV6;
	headers->ip = ip;
	fl_flow_addresses_ipv6(flow, ip);
	if (ip->nexthdr == IPPROTO_ICMPV6) {
		fl_flow_icmpv6_quote(ip + 1, end, flow, headers);
	} else if (ip->nexthdr == FL_FLOW_FRAGMENT) {
		if ((void *)(fragment + 1) > end)
			return true;
		flow->later_fragment = fl_load_be16((const fl_u8 *)&fragment->offset) & FL_IPV6_OFFSET;
		if (!flow->later_fragment)
			fl_flow_transport(fragment + 1, end, fragment->next, flow, headers);
	} else {
		fl_flow_transport(ip + 1, end, ip->nexthdr, flow, headers);
	}
	return true;
}

/* Reads an incoming or outgoing packet of that family and of at most room bytes. Fills in all of *flow and *headers;
 * false if it is no IP packet. */
FL_INLINE bool fl_flow_read(void *data, void *end, __u32 room, bool is_ipv4, bool leaves, struct fl_flow *flow,
			    struct fl_flow_headers *headers)
{
	__builtin_memset(flow, 0, sizeof(*flow));
	flow->leaves = leaves;
	headers->tcp = NULL;
	return is_ipv4 ? fl_flow_read_ipv4(data, end, room, flow, headers)
		       : fl_flow_read_ipv6(data, end, room, flow, headers);
}

#endif
