/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Packets that go on to the next candidate of their list. One that cannot be sent to is skipped: no route, a route whose
 * MTU is too small, no address (`::`, 0.0.0.0), or one of a family of which this server has none, or which the
 * encapsulation does not reach. One that is no peer of the role server is no server of ours: the packet is dropped. The way
 * is found before anything is changed.
 *
 * The next hop's MAC comes from the kernel's tables (bpf_fib_lookup, which requires forwarding on the interface), or is
 * remembered from there (hop.bpf.h). A neighbour that is not resolved is the kernel's to find: it gets the rewritten packet,
 * queues it, resolves the neighbour and sends it; later packets find the MAC. Such a packet keeps its outer source: the
 * kernel would drop one with its own address as a martian, and the receiver trusts the mux as much as this server. If the
 * outer family changes, our own address is the source: IPv6 forwards it, IPv4 only with accept_local, which the command
 * checks (form_bpf.c). If the neighbour never answers, the packet is lost, as the lookup does not tell; the next one then
 * takes the same way. A refused SYN does so once a second, and is taken else.
 *
 * Functions of their own keep their stack and cost from other packets.
 */
#ifndef FAIRLEAD_ONWARD_BPF_H
#define FAIRLEAD_ONWARD_BPF_H

#include "hop.bpf.h"
#include "load.bpf.h"
#include "onward.h"

enum {
	ONWARD_END = -3, /* in place of an XDP action: it cannot be sent on, and nothing was changed */
	ASKED_MAX = 1024,
	ASK_NS = 1000000000,
};

/* A packet that goes on, and its way once that is found. */
struct fl_form {
	struct xdp_md *ctx;
	struct scratch *scratch;
	struct hop *hop;
	bool by_kernel; /* which resolves the neighbour; else at once, by the hop */
	__u32 spread;   /* see encap_spread() */
};

/* When a refused SYN last had the kernel resolve this address, by the clock of bpf_ktime_get_coarse_ns(). */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, ASKED_MAX);
	__type(key, struct fl_address);
	__type(value, __u64);
} asked SEC(".maps");

/* Whether a refused SYN may go to this unresolved neighbour through the kernel: it is lost if there is no answer. */
static __always_inline bool neighbour_may_be_asked(const struct fl_address *next)
{
	__u64 now = bpf_ktime_get_coarse_ns(), *before = bpf_map_lookup_elem(&asked, next);

	if (before && now - *before < ASK_NS)
		return false;
	bpf_map_update_elem(&asked, next, &now, BPF_ANY);
	return true;
}

/* Looks up the route from scratch->source; returns bpf_fib_lookup's result. */
static __always_inline long onward_route(struct xdp_md *ctx, struct scratch *scratch, bool to_ipv6, __u32 len)
{
	const struct arrival *arrival = &scratch->arrival;
	const struct fl_address *next = &scratch->out.next;
	struct bpf_fib_lookup *fib = &scratch->fib;

	__builtin_memset(fib, 0, sizeof(*fib));
	fib->family = to_ipv6 ? FL_FLOW_IPV6 : FL_FLOW_IPV4;
	if (!encap_route_fill(arrival->encap, arrival_part(ctx, arrival, 0), packet_end(ctx), arrival->flow, fib))
		return BPF_FIB_LKUP_RET_UNREACHABLE; /* never: it has been parsed */
	fib->tot_len = len;
	fib->ifindex = ctx->ingress_ifindex;
	if (to_ipv6) {
		__builtin_memcpy(fib->ipv6_src, &scratch->source, sizeof(fib->ipv6_src));
		__builtin_memcpy(fib->ipv6_dst, next, sizeof(fib->ipv6_dst));
	} else {
		__builtin_memcpy(&fib->ipv4_src, scratch->source.bytes + 12, sizeof(fib->ipv4_src));
		__builtin_memcpy(&fib->ipv4_dst, next->bytes + 12, sizeof(fib->ipv4_dst));
	}
	return bpf_fib_lookup(ctx, fib, sizeof(*fib), 0);
}

/* Puts our address for the candidate into scratch->source. */
static __always_inline enum fl_way fl_form_way(struct fl_form *form)
{
	struct scratch *scratch = form->scratch;
	const struct fl_address *next = &scratch->out.next;
	bool to_ipv6 = !fl_address_is_ipv4(next);
	__u32 len = scratch->arrival.len + (to_ipv6 ? FL_IPV6_LEN : FL_IPV4_LEN), ingress = form->ctx->ingress_ifindex;
	struct hop *hop = hop_at(next, form->spread);

	form->hop = hop;
	scratch->source = config_self(to_ipv6);
	if (!hop || fl_address_is_none(&scratch->source) || fl_address_is_unspecified(next) ||
	    !encap_reaches(scratch->arrival.encap, to_ipv6))
		return FL_WAY_NONE;
	if (hop_counts(hop, next, ingress, form->spread, len))
		return FL_WAY_FOUND;
	if (!(peer_find(next) & FL_PEER_SERVER))
		return FL_WAY_UNTRUSTED;
	switch (onward_route(form->ctx, scratch, to_ipv6, len)) {
	case BPF_FIB_LKUP_RET_SUCCESS:
		hop_remember(hop, next, ingress, form->spread, &scratch->fib);
		return FL_WAY_FOUND;
	case BPF_FIB_LKUP_RET_NO_NEIGH:
		form->by_kernel = scratch->in.packet != FL_PACKET_REFUSED || neighbour_may_be_asked(next);
		return form->by_kernel ? FL_WAY_FOUND : FL_WAY_NONE;
	default:
		return FL_WAY_NONE;
	}
}

