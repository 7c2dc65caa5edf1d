/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parses what precedes the list, and with flow.h the head of the inner packet.
 *
 *	Ethernet | outer IPv4 or IPv6 | UDP | GUE base, list | inner IPv4 or IPv6 | TCP, UDP, ICMP
 *	Ethernet | outer IPv6 | SRH with the list	| inner IPv4 or IPv6 | TCP, UDP, ICMP
 *
 * The boundary: a packet is ours if it is sent to our address in a received encapsulation (GUE: UDP to our port; an SRH in
 * front of an IP packet). Over IPv4 a first fragment suffices; over IPv6 the encapsulation must directly follow the IP
 * header. All other packets pass to the kernel untouched; ours are dropped under a named reason if malformed. The UDP
 * checksum is not checked (protocol/README.md, 2).
 */
#ifndef FAIRLEAD_WIRE_BPF_H
#define FAIRLEAD_WIRE_BPF_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <bpf/bpf_endian.h>

#include <fairlead/ip.h>
#include "encap.bpf.h"

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

static __always_inline bool is_mapped(const struct in6_addr *address)
{
	const __be32 *words = (const __be32 *)address;

	return !(words[0] | words[1]) && words[2] == bpf_htonl(0xffff);
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

/*
 * Refuses a packet whose frame is too short for it, or whose payload does not fill it. A frame's length is asked for only
 * if its first buffer is shorter.
 */
static __always_inline void lengths_check(struct xdp_md *ctx, struct outer *outer, const void *l4, __u32 packet_len)
{
	__u32 wanted = packet_len + (__u32)sizeof(struct ethhdr), frame_len = ctx->data_end - ctx->data;

	if (wanted > frame_len)
		frame_len = (__u32)bpf_xdp_get_buff_len(ctx);
	outer->payload_len = packet_len - outer->ip_len;
	if (wanted > frame_len || packet_len < outer->ip_len || !encap_has_len(outer->encap, l4, outer->payload_len))
		outer_refuse(outer, FL_COUNTER_DROP_MALFORMED_OUTER_LENGTH);
}

static __always_inline bool outer_ipv4_parse(struct xdp_md *ctx, struct iphdr *ip, void *end, struct outer *outer)
{
	void *l4;

	if ((void *)(ip + 1) > end || ip->version != 4 || ip->ihl < 5 || !is_self_ipv4(ip->daddr) ||
	    ip->frag_off & bpf_htons(FL_IPV4_OFFSET))
		return false;
	l4 = (void *)ip + ip->ihl * 4;
	if (!encap_find(false, ip->protocol, l4, end, &outer->encap))
		return false;
	outer->payload = (void *)(ip + 1);
	outer->ip_len = sizeof(*ip);
	outer->class = ip->tos;
	outer->flow = 0;
	outer->is_ipv6 = false;
	outer->source = fl_address_from_ipv4((const __u8 *)&ip->saddr);
	outer->is_mapped = false;
	if (ip->ihl != 5 || !ipv4_checksum_is_right(ip))
		outer_refuse(outer, FL_COUNTER_DROP_MALFORMED_OUTER_HEADER);
	else if (ip->frag_off & bpf_htons(FL_IPV4_MORE_FRAGMENTS))
		outer_refuse(outer, FL_COUNTER_DROP_MALFORMED_OUTER_FRAGMENT);
	else
		lengths_check(ctx, outer, l4, bpf_ntohs(ip->tot_len));
	return true;
}

static __always_inline bool outer_ipv6_parse(struct xdp_md *ctx, struct ipv6hdr *ip, void *end, struct outer *outer)
{
	if ((void *)(ip + 1) > end || ip->version != 6 || !is_self_ipv6(&ip->daddr) ||
	    !encap_find(true, ip->nexthdr, ip + 1, end, &outer->encap))
		return false;
	outer->payload = (void *)(ip + 1);
	outer->ip_len = sizeof(*ip);
	outer->class = (__u8)(ip->priority << 4 | ip->flow_lbl[0] >> 4);
	outer->flow = *(const __be32 *)ip;
	outer->is_ipv6 = true;
	__builtin_memcpy(&outer->source, &ip->saddr, sizeof(outer->source));
	outer->is_mapped = is_mapped(&ip->saddr);
	lengths_check(ctx, outer, ip + 1, sizeof(*ip) + bpf_ntohs(ip->payload_len));
	return true;
}

/* What follows an Ethernet header, by one load: of a packed struct clang loads bytes. */
static __always_inline __u16 eth_type(const struct ethhdr *eth)
{
	return fl_load_be16((const fl_u8 *)&eth->h_proto);
}

/*
 * Whether the packet is ours; fills in all of *outer if it is. is_ipv6: which IP version it can be of, a constant, so that
 * a function for one of them has none of the other's code.
 */
static __always_inline bool outer_parse_of(struct xdp_md *ctx, bool is_ipv6, struct outer *outer)
{
	struct ethhdr *eth = packet_start(ctx);
	void *end = packet_end(ctx);

	outer->malformed = false;
	if ((void *)(eth + 1) > end)
		return false;
	if (is_ipv6)
		return eth_type(eth) == ETH_P_IPV6 && outer_ipv6_parse(ctx, (void *)(eth + 1), end, outer);
	return eth_type(eth) == ETH_P_IP && outer_ipv4_parse(ctx, (void *)(eth + 1), end, outer);
}

/* What the functions behind the first one need of it. */
static __always_inline void arrival_note(const struct outer *outer, struct arrival *arrival)
{
	arrival->source = outer->source;
	arrival->at = sizeof(struct ethhdr) + outer->ip_len;
	arrival->len = outer->payload_len;
	arrival->flow = outer->flow;
	arrival->encap = outer->encap;
	arrival->class = outer->class;
	arrival->is_ipv6 = outer->is_ipv6;
}

/*
 * Parses the inner packet, inner_at bytes behind the outer IP header. Fills in all of *flow; false if it is no IP packet
 * of that family.
 */
static __always_inline bool inner_parse(struct xdp_md *ctx, const struct outer *outer, __u32 inner_at, bool is_ipv4,
					struct fl_flow *flow, struct fl_flow_headers *headers)
{
	return outer->payload_len >= inner_at &&
	       fl_flow_read(outer->payload + inner_at, packet_end(ctx), outer->payload_len - inner_at, is_ipv4, false,
			    flow, headers);
}

#endif
