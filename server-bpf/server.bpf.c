// SPDX-License-Identifier: GPL-2.0-only
/*
 * The server side as an XDP program: parse, classify, decide, act.
 *
 *	not ours ---------------------------------------------------------> XDP_PASS, untouched
 *	a notice: mux? well formed? tag? ----------------------------------> learned from, returned (notice.bpf.h)
 *	ours: peer? well formed? tag? socket, or busy? -> fl_decide() -----> deliver	decapsulated, XDP_PASS
 *	                                                                    chain	rewritten, XDP_TX (onward.bpf.h)
 *	                                                                    drop	counted by reason
 *
 * A call of a function and its return take 9 ns where processors need safe returns, a tenth of a delivery. So most
 * packets, which come in IPv4, meet none of the program's own: packet_take() is compiled into it for IPv4, and once more,
 * from the same source, for IPv6. Nor are a packet's candidates read before it is known that one of them is to get it. The
 * functions for other packets are global, so that the verifier looks at each once.
 */
#include "wire.bpf.h"
#include "tagged.bpf.h"
#include "sockets.bpf.h"
#include "load.bpf.h"
#include "act.bpf.h"
#include "onward.bpf.h"
#include "notice.bpf.h"

char program_license[] SEC("license") = "GPL";

enum {
	IS_NOTICE = -1,
	IS_ONWARD = -2,
	/* ONWARD_END = -3 */
};

/* The drop counter of a packet's tag, 0 if it is right. */
static __always_inline enum fl_counter trust_check_at(struct xdp_md *ctx, struct scratch *scratch,
						      enum fl_encap_number encap, bool is_ipv6, const __u8 *l4,
						      const __u8 *inner)
{
	struct fl_list *list = &scratch->in.list;

	if (!(list->flags & FL_LIST_TAG))
		return FL_COUNTER_DROP_UNTRUSTED_TAG_MISSING;
	if (!encap_read_rest(encap, l4, packet_end(ctx), list))
		return FL_COUNTER_DROP_MALFORMED_TRUNCATED; /* never: it has been parsed */
	scratch->in.self[is_ipv6] = config_self(is_ipv6);
	VERIFIER_FORGET();
	return tag_check(ctx, scratch, &scratch->in.self[is_ipv6], inner);
}

/* The same of a noted packet that came in IPv6. */
__attribute__((noinline)) int ipv6_trust_check(struct xdp_md *ctx)
{
	struct scratch *scratch = scratch_of_this_cpu();
	const struct arrival *arrival;

	if (!scratch)
		return FL_COUNTER_DROP_NO_ROOM; /* never: slot 0 exists */
	arrival = &scratch->arrival;
	return trust_check_at(ctx, scratch, arrival->encap, true, arrival_part(ctx, arrival, 0),
			      arrival_part(ctx, arrival, encap_inner_at(arrival->encap, &scratch->in.list)));
}

/* The same of any packet, 0 also if it needs none. */
static __always_inline enum fl_counter trust_check(struct xdp_md *ctx, const struct outer *outer,
						   struct scratch *scratch, bool is_ipv6, const __u8 *inner)
{
	if (!config.tagged)
		return (enum fl_counter)0;
	if (!is_ipv6)
		return trust_check_at(ctx, scratch, outer->encap, false, outer->payload, inner);
	arrival_note(outer, &scratch->arrival);
	return (enum fl_counter)ipv6_trust_check(ctx);
}

/* Decides about a trusted, well-formed packet of a known class. False: its candidates are to decide. */
static __always_inline bool decide(struct scratch *scratch)
{
	struct fl_decide_in *in = &scratch->in;
	__u32 *seen = generation_of(in->list.service);
	bool is_decided;

	if (!seen)
		return true; /* never: the array has a slot for each 16-bit id */
	in->trusted = true;
	in->malformed = FL_LIST_OK;
	in->generation_seen = *seen;
	in->quiet = fl_decide_asks_quiet(in->packet) && is_quiet();
	is_decided = fl_decide_alone(in, &scratch->out);
	if (!fl_learn_packet(seen, in, config.tagged))
		count(FL_COUNTER_GENERATION_JUMP);
	return is_decided;
}

/*
 * Returns the XDP action; or IS_NOTICE or IS_ONWARD, with the packet noted for notice_take() or onward_take(). is_ipv6: of
 * the outer header, a constant.
 */
static __always_inline int packet_take(struct xdp_md *ctx, bool is_ipv6)
{
	struct scratch *scratch = scratch_of_this_cpu();
	struct fl_flow_headers headers;
	struct fl_decide_in *in;
	struct fl_address self;
	enum fl_counter wrong;
	struct outer outer;
	__u32 roles, inner_at;
	bool is_ipv4;

	if (!scratch)
		return XDP_PASS; /* never: slot 0 exists */
	in = &scratch->in;
	if (!outer_parse_of(ctx, is_ipv6, &outer)) {
		count(FL_COUNTER_PASS_NOT_OURS);
		return XDP_PASS;
	}
	roles = outer.is_mapped ? 0 : sender_roles(scratch, &outer.source);
	if (!roles)
		return drop(FL_COUNTER_DROP_UNTRUSTED_SENDER);
	if (outer.malformed)
		return drop(outer.why);
	self = config_self(is_ipv6);
	in->malformed = encap_read(&outer, &self, packet_end(ctx), &in->list);
	if (in->malformed == FL_LIST_INNER_PROTOCOL && encap_is_notice(&outer, packet_end(ctx))) {
		if (!(roles & FL_PEER_MUX))
			return drop(FL_COUNTER_DROP_UNTRUSTED_SENDER);
		arrival_note(&outer, &scratch->arrival);
		return IS_NOTICE;
	}
	if (in->malformed != FL_LIST_OK)
		return drop(fl_counter_of_list_error(in->malformed));
	inner_at = encap_inner_at(outer.encap, &in->list);
	is_ipv4 = in->list.inner_protocol == FL_LIST_GUE_IPV4;
	if (!inner_parse(ctx, &outer, inner_at, is_ipv4, &scratch->flow, &headers))
		return drop(FL_COUNTER_DROP_MALFORMED_INNER);
	wrong = trust_check(ctx, &outer, scratch, is_ipv6, headers.ip);
	if (wrong)
		return drop(wrong);
	if (!config.chaining)
		in->list.left = 0;
	in->packet = sockets_classify(ctx, &scratch->flow, &headers, &scratch->tuple);
	if (in->packet == FL_PACKET_SYN && (in->list.left || load_is_set(in->list.service)))
		in->packet = (enum fl_packet_class)syn_ask(ctx, scratch);
	if (!decide(scratch)) {
		arrival_note(&outer, &scratch->arrival);
		return IS_ONWARD;
	}
	if (scratch->out.verdict != FL_VERDICT_DELIVER)
		return drop(FL_COUNTER_DROP_STALE);
	if (in->packet != FL_PACKET_LOCAL_SOCKET && inner_is_foreign(ctx, &scratch->flow, &scratch->fib))
		return drop(FL_COUNTER_DROP_VIP_NOT_LOCAL);
	return deliver(ctx, outer.ip_len + inner_at, outer.class, is_ipv4, headers.ip,
		       fl_counter_of_delivery(in->packet));
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

SEC("xdp.frags")
int fairlead_server(struct xdp_md *ctx)
{
	int action = is_ipv6_at(ctx) ? ipv6_take(ctx) : packet_take(ctx, false);

	if (action == IS_NOTICE)
		return notice_take(ctx);
	if (action == IS_ONWARD)
		action = onward_take(ctx);
	return action == ONWARD_END ? onward_end(ctx) : action;
}
