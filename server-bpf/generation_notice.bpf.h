/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Notices of version 2 (fairlead/generation_notice.h): learned from, and returned to the mux as acknowledgements with the
 * highest generation that is known then, by XDP_TX. So an acknowledgement needs no route, and goes the way that the
 * notice came. It has the size of the notice, and none is sent to whom is no peer, or whose tag is wrong.
 */
#ifndef FAIRLEAD_GENERATION_NOTICE_BPF_H
#define FAIRLEAD_GENERATION_NOTICE_BPF_H

#include <fairlead/generation_notice.h>
#include "list.bpf.h"

/* Of our IPv4 and our IPv6 address, which the command has made from the cluster's. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct fl_siphash_key);
} notice_keys SEC(".maps");

/* The right tag; 0: never, each slot exists. */
static __always_inline __u64 generation_notice_tag(const struct list_work *list,
						   const struct fl_generation_notice *notice)
{
	__u32 slot = list->is_ipv6;
	const struct fl_siphash_key *key = bpf_map_lookup_elem(&notice_keys, &slot);

	return key ? fl_generation_notice_tag(key, notice, list_self(list)) : 0;
}

/* Reads a notice. Returns 0, or the counter of its drop. */
static __always_inline enum fl_counter generation_notice_read(struct xdp_md *ctx, struct list_work *list,
							      struct fl_generation_notice *notice)
{
	enum fl_list_error error =
	    fl_generation_notice_parse(list_part(ctx, list, 0), packet_end(ctx), list->len, notice);

	if (error != FL_LIST_OK)
		return fl_counter_of_list_error(error);
	if (notice->flags & FL_GENERATION_NOTICE_ACK)
		return FL_COUNTER_DROP_MALFORMED_NOTICE; /* of another server, to a mux */
	if (!config.tagged)
		return (enum fl_counter)0;
	if (!(notice->flags & FL_LIST_TAG))
		return FL_COUNTER_DROP_UNTRUSTED_TAG_MISSING;
	return notice->tag == generation_notice_tag(list, notice) ? (enum fl_counter)0
								  : FL_COUNTER_DROP_UNTRUSTED_TAG_WRONG;
}

/* Learns the generation; returns the highest that is known then. */
static __always_inline __u32 generation_notice_learn(struct scratch *scratch, const struct fl_generation_notice *notice)
{
	__u32 *seen = generation_of(notice->service);

	if (!seen)
		return 0; /* never: the array has a slot for each 16-bit id */
	if (notice->generation > *(volatile __u32 *)seen)
		generation_learn(seen, *seen, notice->generation, clock_seconds(scratch));
	return *(volatile __u32 *)seen;
}

/* Exchanges outer addresses, UDP ports and MACs, and writes the acknowledgement. False: never, it has been parsed. */
static __always_inline bool generation_notice_return(struct xdp_md *ctx, const struct list_work *list,
						     const struct fl_generation_notice *answer)
{
	struct ethhdr *eth = packet_start(ctx);
	const void *end = packet_end(ctx);
	const struct fl_address *self = list_self(list);
	__u8 *ip = (__u8 *)(eth + 1), *udp;
	struct macs macs, exchanged;
	__u16 port;

	udp = list_part(ctx, list, -(__u32)sizeof(struct udphdr));
	if ((void *)(ip + FL_IPV4_LEN + sizeof(struct udphdr)) > end || (void *)(udp + sizeof(struct udphdr)) > end ||
	    !fl_generation_notice_answer(list_part(ctx, list, 0), end, answer))
		return false;
	port = fl_load_be16(udp);
	fl_store_be16(udp, fl_load_be16(udp + 2));
	fl_store_be16(udp + 2, port);
	fl_store_be16(udp + FL_UDP_AT_CHECKSUM, 0);
	if (!list->is_ipv6)
		fl_outer_ipv4(ip, list->class, fl_load_be16(udp + FL_UDP_AT_LEN), self->bytes + 12,
			      list->source.bytes + 12);
	else if ((void *)(ip + FL_IPV6_LEN) <= end)
		fl_outer_ipv6(ip, list->class, fl_load_be16(udp + FL_UDP_AT_LEN), self->bytes, list->source.bytes);
	macs = macs_load(eth);
	exchanged =
	    (struct macs){{macs.words[3], macs.words[4], macs.words[5], macs.words[0], macs.words[1], macs.words[2]}};
	macs_store(eth, &exchanged);
	return true;
}

/* Takes a notice of a peer. Returns the XDP action. */
__attribute__((noinline)) int generation_notice_take(struct xdp_md *ctx)
{
	struct scratch *scratch = scratch_of_this_cpu();
	struct fl_generation_notice notice = {0};
	struct list_work *list;
	enum fl_counter wrong;

	if (!scratch || !list_note(ctx, &scratch->list))
		return XDP_DROP; /* never: slot 0 exists, and the packet has been parsed */
	list = &scratch->list;
	VERIFIER_FORGET();
	wrong = generation_notice_read(ctx, list, &notice);
	if (wrong)
		return drop(wrong);
	VERIFIER_FORGET();
	notice.generation = generation_notice_learn(scratch, &notice);
	notice.flags |= FL_GENERATION_NOTICE_ACK;
	if (config.tagged)
		notice.tag = generation_notice_tag(list, &notice);
	VERIFIER_FORGET();
	if (!generation_notice_return(ctx, list, &notice))
		return drop(FL_COUNTER_DROP_MALFORMED_TRUNCATED);
	count(FL_COUNTER_NOTICE_ACKNOWLEDGED);
	return config.redirect ? (int)bpf_redirect(ctx->ingress_ifindex, 0) : XDP_TX;
}

#endif
