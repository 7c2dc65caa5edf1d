/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Packets that go on to another server: chained by their bucket; or decided by their second bucket, since no owner of the
 * first one knows the connection, or since this one refuses it. Such a packet is passed on to the second one's owner, or
 * decided once more if that is this server. A function of its own keeps their stack and cost from the others.
 */
#ifndef FAIRLEAD_ONWARD_BPF_H
#define FAIRLEAD_ONWARD_BPF_H

#include "act.bpf.h"
#include "learn.bpf.h"
#include "load.bpf.h"
#include "wire.bpf.h"

static __always_inline bool is_own(const struct fl_address *address)
{
	struct fl_address self = config_self(!fl_address_is_ipv4(address));

	return fl_address_equal(&self, address);
}

/* Carries out what was decided by the second bucket, which has taken the first one's place in scratch->in. */
static __always_inline int promoted_act(struct xdp_md *ctx, const struct outer *outer, struct scratch *scratch)
{
	const struct fl_verdict_in *in = &scratch->in;

	if (scratch->out.verdict != FL_VERDICT_DELIVER)
		return drop(fl_counter_of_drop(scratch->out.verdict, in->malformed));
	if (inner_is_foreign(ctx, &scratch->flow, &scratch->fib))
		return drop(FL_COUNTER_DROP_VIP_NOT_LOCAL);
	if (in->packet == FL_PACKET_REFUSED)
		load_count(in->steer.service, LOAD_OWN);
	return deliver(ctx, outer, &in->steer, outer->payload + encap_inner_at(outer, &in->steer),
		       fl_counter_of_delivery(in->packet));
}

/* Delivers a refused SYN for which onward_take() returned ONWARD_NOWHERE. Returns the XDP action. */
__attribute__((noinline)) int refused_take(struct xdp_md *ctx)
{
	struct scratch *scratch = scratch_of_this_cpu();
	struct outer outer;

	if (!scratch || !outer_parse(ctx, &outer) || outer.malformed ||
	    (void *)(outer.payload + sizeof(struct udphdr)) > packet_end(ctx))
		return XDP_DROP; /* never: as in onward_take() */
	if (inner_is_foreign(ctx, &scratch->flow, &scratch->fib))
		return drop(FL_COUNTER_DROP_VIP_NOT_LOCAL);
	load_count(scratch->in.steer.service, LOAD_TAKEN);
	return deliver(ctx, &outer, &scratch->in.steer, outer.payload + encap_inner_at(&outer, &scratch->in.steer),
		       fl_counter_of_delivery(FL_PACKET_REFUSED));
}

/*
 * Takes the packet whose verdict in scratch->out is to chain it, or to pass it on. Returns the XDP action, or
 * ONWARD_NOWHERE for a refused SYN that nothing was done to.
 */
__attribute__((noinline)) int onward_take(struct xdp_md *ctx)
{
	struct scratch *scratch = scratch_of_this_cpu();
	bool is_refused = scratch && scratch->in.packet == FL_PACKET_REFUSED;
	bool is_chained = scratch && scratch->out.verdict == FL_VERDICT_CHAIN;
	__u32 how = is_chained ? ONWARD_CHAIN : ONWARD_PROMOTE;
	struct outer outer;
	int action;

	if (!scratch || !outer_parse(ctx, &outer) || outer.malformed ||
	    (void *)(outer.payload + sizeof(struct udphdr)) > packet_end(ctx))
		return XDP_DROP; /* never: slot 0 exists, and the packet has been parsed */
	if (!is_chained && is_own(&scratch->out.next)) {
		count(FL_COUNTER_PROMOTED);
		if (is_refused)
			load_count(scratch->in.steer.service, LOAD_PASSED);
		fl_verdict_promote(&scratch->in);
		scratch->in.generation_seen = scratch->out.generation_seen;
		decide(scratch);
		if (scratch->out.verdict != FL_VERDICT_CHAIN)
			return promoted_act(ctx, &outer, scratch);
		how |= ONWARD_CHAIN;
	}
	action = send_on(ctx, &outer, &scratch->out.next, how, scratch);
	if (is_refused && action != ONWARD_NOWHERE)
		load_count(scratch->in.steer.service, LOAD_PASSED);
	return action;
}

#endif
