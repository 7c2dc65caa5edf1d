/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads what stands in front of the steer header, and the head of the packet behind it.
 *
 *	Ethernet | outer IPv4 or IPv6 | UDP | GUE base, steer | inner IPv4 or IPv6 | TCP, UDP, ICMP
 *
 * The boundary: a packet is ours once it is UDP to our address and port, over IPv4 also if only a first fragment of
 * it, over IPv6 right behind the IP header. Before that everything passes to the kernel untouched, after that
 * everything that is wrong is dropped under its name. The UDP checksum is not looked at (protocol/README.md, 2).
 */
#ifndef FAIRLEAD_WIRE_BPF_H
#define FAIRLEAD_WIRE_BPF_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include "memory.bpf.h"

enum wire_numbers {
	IPV4_OFFSET_MASK = 0x1fff,
	IPV4_MORE_FRAGMENTS = 0x2000,
	FAMILY_INET = 2,
	FAMILY_INET6 = 10,
	ICMP_DEST_UNREACH = 3,
	ICMP_TIME_EXCEEDED = 11,
	ICMP_PARAMETERPROB = 12,
	ICMPV6_INFORMATIONAL = 128, /* types below are errors */
	IPV6_OFFSET_MASK = 0xfff8,
};

/* Head of an ICMP or ICMPv6 error; the uapi headers that have it ask for a C library. */
struct icmp_error {
	__u8 type;
	__u8 code;
	__be16 checksum;
	__be32 rest;
};

_Static_assert(sizeof(struct icmp_error) == 8, "the quoted packet stands behind 8 bytes");

/* IPv6's fragment header. */
struct ipv6_fragment {
	__u8 next;
	__u8 reserved;
	__be16 offset;
	__be32 id;
};

_Static_assert(sizeof(struct ipv6_fragment) == 8, "the fragment stands behind 8 bytes");

/* A packet that is ours. */
struct outer {
	struct udphdr *udp;
	__u32 ip_len; /* of the IP header */
	__u8 class;   /* DSCP and ECN */
	bool is_ipv6;
	struct fl_address source;
	bool malformed;
	enum fl_counter why; /* if malformed */
};

/* A connection as this host's sockets know it: saddr and sport are the remote end. */
struct flow {
	__u8 family;   /* FAMILY_*, 0 for none */
	__u8 protocol; /* IPPROTO_TCP or IPPROTO_UDP, 0 for what has no connection */
	bool quoted;   /* by an ICMP error: its packet was ours, not the client's */
	struct bpf_sock_tuple tuple;
	void *ip;
	struct tcphdr *tcp; /* if TCP and not quoted */
};

static __always_inline void *packet_start(const struct xdp_md *ctx)
{
	return (void *)(long)ctx->data;
}

static __always_inline void *packet_end(const struct xdp_md *ctx)
{
	return (void *)(long)ctx->data_end;
}

static __always_inline bool is_self_ipv4(__be32 address)
{
	return address && address == *((const volatile __be32 *)config.self.bytes + 3);
}

static __always_inline bool is_self_ipv6(const struct in6_addr *address)
{
	const volatile __be32 *self = (const volatile __be32 *)config.self6.bytes;
	const __be32 *words = (const __be32 *)address;

	return (words[0] | words[1] | words[2] | words[3]) && words[0] == self[0] && words[1] == self[1] &&
	       words[2] == self[2] && words[3] == self[3];
}

static __always_inline bool ipv4_checksum_is_right(const struct iphdr *ip)
{
	const __u16 *word = (const __u16 *)ip;
	__u32 sum = 0;
	int i;

#pragma unroll
	for (i = 0; i < (int)sizeof(*ip) / 2; i++)
		sum += word[i];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum == 0xffff;
}

static __always_inline void outer_refuse(struct outer *outer, enum fl_counter why)
{
	outer->malformed = true;
	outer->why = why;
}

/* Notes a UDP datagram that does not fill its IP packet, or an IP packet of which only frame_len bytes came. */
static __always_inline void lengths_check(struct outer *outer, const struct udphdr *udp, __u32 packet_len,
					  __u32 frame_len)
{
	if (packet_len > frame_len || packet_len < outer->ip_len + sizeof(*udp) ||
	    bpf_ntohs(udp->len) != packet_len - outer->ip_len)
		outer_refuse(outer, FL_COUNTER_DROP_MALFORMED_OUTER_LENGTH);
}

