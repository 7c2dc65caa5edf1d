/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Packets with a list that go on to the next candidate. One that cannot be sent to is skipped: no route, a route whose MTU
 * is too small, no address (`::`, 0.0.0.0), or one of a family of which this server has none. The way is found before
 * anything is changed.
 *
 * A neighbour that is not resolved is the kernel's to find (act.bpf.h). If it never answers, the packet is lost, as the
 * lookup does not tell; the next one then takes the same way. A refused SYN does so once a second, and is taken else.
 */
#ifndef FAIRLEAD_LIST_ONWARD_BPF_H
#define FAIRLEAD_LIST_ONWARD_BPF_H

#include "act.bpf.h"
#include "list.bpf.h"

enum list_way {
	LIST_WAY_NONE,
	LIST_WAY_HOP,    /* at once, by the hop that was found */
	LIST_WAY_KERNEL, /* through the kernel, which resolves the neighbour */
};

/* What the functions of gue.bpf.h and act.bpf.h read of the outer header. False: never, it has been parsed. */
static __always_inline bool list_outer(struct xdp_md *ctx, const struct list_work *list, struct outer *outer)
{
	__u8 *udp = list_part(ctx, list, -(__u32)sizeof(struct udphdr));

	*outer = (struct outer){
	    .encap = FL_ENCAP_GUE, .payload = udp, .payload_len = list->len + (__u32)sizeof(struct udphdr)};
	return (void *)(udp + sizeof(struct udphdr)) <= packet_end(ctx);
}

/*
 * Finds the way to the candidate in scratch->list.out; puts our address for it into scratch->source, and the hop into
 * *found.
 */
static __always_inline enum list_way list_way_find(struct xdp_md *ctx, const struct outer *outer,
						   struct scratch *scratch, struct hop **found)
{
	const struct fl_address *next = &scratch->list.out.next;
	bool to_ipv6 = !fl_address_is_ipv4(next);
	__u32 len = outer->payload_len + (to_ipv6 ? FL_IPV6_LEN : FL_IPV4_LEN);
	__u32 ingress = ctx->ingress_ifindex, spread = gue_spread(outer);
	struct hop *hop = hop_at(next, spread);

	*found = hop;
	scratch->source = config_self(to_ipv6);
	if (!hop || fl_address_is_none(&scratch->source) || fl_verdict_is_unspecified(next))
		return LIST_WAY_NONE;
	if (hop_counts(hop, next, ingress, spread, len))
		return LIST_WAY_HOP;
	switch (onward_route(ctx, outer, &scratch->source, next, to_ipv6, len, &scratch->fib)) {
	case BPF_FIB_LKUP_RET_SUCCESS:
		hop_remember(hop, next, ingress, spread, &scratch->fib);
		return LIST_WAY_HOP;
	case BPF_FIB_LKUP_RET_NO_NEIGH:
		if (scratch->list.in.packet == FL_PACKET_REFUSED && !neighbour_may_be_asked(next))
			return LIST_WAY_NONE;
		return LIST_WAY_KERNEL;
	default:
		return LIST_WAY_NONE;
	}
}

/* Writes all headers of the packet, whose head has been moved so that they fit. False: never, it has been parsed. */
static __always_inline bool list_write(struct xdp_md *ctx, const struct scratch *scratch, const struct macs *macs,
				       bool to_ipv6)
{
	const struct list_work *list = &scratch->list;
	const struct fl_address *next = &list->out.next;
	struct ethhdr *eth = packet_start(ctx);
	const void *end = packet_end(ctx);
	__u8 *ip = (__u8 *)(eth + 1), *udp;

	if ((void *)(ip + FL_IPV6_LEN + sizeof(struct udphdr)) > end)
		return false;
	udp = ip + (to_ipv6 ? FL_IPV6_LEN : FL_IPV4_LEN);
	if (!fl_list_forward(udp + sizeof(struct udphdr), end, &list->in.list, list_self(list), list->out.left,
			     list->out.late))
		return false;
	fl_store_be16(udp + FL_UDP_AT_CHECKSUM, 0);
	if (to_ipv6)
		fl_outer_ipv6(ip, list->class, fl_load_be16(udp + FL_UDP_AT_LEN), scratch->source.bytes, next->bytes);
	else
		fl_outer_ipv4(ip, list->class, fl_load_be16(udp + FL_UDP_AT_LEN), scratch->source.bytes + 12,
			      next->bytes + 12);
	macs_store(eth, macs);
	eth->h_proto = to_ipv6 ? bpf_htons(ETH_P_IPV6) : bpf_htons(ETH_P_IP);
	return true;
}

/* Sends the packet to the candidate in scratch->list.out, by the way that was found. Returns the XDP action. */
static __always_inline int list_send(struct xdp_md *ctx, struct scratch *scratch, bool by_kernel, const struct hop *hop)
{
	const struct list_work *list = &scratch->list;
	__u32 was_len = list_outer_len(list), egress = hop->egress;
	bool to_ipv6 = !fl_address_is_ipv4(&list->out.next);
	__u32 ip_len = to_ipv6 ? FL_IPV6_LEN : FL_IPV4_LEN;
	struct ethhdr *eth = packet_start(ctx);
	struct macs macs;

	if ((void *)(eth + 1) > packet_end(ctx))
		return drop(FL_COUNTER_DROP_MALFORMED_INNER); /* never: it has been parsed */
	macs = by_kernel ? macs_load(eth) : hop->macs;
	if (by_kernel && list->is_ipv6 == to_ipv6)
		scratch->source = list->source;
	if (was_len != ip_len && bpf_xdp_adjust_head(ctx, (int)was_len - (int)ip_len))
		return drop(FL_COUNTER_DROP_NO_ROOM);
	if (!list_write(ctx, scratch, &macs, to_ipv6))
		return drop(FL_COUNTER_DROP_MALFORMED_INNER);
	list_load_count(&list->in, LOAD_PASSED);
	count(by_kernel ? FL_COUNTER_CHAIN_BY_KERNEL : FL_COUNTER_CHAIN);
	if (by_kernel)
		return XDP_PASS;
	if (egress == ctx->ingress_ifindex && !config.redirect)
		return XDP_TX;
	return (int)bpf_redirect(egress, 0);
}

/* Takes a packet for which list_take() returned LIST_ONWARD. Returns the XDP action, or LIST_END. */
__attribute__((noinline)) int list_onward(struct xdp_md *ctx)
{
	struct scratch *scratch = scratch_of_this_cpu();
	enum list_way way = LIST_WAY_NONE;
	struct hop *hop = NULL;
	struct outer outer;
	int i;

	if (!scratch || !list_outer(ctx, &scratch->list, &outer))
		return XDP_DROP; /* never: slot 0 exists, and the packet has been parsed */
	for (i = 0; i < FL_LIST_MAX; i++) {
		way = list_way_find(ctx, &outer, scratch, &hop);
		if (way != LIST_WAY_NONE && hop)
			break;
		count(FL_COUNTER_SKIPPED);
		fl_decide_skip(&scratch->list.in, &scratch->list.out);
		if (scratch->list.out.verdict != FL_VERDICT_CHAIN)
			return LIST_END;
	}
	if (way == LIST_WAY_NONE || !hop)
		return LIST_END; /* never: each is skipped once */
	VERIFIER_FORGET();
	return list_send(ctx, scratch, way == LIST_WAY_KERNEL, hop);
}

#endif
