// SPDX-License-Identifier: GPL-2.0-only
/*
 * The server side as an XDP program: parse, classify, decide, act.
 *
 *	not ours ---------------------------------------------------------> XDP_PASS, untouched
 *	a notice: peer? well formed? tag? ---------------------------------> learned from, dropped (notice.bpf.h)
 *	one of version 2: the same ----------------------------------------> returned (generation_notice.bpf.h)
 *	of version 2: the same, by a list in place of memory --------------> list.bpf.h
 *	ours: peer? well formed? tag? socket, or busy? memory?
 *	      -> fl_verdict_decide() --------------------------------------> deliver	decapsulated, XDP_PASS
 *	                                                                    chain	rewritten, XDP_TX (onward.bpf.h)
 *	                                                                    pass	the same
 *	                                                                    drop	counted by reason
 *
 * A call of a function and its return take 9 ns where processors need safe returns, a tenth of a delivery. So most
 * packets, which come in IPv4, meet none of the program's own: packet_take() is compiled into it for IPv4, and once more,
 * from the same source, for IPv6. The functions for other packets are global, so that the verifier looks at each once.
 */
#include "learn.bpf.h"
#include "wire.bpf.h"
#include "tagged.bpf.h"
#include "sockets.bpf.h"
#include "load.bpf.h"
#include "notice.bpf.h"
#include "act.bpf.h"
#include "onward.bpf.h"
#include "list.bpf.h"
#include "list_onward.bpf.h"
#include "generation_notice.bpf.h"

char program_license[] SEC("license") = "GPL";

enum {
	IS_NOTICE = -1,
	IS_SENT_ON = -2,
	/* ONWARD_NOWHERE = -3 */
	IS_LIST = -4,
	IS_GENERATION_NOTICE = -5,
};

/* Notes where a notice is; outer_parse() has checked that its UDP header fits in. */
static __always_inline int notice_note(const struct outer *outer, struct scratch *scratch)
{
	scratch->notice_at = sizeof(struct ethhdr) + outer->ip_len + sizeof(struct udphdr);
	scratch->notice_len = outer->payload_len - sizeof(struct udphdr);
	return IS_NOTICE;
}

/*
 * Returns the XDP action; or IS_NOTICE, IS_LIST or IS_GENERATION_NOTICE, with nothing done but the sender checked; or
 * IS_SENT_ON, for onward_take(). is_ipv6: of the outer header, a constant.
 */
static __always_inline int packet_take(struct xdp_md *ctx, bool is_ipv6)
{
	struct scratch *scratch = scratch_of_this_cpu();
	struct outer outer;
	struct fl_flow_headers headers;
	struct fl_flow *flow;
	struct fl_verdict_in *in;
	struct fl_verdict_out *out;

	if (!scratch)
		return XDP_PASS; /* never: slot 0 exists */
	in = &scratch->in;
	out = &scratch->out;
	flow = &scratch->flow;
	if (!outer_parse_of(ctx, is_ipv6, &outer)) {
		count(FL_COUNTER_PASS_NOT_OURS);
		return XDP_PASS;
	}
	in->trusted = !outer.is_mapped && peer_is_trusted(scratch, &outer.source);
	if (!in->trusted)
		return drop(FL_COUNTER_DROP_UNTRUSTED_SENDER);
	if (outer.malformed)
		return drop(outer.why);
	in->malformed = encap_parse(&outer, packet_end(ctx), &in->steer);
	if (in->malformed != FL_STEER_OK && list_is(&outer, packet_end(ctx)))
		return encap_is_notice(&outer, packet_end(ctx)) ? IS_GENERATION_NOTICE : IS_LIST;
	if (in->malformed == FL_STEER_INNER_PROTOCOL && encap_is_notice(&outer, packet_end(ctx)))
		return notice_note(&outer, scratch);
	if (in->malformed != FL_STEER_OK)
		return drop(fl_counter_of_steer_error(in->malformed));
	if (!inner_parse(ctx, &outer, &in->steer, flow, &headers))
		return drop(FL_COUNTER_DROP_MALFORMED_INNER);
	if (config.tagged) {
		enum fl_counter wrong = tag_check(ctx, &outer, &in->steer, &scratch->tagged);

		if (wrong)
			return drop(wrong);
	}
	in->packet = sockets_classify(ctx, flow, &headers, &scratch->tuple);
	if (in->packet == FL_PACKET_SYN && load_is_set(in->steer.service))
		in->packet = (enum fl_packet_class)load_ask(ctx, scratch, outer.encap);
	if (!learn(scratch))
		return drop(FL_COUNTER_DROP_STALE);
	switch (out->verdict) {
	case FL_VERDICT_DELIVER:
		if (in->packet != FL_PACKET_LOCAL_SOCKET && inner_is_foreign(ctx, flow, &scratch->fib))
			return drop(FL_COUNTER_DROP_VIP_NOT_LOCAL);
		return deliver(ctx, &outer, &in->steer, headers.ip, fl_counter_of_delivery(in->packet));
	case FL_VERDICT_CHAIN:
	case FL_VERDICT_PASS:
		return IS_SENT_ON;
	default:
		return drop(fl_counter_of_drop(out->verdict, in->malformed));
	}
}

/* packet_take() of what comes in IPv6. */
__attribute__((noinline)) int ipv6_take(struct xdp_md *ctx)
{
	return packet_take(ctx, true);
}

static __always_inline bool is_ipv6_at(struct xdp_md *ctx)
{
	struct ethhdr *eth = packet_start(ctx);

	return (void *)(eth + 1) <= packet_end(ctx) && eth_type(eth) == ETH_P_IPV6;
}

static __always_inline int list_act(struct xdp_md *ctx)
{
	int action = list_take(ctx);

	if (action == LIST_ONWARD)
		action = list_onward(ctx);
	return action == LIST_END ? list_end(ctx) : action;
}

SEC("xdp.frags")
int fairlead_server(struct xdp_md *ctx)
{
	int action = is_ipv6_at(ctx) ? ipv6_take(ctx) : packet_take(ctx, false);

	if (action == IS_LIST)
		return list_act(ctx);
	if (action == IS_GENERATION_NOTICE)
		return generation_notice_take(ctx);
	if (action == IS_SENT_ON)
		action = onward_take(ctx);
	if (action == ONWARD_NOWHERE)
		return refused_take(ctx);
	return action == IS_NOTICE ? drop(notice_take(ctx)) : action;
}