static __always_inline bool outer_ipv4_parse(struct iphdr *ip, void *end, __u32 frame_len, struct outer *outer)
{
	struct udphdr *udp;

	if ((void *)(ip + 1) > end || ip->version != 4 || ip->ihl < 5 || ip->protocol != IPPROTO_UDP ||
	    !is_self_ipv4(ip->daddr) || ip->frag_off & bpf_htons(IPV4_OFFSET_MASK))
		return false;
	udp = (void *)ip + ip->ihl * 4;
	if ((void *)(udp + 1) > end || udp->dest != bpf_htons(config.port))
		return false;
	outer->udp = (void *)(ip + 1);
	outer->ip_len = sizeof(*ip);
	outer->class = ip->tos;
	outer->is_ipv6 = false;
	outer->source = fl_address_from_ipv4((const __u8 *)&ip->saddr);
	if (ip->ihl != 5 || !ipv4_checksum_is_right(ip))
		outer_refuse(outer, FL_COUNTER_DROP_MALFORMED_OUTER_HEADER);
	else if (ip->frag_off & bpf_htons(IPV4_MORE_FRAGMENTS))
		outer_refuse(outer, FL_COUNTER_DROP_MALFORMED_OUTER_FRAGMENT);
	else
		lengths_check(outer, udp, bpf_ntohs(ip->tot_len), frame_len);
	return true;
}

static __always_inline bool outer_ipv6_parse(struct ipv6hdr *ip, void *end, __u32 frame_len, struct outer *outer)
{
	struct udphdr *udp = (void *)(ip + 1);

	if ((void *)(udp + 1) > end || ip->version != 6 || ip->nexthdr != IPPROTO_UDP || !is_self_ipv6(&ip->daddr) ||
	    udp->dest != bpf_htons(config.port))
		return false;
	outer->udp = udp;
	outer->ip_len = sizeof(*ip);
	outer->class = (__u8)(ip->priority << 4 | ip->flow_lbl[0] >> 4);
	outer->is_ipv6 = true;
	__builtin_memcpy(&outer->source, &ip->saddr, sizeof(outer->source));
	lengths_check(outer, udp, sizeof(*ip) + bpf_ntohs(ip->payload_len), frame_len);
	return true;
}

/* Whether the packet is ours; fills all of *outer if it is. */
static __always_inline bool outer_parse(struct xdp_md *ctx, struct outer *outer)
{
	struct ethhdr *eth = packet_start(ctx);
	void *end = packet_end(ctx);
	__u32 frame_len = (__u32)bpf_xdp_get_buff_len(ctx) - (__u32)sizeof(*eth);

	outer->malformed = false;
	if ((void *)(eth + 1) > end)
		return false;
	if (eth->h_proto == bpf_htons(ETH_P_IP))
		return outer_ipv4_parse((void *)(eth + 1), end, frame_len, outer);
	if (eth->h_proto == bpf_htons(ETH_P_IPV6))
		return outer_ipv6_parse((void *)(eth + 1), end, frame_len, outer);
	return false;
}

/* Reads both ports; a quoted packet went the other way. */
static __always_inline void ports_read(struct flow *flow, const __be16 *source, const __be16 *destination)
{
	__be16 remote = flow->quoted ? *destination : *source;
	__be16 local = flow->quoted ? *source : *destination;

	if (flow->family == FAMILY_INET) {
		flow->tuple.ipv4.sport = remote;
		flow->tuple.ipv4.dport = local;
	} else {
		flow->tuple.ipv6.sport = remote;
		flow->tuple.ipv6.dport = local;
	}
}

/* Reads the transport header at l4; without a whole one the flow has no connection. */
static __always_inline void transport_parse(void *l4, void *end, __u8 protocol, struct flow *flow)
{
	struct udphdr *udp = l4; /* TCP's ports stand at the same place */
	struct tcphdr *tcp = l4;

	if (protocol == IPPROTO_TCP && !flow->quoted) {
		if ((void *)(tcp + 1) > end)
			return;
		flow->tcp = tcp;
	} else if (protocol != IPPROTO_UDP && protocol != IPPROTO_TCP) {
		return;
	}
	if ((void *)(udp + 1) > end)
		return;
	ports_read(flow, &udp->source, &udp->dest);
	flow->protocol = protocol;
}

static __always_inline void tuple_ipv4(struct flow *flow, const struct iphdr *ip)
{
	flow->tuple.ipv4.saddr = flow->quoted ? ip->daddr : ip->saddr;
	flow->tuple.ipv4.daddr = flow->quoted ? ip->saddr : ip->daddr;
}

static __always_inline void tuple_ipv6(struct flow *flow, const struct ipv6hdr *ip)
{
	__builtin_memcpy(flow->tuple.ipv6.saddr, flow->quoted ? &ip->daddr : &ip->saddr, sizeof(ip->saddr));
	__builtin_memcpy(flow->tuple.ipv6.daddr, flow->quoted ? &ip->saddr : &ip->daddr, sizeof(ip->daddr));
}

