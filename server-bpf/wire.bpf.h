/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads what stands in front of the steer header; of the packet behind it flow.h reads the head.
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
#include <bpf/bpf_endian.h>
#include "flow.h"
#include "memory.bpf.h"

enum wire_numbers {
	IPV4_OFFSET_MASK = 0x1fff,
	IPV4_MORE_FRAGMENTS = 0x2000,
};

/* A packet that is ours. */
struct outer {
	struct udphdr *udp;
	__u32 ip_len; /* of the IP header */
	__u8 class;   /* DSCP and ECN */
	bool is_ipv6;
	bool is_mapped; /* source is IPv6 and holds an IPv4 address, which would pass for a peer's of that family */
	struct fl_address source;
	bool malformed;
	enum fl_counter why; /* if malformed */
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
	outer->is_mapped = false;
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
	outer->is_mapped = is_mapped(&ip->saddr);
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

/* Reads the packet behind a steer header that is well formed; fills all of *flow, false if there is no IP packet. */
static __always_inline bool inner_parse(struct xdp_md *ctx, const struct outer *outer, const struct fl_steer *steer,
					struct fl_flow *flow, struct fl_flow_headers *headers)
{
	void *data = (void *)(outer->udp + 1) + steer->header_len;
	__u32 udp_len = bpf_ntohs(outer->udp->len);
	__u32 before = sizeof(*outer->udp) + steer->header_len;

	return udp_len >= before && fl_flow_read(data, packet_end(ctx), udp_len - before,
						 steer->inner_protocol == FL_GUE_PROTO_IPV4, false, flow, headers);
}

#endif
