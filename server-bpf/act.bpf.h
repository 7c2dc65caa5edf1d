/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What happens after the verdict. Each exit increments its counter and returns the XDP action.
 *
 * Sending on, to chain or to pass on, takes the next hop's MAC from the kernel's tables (bpf_fib_lookup, which requires
 * forwarding on the interface), or remembers it from there (hop.bpf.h). If the neighbour is not resolved yet, the rewritten packet is passed to the kernel. The kernel queues it,
 * resolves the neighbour and sends it; later packets find the MAC. Such a packet keeps its outer source: the kernel
 * would drop one with its own address as a martian, and the receiver trusts the mux as much as this server. If the
 * outer family changes, our own address is the source: IPv6 forwards it, IPv4 only with accept_local, which the
 * command checks (host.h).
 *
 * A SYN that this server refused, and that cannot be sent on, is taken instead: nothing is changed before the lookup's
 * result. The lookup does not say whether a neighbour is only not resolved yet, or does not answer. So one SYN a second
 * goes through the kernel, and the others are taken meanwhile.
 */
#ifndef FAIRLEAD_ACT_BPF_H
#define FAIRLEAD_ACT_BPF_H

#include "hop.bpf.h"
#include "wire.bpf.h"

enum {
	ONWARD_NOWHERE = -3, /* in place of an XDP action: a refused SYN cannot be sent on, and nothing was changed */
	ASKED_MAX = 1024,
	ASK_NS = 1000000000,
};

