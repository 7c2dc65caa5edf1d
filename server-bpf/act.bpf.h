/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is done about a verdict. Each function here is an exit: it returns the XDP action and has bumped its counter.
 *
 * Chaining takes the next hop's MAC from the kernel's own tables (bpf_fib_lookup, which needs forwarding switched on
 * for the interface). When the neighbour is not resolved yet, the rewritten packet goes to the kernel, which routes it,
 * asks for the neighbour, keeps the packet until the answer is there, and by that gives the next packets their MAC.
 * Such a packet keeps the outer source that it came with: the kernel would refuse to forward its own address as a
 * martian, and the receiver trusts the mux as much as us.
 */
#ifndef FAIRLEAD_ACT_BPF_H
#define FAIRLEAD_ACT_BPF_H

#include "rewrite.h"
#include "wire.bpf.h"

struct macs {
	__u8 destination[ETH_ALEN];
	__u8 source[ETH_ALEN];
};

_Static_assert(sizeof(struct macs) + sizeof(__be16) == sizeof(struct ethhdr),
	       "an Ethernet header begins with both MACs");

static __always_inline int drop(enum fl_counter why)
{
	count(why);
	return XDP_DROP;
}

/*
 * Whether the kernel would forward the inner packet instead of delivering it. With forwarding on, a server whose VIP
 * is missing would send such packets to its router, and they would come back by the mux until their TTL ends.
 */
static __always_inline bool inner_is_foreign(struct xdp_md *ctx, const struct flow *flow)
{
	struct bpf_fib_lookup fib = {0};
	long result;

	fib.ifindex = ctx->ingress_ifindex;
	fib.family = flow->family;
	if (flow->family == FAMILY_INET) {
		fib.ipv4_src = flow->tuple.ipv4.saddr;
		fib.ipv4_dst = flow->tuple.ipv4.daddr;
	} else {
		__builtin_memcpy(fib.ipv6_src, flow->tuple.ipv6.saddr, sizeof(fib.ipv6_src));
		__builtin_memcpy(fib.ipv6_dst, flow->tuple.ipv6.daddr, sizeof(fib.ipv6_dst));
	}
	result = bpf_fib_lookup(ctx, &fib, sizeof(fib), 0);
	return result == BPF_FIB_LKUP_RET_SUCCESS || result == BPF_FIB_LKUP_RET_NO_NEIGH ||
	       result == BPF_FIB_LKUP_RET_FRAG_NEEDED || result == BPF_FIB_LKUP_RET_UNSUPP_LWT;
}

/*
 * Carries congestion that the outer packet met into the inner one (RFC 6040, section 4.2); false if the inner one's
 * sender would not understand, so that it must be dropped.
 */
static __always_inline bool ecn_carry(struct xdp_md *ctx, const struct outer *outer, const struct flow *flow)
{
	__u8 *inner = flow->ip;
	__u8 class;

	if ((outer->ip->tos & FL_ECN_MASK) != FL_ECN_MASK)
		return true;
	if ((void *)(inner + FL_IPV4_LEN) > packet_end(ctx))
		return false; /* never: inner_parse() has seen as much */
	class = flow->family == FAMILY_INET ? inner[1] : inner[1] >> 4;
	if (!(class & FL_ECN_MASK))
		return false;
	if (flow->family == FAMILY_INET)
		fl_ecn_mark_ipv4(inner);
	else
		fl_ecn_mark_ipv6(inner);
	return true;
}

/* Decapsulates: the Ethernet header moves up to the inner packet. */
static __always_inline int deliver(struct xdp_md *ctx, const struct outer *outer, const struct fl_steer *steer,
				   const struct flow *flow, enum fl_counter counter)
{
	__u32 delta = sizeof(*outer->ip) + sizeof(*outer->udp) + steer->header_len;
	void *end = packet_end(ctx);
	struct ethhdr *eth = packet_start(ctx);
	struct ethhdr *moved = (void *)eth + delta;
	struct macs macs;

	if ((void *)(eth + 1) > end || (void *)(moved + 1) > end)
		return drop(FL_COUNTER_DROP_MALFORMED_INNER);
	if (!ecn_carry(ctx, outer, flow))
		return drop(FL_COUNTER_DROP_CONGESTED);
	__builtin_memcpy(&macs, eth, sizeof(macs));
	__builtin_memcpy(moved, &macs, sizeof(macs));
	moved->h_proto = steer->inner_protocol == FL_GUE_PROTO_IPV4 ? bpf_htons(ETH_P_IP) : bpf_htons(ETH_P_IPV6);
	if (bpf_xdp_adjust_head(ctx, (int)delta))
		return drop(FL_COUNTER_DROP_NO_ROOM);
	count(counter);
	return XDP_PASS;
}

/* False, with nothing changed, never: the header has been parsed. */
static __always_inline bool chain_rewrite(struct xdp_md *ctx, const struct outer *outer, const __u8 *source,
					  const __u8 *destination)
{
	if (!fl_steer_chain((__u8 *)(outer->udp + 1), packet_end(ctx)))
		return false;
	fl_chain_ipv4((__u8 *)outer->ip, source, destination);
	fl_chain_udp((__u8 *)outer->udp);
	return true;
}

/* Sends the packet on to another server. */
static __always_inline int chain(struct xdp_md *ctx, const struct outer *outer, const struct fl_address *next)
{
	struct ethhdr *eth = packet_start(ctx);
	struct bpf_fib_lookup fib = {0};
	struct fl_address self = config_self();
	long result;

	if (!fl_address_is_ipv4(next))
		return drop(FL_COUNTER_DROP_CHAIN_FAMILY);
	fib.family = FAMILY_INET;
	fib.l4_protocol = IPPROTO_UDP;
	fib.sport = outer->udp->source;
	fib.dport = outer->udp->dest;
	fib.tot_len = bpf_ntohs(outer->ip->tot_len);
	fib.ifindex = ctx->ingress_ifindex;
	__builtin_memcpy(&fib.ipv4_src, self.bytes + 12, sizeof(fib.ipv4_src));
	__builtin_memcpy(&fib.ipv4_dst, next->bytes + 12, sizeof(fib.ipv4_dst));
	result = bpf_fib_lookup(ctx, &fib, sizeof(fib), 0);
	switch (result) {
	case BPF_FIB_LKUP_RET_SUCCESS:
		break;
	case BPF_FIB_LKUP_RET_NO_NEIGH:
		if (!chain_rewrite(ctx, outer, (const __u8 *)&outer->ip->saddr, next->bytes + 12))
			return drop(FL_COUNTER_DROP_MALFORMED_INNER);
		count(FL_COUNTER_CHAIN_BY_KERNEL);
		return XDP_PASS;
	case BPF_FIB_LKUP_RET_FRAG_NEEDED:
		return drop(FL_COUNTER_DROP_CHAIN_TOO_BIG);
	default:
		return drop(FL_COUNTER_DROP_CHAIN_UNROUTABLE);
	}
	if (!chain_rewrite(ctx, outer, self.bytes + 12, next->bytes + 12))
		return drop(FL_COUNTER_DROP_MALFORMED_INNER);
	__builtin_memcpy(eth->h_dest, fib.dmac, ETH_ALEN);
	__builtin_memcpy(eth->h_source, fib.smac, ETH_ALEN);
	count(FL_COUNTER_CHAIN);
	if (fib.ifindex == ctx->ingress_ifindex && !config.redirect)
		return XDP_TX;
	return (int)bpf_redirect(fib.ifindex, 0);
}

#endif
