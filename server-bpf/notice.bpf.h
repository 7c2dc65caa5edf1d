/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Notices (fairlead/notice.h): learned from, and returned to the mux as acknowledgements with the highest
 * generation that is known then, by XDP_TX. So an acknowledgement needs no route, and goes the way that the notice came.
 * It has the size of the notice, and none is sent to a sender that is no mux, or whose tag is wrong.
 */
#ifndef FAIRLEAD_NOTICE_BPF_H
#define FAIRLEAD_NOTICE_BPF_H

#include "act.bpf.h"

/* Exchanges outer addresses, UDP ports and MACs, and writes the acknowledgement. False: never, it has been parsed. */
static __always_inline bool notice_return(struct xdp_md *ctx, const struct scratch *scratch,
					  const struct fl_notice *answer)
{
	const struct arrival *arrival = &scratch->arrival;
	const struct fl_address *self = arrival_self(scratch), *mux = &arrival->source;
	struct ethhdr *eth = packet_start(ctx);
	const void *end = packet_end(ctx);
	__u8 *ip = (__u8 *)(eth + 1), *udp = arrival_part(ctx, arrival, 0);
	struct macs macs, exchanged;
	__u16 port;

	if ((void *)(ip + FL_IPV4_LEN + sizeof(struct udphdr)) > end || (void *)(udp + sizeof(struct udphdr)) > end ||
	    !fl_notice_answer(arrival_part(ctx, arrival, sizeof(struct udphdr)), end, answer))
		return false;
	port = fl_load_be16(udp);
	fl_store_be16(udp, fl_load_be16(udp + 2));
	fl_store_be16(udp + 2, port);
	fl_store_be16(udp + FL_UDP_AT_CHECKSUM, 0);
	if (!arrival->is_ipv6)
		fl_outer_ipv4(ip, arrival->class, fl_load_be16(udp + FL_UDP_AT_LEN), self->bytes + 12, mux->bytes + 12);
	else if ((void *)(ip + FL_IPV6_LEN) <= end)
		fl_outer_ipv6(ip, arrival->class, fl_load_be16(udp + FL_UDP_AT_LEN), self->bytes, mux->bytes);
	macs = macs_load(eth);
	exchanged =
	    (struct macs){{macs.words[3], macs.words[4], macs.words[5], macs.words[0], macs.words[1], macs.words[2]}};
	macs_store(eth, &exchanged);
	return true;
}

/* Takes a noted notice of a mux. Returns the XDP action. */
__attribute__((noinline)) int notice_take(struct xdp_md *ctx)
{
	struct scratch *scratch = scratch_of_this_cpu();
	const struct fl_key_pair *keys = NULL;
	const struct arrival *arrival;
	struct fl_notice notice = {0};
	enum fl_counter wrong;
	__u32 slot, *seen;

	if (!scratch)
		return XDP_DROP; /* never: slot 0 exists */
	arrival = &scratch->arrival;
	slot = arrival->is_ipv6;
	if (config.tagged)
		keys = bpf_map_lookup_elem(&notice_keys, &slot);
	if (config.tagged && !keys)
		return XDP_DROP; /* never: both slots exist */
	scratch->in.self[0] = config_self(false);
	scratch->in.self[1] = config_self(true);
	VERIFIER_FORGET();
	wrong = fl_learn_notice_read(arrival_part(ctx, arrival, sizeof(struct udphdr)), packet_end(ctx),
				     arrival->len - (__u32)sizeof(struct udphdr), keys, arrival_self(scratch), &notice);
	if (wrong)
		return drop(wrong);
	seen = generation_of(notice.service);
	if (!seen)
		return XDP_DROP; /* never: the array has a slot for each 16-bit id */
	if (!fl_learn(seen, notice.generation, config.tagged))
		count(FL_COUNTER_GENERATION_JUMP);
	fl_learn_notice_answer(seen, keys, arrival_self(scratch), &notice);
	VERIFIER_FORGET();
	if (!notice_return(ctx, scratch, &notice))
		return drop(FL_COUNTER_DROP_MALFORMED_TRUNCATED);
	count(FL_COUNTER_NOTICE);
	return config.redirect ? (int)bpf_redirect(ctx->ingress_ifindex, 0) : XDP_TX;
}

#endif
