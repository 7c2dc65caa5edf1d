/* SPDX-License-Identifier: GPL-2.0-only */
/* What happens to packets that go no further: each exit increments its counter and returns the XDP action. */
#ifndef FAIRLEAD_ACT_BPF_H
#define FAIRLEAD_ACT_BPF_H

#include "wire.bpf.h"

/* The addresses of an Ethernet header, by the words at which every kernel lets a packet be read. */
struct macs {
	__u16 words[6];
};

_Static_assert(sizeof(struct macs) + sizeof(__be16) == sizeof(struct ethhdr),
	       "an Ethernet header begins with both MACs");

/* Both MACs of the header at `at`. */
static __always_inline struct macs macs_load(const void *at)
{
	const __u16 *words = at;

	return (struct macs){{words[0], words[1], words[2], words[3], words[4], words[5]}};
}

static __always_inline void macs_store(void *at, const struct macs *macs)
{
	__u16 *words = at;
	int i;

#pragma unroll
	for (i = 0; i < 6; i++)
		words[i] = macs->words[i];
}

static __always_inline int drop(enum fl_counter why)
{
	count(why);
	return XDP_DROP;
}

/*
 * Whether the kernel would forward the inner packet instead of delivering it. With forwarding on, a server without the
 * VIP would send such packets to its router, and they would return through the mux until their TTL expires.
 */
static __always_inline bool inner_is_foreign(struct xdp_md *ctx, const struct fl_flow *flow, struct bpf_fib_lookup *fib)
{
	long result;

	__builtin_memset(fib, 0, sizeof(*fib));
	fib->ifindex = ctx->ingress_ifindex;
	fib->family = flow->family;
	if (flow->family == FL_FLOW_IPV4) {
		fib->ipv4_src = fl_flow_ipv4(&flow->remote);
		fib->ipv4_dst = fl_flow_ipv4(&flow->local);
	} else {
		__builtin_memcpy(fib->ipv6_src, &flow->remote, sizeof(fib->ipv6_src));
		__builtin_memcpy(fib->ipv6_dst, &flow->local, sizeof(fib->ipv6_dst));
	}
	result = bpf_fib_lookup(ctx, fib, sizeof(*fib), 0);
	return result == BPF_FIB_LKUP_RET_SUCCESS || result == BPF_FIB_LKUP_RET_NO_NEIGH ||
	       result == BPF_FIB_LKUP_RET_FRAG_NEEDED || result == BPF_FIB_LKUP_RET_UNSUPP_LWT;
}

/*
 * Copies a congestion mark of the outer packet to the inner one (RFC 6040, section 4.2). False if the inner packet's
 * sender does not support ECN, so that the packet must be dropped.
 */
static __always_inline bool ecn_carry(struct xdp_md *ctx, __u8 outer_class, __u8 *inner, bool is_ipv4)
{
	__u8 class;

	if ((outer_class & FL_ECN_MASK) != FL_ECN_MASK)
		return true;
	if ((void *)(inner + FL_IPV4_LEN) > packet_end(ctx))
		return false; /* never: inner_parse() has checked it */
	class = is_ipv4 ? inner[1] : inner[1] >> 4;
	if (!(class & FL_ECN_MASK))
		return false;
	if (is_ipv4)
		fl_ecn_mark_ipv4(inner);
	else
		fl_ecn_mark_ipv6(inner);
	return true;
}

/* Decapsulates: the Ethernet header moves in front of the inner packet, delta bytes on. class: of the outer packet. */
static __always_inline int deliver(struct xdp_md *ctx, __u32 delta, __u8 class, bool is_ipv4, void *inner,
				   enum fl_counter counter)
{
	void *end = packet_end(ctx);
	struct ethhdr *eth = packet_start(ctx);
	struct ethhdr *moved = (void *)eth + delta;
	struct macs macs;

	if ((void *)(eth + 1) > end || (void *)(moved + 1) > end)
		return drop(FL_COUNTER_DROP_MALFORMED_INNER);
	if (!ecn_carry(ctx, class, inner, is_ipv4))
		return drop(FL_COUNTER_DROP_CONGESTED);
	macs = macs_load(eth);
	macs_store(moved, &macs);
	moved->h_proto = is_ipv4 ? bpf_htons(ETH_P_IP) : bpf_htons(ETH_P_IPV6);
	if (bpf_xdp_adjust_head(ctx, (int)delta))
		return drop(FL_COUNTER_DROP_NO_ROOM);
	count(counter);
	return XDP_PASS;
}

#endif