/* When a refused SYN last had the kernel resolve this address, by the clock of bpf_ktime_get_coarse_ns(). */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, ASKED_MAX);
	__type(key, struct fl_address);
	__type(value, __u64);
} asked SEC(".maps");

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
static __always_inline bool ecn_carry(struct xdp_md *ctx, const struct outer *outer, __u8 *inner, bool is_ipv4)
{
	__u8 class;

	if ((outer->class & FL_ECN_MASK) != FL_ECN_MASK)
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

/* Decapsulates: the Ethernet header moves in front of the inner packet, inner_at bytes behind the outer IP header. */
static __always_inline int deliver_at(struct xdp_md *ctx, const struct outer *outer, __u32 inner_at, bool is_ipv4,
				      void *inner, enum fl_counter counter)
{
	__u32 delta = outer->ip_len + inner_at;
	void *end = packet_end(ctx);
	struct ethhdr *eth = packet_start(ctx);
	struct ethhdr *moved = (void *)eth + delta;
	struct macs macs;

	if ((void *)(eth + 1) > end || (void *)(moved + 1) > end)
		return drop(FL_COUNTER_DROP_MALFORMED_INNER);
	if (!ecn_carry(ctx, outer, inner, is_ipv4))
		return drop(FL_COUNTER_DROP_CONGESTED);
	macs = macs_load(eth);
	macs_store(moved, &macs);
	moved->h_proto = is_ipv4 ? bpf_htons(ETH_P_IP) : bpf_htons(ETH_P_IPV6);
	if (bpf_xdp_adjust_head(ctx, (int)delta))
		return drop(FL_COUNTER_DROP_NO_ROOM);
	count(counter);
	return XDP_PASS;
}

/* The same by the steer header. */
static __always_inline int deliver(struct xdp_md *ctx, const struct outer *outer, const struct fl_steer *steer,
				   void *inner, enum fl_counter counter)
{
	return deliver_at(ctx, outer, encap_inner_at(outer, steer), steer->inner_protocol == FL_GUE_PROTO_IPV4, inner,
			  counter);
}

/* Whether a refused SYN may go to this unresolved neighbour through the kernel: it is lost if nobody answers. */
static __always_inline bool neighbour_may_be_asked(const struct fl_address *next)
{
	__u64 now = bpf_ktime_get_coarse_ns(), *before = bpf_map_lookup_elem(&asked, next);

	if (before && now - *before < ASK_NS)
		return false;
	bpf_map_update_elem(&asked, next, &now, BPF_ANY);
	return true;
}

/* Looks up the route to the next owner; returns bpf_fib_lookup's result. */
static __always_inline long onward_route(struct xdp_md *ctx, const struct outer *outer, const struct fl_address *source,
					 const struct fl_address *next, bool to_ipv6, __u32 len,
					 struct bpf_fib_lookup *fib)
{
	__builtin_memset(fib, 0, sizeof(*fib));
	fib->family = to_ipv6 ? FL_FLOW_IPV6 : FL_FLOW_IPV4;
	encap_route_fill(outer, fib);
	fib->tot_len = len;
	fib->ifindex = ctx->ingress_ifindex;
	if (to_ipv6) {
		__builtin_memcpy(fib->ipv6_src, source, sizeof(fib->ipv6_src));
		__builtin_memcpy(fib->ipv6_dst, next, sizeof(fib->ipv6_dst));
	} else {
		__builtin_memcpy(&fib->ipv4_src, source->bytes + 12, sizeof(fib->ipv4_src));
		__builtin_memcpy(&fib->ipv4_dst, next->bytes + 12, sizeof(fib->ipv4_dst));
	}
	return bpf_fib_lookup(ctx, fib, sizeof(*fib), 0);
}

/* Writes all headers of a packet that is sent on, whose head has been moved so that they fit. */
static __always_inline bool onward_write(struct xdp_md *ctx, const struct macs *macs, enum fl_encap_number encap,
					 __u32 how, __u8 class, bool to_ipv6, const struct fl_address *source,
					 const struct fl_address *next, struct fl_tag_message *tagged)
{
	struct ethhdr *eth = packet_start(ctx);

	if (!encap_send_on(encap, (__u8 *)(eth + 1), packet_end(ctx), how, to_ipv6, class, source, next, tagged))
		return false;
	macs_store(eth, macs);
	eth->h_proto = to_ipv6 ? bpf_htons(ETH_P_IPV6) : bpf_htons(ETH_P_IP);
	return true;
}

/*
 * Sends the packet to another server; how: ONWARD_PROMOTE, ONWARD_CHAIN, or both. scratch->tagged is its tag's message as
 * it came in, if we have the cluster's key. ONWARD_NOWHERE, with nothing changed, if it is a refused SYN and there is no
 * way.
 * A packet that passed inner_parse() is long enough for all headers: in the tightest case, IPv4 in IPv6 chained over
 * IPv4, it has 20 bytes to spare.
 */
static __always_inline int send_on(struct xdp_md *ctx, const struct outer *outer, const struct fl_address *next,
				   __u32 how, struct scratch *scratch)
{
	bool to_ipv6 = !fl_address_is_ipv4(next);
	__u32 ip_len = to_ipv6 ? FL_IPV6_LEN : FL_IPV4_LEN, len = outer->payload_len + ip_len;
	__u32 ingress = ctx->ingress_ifindex, spread, egress;
	struct fl_address *source = &scratch->source;
	bool is_passed = !(how & ONWARD_CHAIN), by_kernel = false;
	bool is_refused = scratch->in.packet == FL_PACKET_REFUSED;
	struct ethhdr *eth = packet_start(ctx);
	__u8 class = outer->class;
	struct hop *hop;
	struct macs macs;

	if (fl_verdict_is_late(&scratch->in))
		how |= ONWARD_LATE;
	*source = config_self(to_ipv6);
	if (fl_address_is_none(source) || !encap_reaches(outer->encap, to_ipv6))
		return drop(FL_COUNTER_DROP_CHAIN_FAMILY);
	if ((void *)(eth + 1) > packet_end(ctx))
		return drop(FL_COUNTER_DROP_MALFORMED_INNER); /* never: outer_parse() has checked it */
	spread = encap_spread(outer);
	hop = hop_at(next, spread);
	if (!hop)
		return drop(FL_COUNTER_DROP_CHAIN_UNROUTABLE); /* never: each slot exists */
	if (!hop_counts(hop, next, ingress, spread, len)) {
		switch (onward_route(ctx, outer, source, next, to_ipv6, len, &scratch->fib)) {
		case BPF_FIB_LKUP_RET_SUCCESS:
			hop_remember(hop, next, ingress, spread, &scratch->fib);
			break;
		case BPF_FIB_LKUP_RET_NO_NEIGH:
			if (is_refused && !neighbour_may_be_asked(next))
				return ONWARD_NOWHERE;
			if (outer->is_ipv6 == to_ipv6)
				*source = outer->source;
			by_kernel = true;
			break;
		case BPF_FIB_LKUP_RET_FRAG_NEEDED:
			return is_refused ? ONWARD_NOWHERE : drop(FL_COUNTER_DROP_CHAIN_TOO_BIG);
		default:
			return is_refused ? ONWARD_NOWHERE : drop(FL_COUNTER_DROP_CHAIN_UNROUTABLE);
		}
	}
	macs = by_kernel ? macs_load(eth) : hop->macs;
	egress = hop->egress;
	if (outer->ip_len != ip_len && bpf_xdp_adjust_head(ctx, (int)outer->ip_len - (int)ip_len))
		return drop(FL_COUNTER_DROP_NO_ROOM);
	if (!onward_write(ctx, &macs, outer->encap, how, class, to_ipv6, source, next, &scratch->tagged))
		return drop(FL_COUNTER_DROP_MALFORMED_INNER);
	if (by_kernel) {
		count(is_passed ? FL_COUNTER_PASS_ON_BY_KERNEL : FL_COUNTER_CHAIN_BY_KERNEL);
		return XDP_PASS;
	}
	count(is_passed ? FL_COUNTER_PASS_ON : FL_COUNTER_CHAIN);
	if (egress == ingress && !config.redirect)
		return XDP_TX;
	return (int)bpf_redirect(egress, 0);
}

#endif