static __always_inline void fl_form_count(struct fl_form *form, enum fl_counter counter)
{
	(void)form;
	count(counter);
}

/* By the clock's last tick. */
static __always_inline bool fl_form_is_flooded(struct fl_form *form)
{
	return config.flood_rate &&
	       fl_flood_drops(&form->scratch->flood, config.flood_rate, bpf_ktime_get_coarse_ns(), 1);
}

/* Writes all headers of the packet, whose head has been moved so that they fit. False: never, it has been parsed. */
static __always_inline bool onward_write(struct xdp_md *ctx, const struct scratch *scratch, const struct macs *macs,
					 bool to_ipv6)
{
	struct ethhdr *eth = packet_start(ctx);

	if (!encap_send_on((__u8 *)(eth + 1), packet_end(ctx), scratch, to_ipv6))
		return false;
	macs_store(eth, macs);
	eth->h_proto = to_ipv6 ? bpf_htons(ETH_P_IPV6) : bpf_htons(ETH_P_IP);
	return true;
}

/* Sends the packet to the candidate in scratch->out, by the way that was found. Returns the XDP action. */
static __always_inline int onward_send(struct xdp_md *ctx, struct scratch *scratch, bool by_kernel,
				       const struct hop *hop)
{
	const struct arrival *arrival = &scratch->arrival;
	__u32 was_len = arrival->is_ipv6 ? FL_IPV6_LEN : FL_IPV4_LEN, egress = hop->egress;
	bool to_ipv6 = !fl_address_is_ipv4(&scratch->out.next);
	__u32 ip_len = to_ipv6 ? FL_IPV6_LEN : FL_IPV4_LEN;
	struct ethhdr *eth = packet_start(ctx);
	struct macs macs;

	if ((void *)(eth + 1) > packet_end(ctx))
		return drop(FL_COUNTER_DROP_MALFORMED_INNER); /* never: it has been parsed */
	macs = by_kernel ? macs_load(eth) : hop->macs;
	if (by_kernel && arrival->is_ipv6 == to_ipv6)
		scratch->source = arrival->source;
	if (was_len != ip_len && bpf_xdp_adjust_head(ctx, (int)was_len - (int)ip_len))
		return drop(FL_COUNTER_DROP_NO_ROOM);
	if (!onward_write(ctx, scratch, &macs, to_ipv6))
		return drop(FL_COUNTER_DROP_MALFORMED_INNER);
	load_count(&scratch->in, true);
	count(by_kernel ? FL_COUNTER_CHAIN_BY_KERNEL : FL_COUNTER_CHAIN);
	if (by_kernel)
		return XDP_PASS;
	if (egress == ctx->ingress_ifindex && !config.redirect)
		return XDP_TX;
	return (int)bpf_redirect(egress, 0);
}

/* Reads the candidates of a noted packet. False: never, it has been parsed. */
static __always_inline bool candidates_read(struct xdp_md *ctx, struct scratch *scratch)
{
	const struct arrival *arrival = &scratch->arrival;

	if (!encap_read_rest(arrival->encap, arrival_part(ctx, arrival, 0), packet_end(ctx), &scratch->in.list))
		return false;
	scratch->in.self[0] = config_self(false);
	scratch->in.self[1] = config_self(true);
	VERIFIER_FORGET();
	return true;
}

/* Takes a noted packet that fl_decide_alone() left to the candidates. Returns the XDP action, or ONWARD_END. */
static __always_inline int onward_take(struct xdp_md *ctx)
{
	struct fl_form form = {.ctx = ctx, .scratch = scratch_of_this_cpu()};
	const struct arrival *arrival;

	if (!form.scratch || !candidates_read(ctx, form.scratch))
		return XDP_DROP; /* never: slot 0 exists, and the packet has been parsed */
	arrival = &form.scratch->arrival;
	form.spread = encap_spread(arrival->encap, arrival_part(ctx, arrival, 0), packet_end(ctx), arrival->flow);
	switch (fl_onward(&form, &form.scratch->flow, &form.scratch->in, &form.scratch->out)) {
	case FL_WAY_UNTRUSTED:
		return drop(FL_COUNTER_DROP_UNTRUSTED_NEXT);
	case FL_WAY_FOUND:
		break;
	default:
		return ONWARD_END;
	}
	if (!form.hop)
		return ONWARD_END; /* never: each slot exists */
	VERIFIER_FORGET();
	return onward_send(ctx, form.scratch, form.by_kernel, form.hop);
}

/* Ends a packet for which onward_take() returned ONWARD_END. Returns the XDP action. */
__attribute__((noinline)) int onward_end(struct xdp_md *ctx)
{
	struct scratch *scratch = scratch_of_this_cpu();
	const struct arrival *arrival;
	const struct fl_list *list;
	__u32 inner_at;

	if (!scratch || scratch->out.verdict != FL_VERDICT_DELIVER)
		return drop(scratch && scratch->out.verdict == FL_VERDICT_DROP_FLOOD ? FL_COUNTER_DROP_FLOOD
										     : FL_COUNTER_DROP_STALE);
	arrival = &scratch->arrival;
	list = &scratch->in.list;
	inner_at = encap_inner_at(arrival->encap, list);
	if (inner_is_foreign(ctx, &scratch->flow, &scratch->fib))
		return drop(FL_COUNTER_DROP_VIP_NOT_LOCAL);
	load_count(&scratch->in, false);
	return deliver(ctx, (arrival->is_ipv6 ? FL_IPV6_LEN : FL_IPV4_LEN) + inner_at, arrival->class,
		       list->inner_protocol == FL_LIST_GUE_IPV4, arrival_part(ctx, arrival, inner_at),
		       fl_counter_of_delivery(scratch->in.packet));
}

#endif