static __always_inline bool ipv6_equal(const __be32 *a, const __be32 *b)
{
	return a[0] == b[0] && a[1] == b[1] && a[2] == b[2] && a[3] == b[3];
}

static __always_inline bool icmp_is_error(__u8 type)
{
	return type == ICMP_DEST_UNREACH || type == ICMP_TIME_EXCEEDED || type == ICMP_PARAMETERPROB;
}

/* Reads the packet that an ICMP error quotes, its IP header and at least 8 bytes; it must have come from here. */
static __always_inline void icmp_quote_parse(void *l4, void *end, struct flow *flow)
{
	struct icmp_error *icmp = l4;
	struct iphdr *quote = (void *)(icmp + 1);

	if ((void *)(quote + 1) > end || !icmp_is_error(icmp->type))
		return;
	if (quote->version != 4 || quote->ihl < 5 || quote->frag_off & bpf_htons(IPV4_OFFSET_MASK) ||
	    quote->saddr != flow->tuple.ipv4.daddr)
		return;
	flow->quoted = true;
	tuple_ipv4(flow, quote);
	transport_parse((void *)quote + quote->ihl * 4, end, quote->protocol, flow);
}

static __always_inline void icmpv6_quote_parse(void *l4, void *end, struct flow *flow)
{
	struct icmp_error *icmp = l4;
	struct ipv6hdr *quote = (void *)(icmp + 1);

	if ((void *)(quote + 1) > end || icmp->type >= ICMPV6_INFORMATIONAL || quote->version != 6 ||
	    !ipv6_equal((const __be32 *)&quote->saddr, flow->tuple.ipv6.daddr))
		return;
	flow->quoted = true;
	tuple_ipv6(flow, quote);
	transport_parse(quote + 1, end, quote->nexthdr, flow);
}

/* Reads an inner IPv4 packet of at most room bytes; false if it isn't one. A later fragment has no connection. */
static __always_inline bool inner_ipv4_parse(void *data, void *end, __u32 room, struct flow *flow)
{
	struct iphdr *ip = data;
	__u32 len;

	if ((void *)(ip + 1) > end || ip->version != 4 || ip->ihl < 5)
		return false;
	len = bpf_ntohs(ip->tot_len);
	if (len < (__u32)ip->ihl * 4 || len > room)
		return false;
	flow->family = FAMILY_INET;
	flow->ip = ip;
	tuple_ipv4(flow, ip);
	if (ip->frag_off & bpf_htons(IPV4_OFFSET_MASK))
		return true;
	if (ip->protocol == IPPROTO_ICMP)
		icmp_quote_parse(data + ip->ihl * 4, end, flow);
	else
		transport_parse(data + ip->ihl * 4, end, ip->protocol, flow);
	return true;
}

/* The same for IPv6; with extension headers other than a first fragment's a packet has no connection here. */
static __always_inline bool inner_ipv6_parse(void *data, void *end, __u32 room, struct flow *flow)
{
	struct ipv6hdr *ip = data;
	struct ipv6_fragment *fragment = (void *)(ip + 1);

	if ((void *)(ip + 1) > end || ip->version != 6 || sizeof(*ip) + bpf_ntohs(ip->payload_len) > room)
		return false;
	flow->family = FAMILY_INET6;
	flow->ip = ip;
	tuple_ipv6(flow, ip);
	if (ip->nexthdr == IPPROTO_ICMPV6) {
		icmpv6_quote_parse(ip + 1, end, flow);
	} else if (ip->nexthdr == IPPROTO_FRAGMENT) {
		if ((void *)(fragment + 1) <= end && !(fragment->offset & bpf_htons(IPV6_OFFSET_MASK)))
			transport_parse(fragment + 1, end, fragment->next, flow);
	} else {
		transport_parse(ip + 1, end, ip->nexthdr, flow);
	}
	return true;
}

/* Reads the packet behind a steer header that is well formed; fills all of *flow, false if there is no IP packet. */
static __always_inline bool inner_parse(struct xdp_md *ctx, const struct outer *outer, const struct fl_steer *steer,
					struct flow *flow)
{
	void *data = (void *)(outer->udp + 1) + steer->header_len;
	__u32 udp_len = bpf_ntohs(outer->udp->len);
	__u32 before = sizeof(*outer->udp) + steer->header_len;

	__builtin_memset(flow, 0, sizeof(*flow));
	if (udp_len < before)
		return false;
	if (steer->inner_protocol == FL_GUE_PROTO_IPV4)
		return inner_ipv4_parse(data, packet_end(ctx), udp_len - before, flow);
	return inner_ipv6_parse(data, packet_end(ctx), udp_len - before, flow);
}

#endif
