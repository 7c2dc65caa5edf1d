/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Packets with a list (fairlead/list.h), version 2 of the protocol, inside GUE: parsed, checked, classified, decided by
 * fl_decide(), and delivered here; list_onward.bpf.h sends them on. Beside the highest generation of a service, which both
 * versions have in common, nothing is remembered of them.
 *
 * packet_take() returns IS_LIST for what version 1's parser refuses and list_is() takes, so packets of version 1 pay
 * nothing for it. Those of version 2 pay a call, and a second look at the outer header, which has been checked already.
 *
 * Each step leaves what it found in scratch->list, and the next one reads it from there, behind VERIFIER_FORGET(): so the
 * verifier has one state between two steps, not one for each way through those before. Nothing is copied for it.
 */
#ifndef FAIRLEAD_LIST_BPF_H
#define FAIRLEAD_LIST_BPF_H

#include "act.bpf.h"
#include "learn.bpf.h"
#include "list_tag.bpf.h"
#include "load.bpf.h"

enum {
	/* In place of an XDP action. */
	LIST_ONWARD = -10, /* the verdict in scratch->list_out is to send the packet on */
	LIST_END = -11,    /* it is another, of a packet that could not be sent on, or of a refused SYN */
};

/* Has everything that follows read again from memory what it needs. */
#define VERIFIER_FORGET() __asm__ volatile("" : : : "memory")

/* While this server resets nothing. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct fl_server_quiet);
} quiet SEC(".maps");

/* Whether a packet that encap_parse() refused is of version 2, well-formed or not. */
static __always_inline bool list_is(const struct outer *outer, const void *end)
{
	const __u8 *gue = gue_base(outer);

	return outer->encap == FL_ENCAP_GUE && (const void *)(gue + FL_LIST_AT_FLAGS) <= end &&
	       gue[FL_LIST_AT_VERSION] >> 4 == FL_LIST_VERSION;
}

/*
 * What is so many bytes behind the GUE base. The mask is for the verifier, and the empty statement for clang, which would
 * add the offset once more for each access, so that no comparison proves any of them.
 */
static __always_inline __u8 *list_part(struct xdp_md *ctx, const struct list_work *list, __u32 offset)
{
	__u32 at = (list->at + offset) & 0xff;

	__asm__ volatile("" : "+r"(at));
	return (__u8 *)packet_start(ctx) + at;
}

/* Bytes of the outer IP header. */
static __always_inline __u32 list_outer_len(const struct list_work *list)
{
	return list->is_ipv6 ? FL_IPV6_LEN : FL_IPV4_LEN;
}

/* The outer destination, which is ours. */
static __always_inline const struct fl_address *list_self(const struct list_work *list)
{
	return list->is_ipv6 ? &list->in.self[1] : &list->in.self[0];
}

/* By the clock's last tick: up to 10 ms longer. */
static __always_inline bool list_is_quiet(void)
{
	__u32 slot = 0;
	const struct fl_server_quiet *now = bpf_map_lookup_elem(&quiet, &slot);

	return now && bpf_ktime_get_coarse_ns() < *(const volatile __u64 *)&now->until;
}

/*
 * The class of a SYN: FL_PACKET_REFUSED if other servers may take it, and this one is busy or has no listener for it. The
 * latter opens nothing here, and another owner may have the listener already.
 */
static __attribute__((noinline)) int list_ask(struct xdp_md *ctx, struct scratch *scratch)
{
	const struct fl_list *list = &scratch->list.in.list;

	if (list->left && !sockets_has_any(ctx, &scratch->flow, &scratch->tuple))
		return FL_PACKET_REFUSED;
	return load_ask_of(ctx, scratch, list->service, list->left);
}

/* Counts what became of a refused SYN, if its service has a setting. */
static __always_inline void list_load_count(const struct fl_decide_in *in, enum load_end end)
{
	if (in->packet == FL_PACKET_REFUSED && load_is_set(in->list.service))
		load_count(in->list.service, end);
}

/* Decides about a trusted, well-formed packet of a known class. */
static __always_inline bool list_decide(struct scratch *scratch)
{
	struct fl_decide_in *in = &scratch->list.in;
	__u32 *seen = generation_of(in->list.service);

	if (!seen)
		return false; /* never: the array has a slot for each 16-bit id */
	in->trusted = true;
	in->generation_seen = *seen;
	in->quiet = fl_decide_asks_quiet(in->packet) && list_is_quiet();
	fl_decide(in, &scratch->list.out);
	if (scratch->list.out.generation_seen != in->generation_seen)
		generation_learn(seen, in->generation_seen, scratch->list.out.generation_seen, clock_seconds(scratch));
	return true;
}

/* Notes what the outer header says. False: never, it has been parsed. */
static __always_inline bool list_note(struct xdp_md *ctx, struct list_work *list)
{
	struct outer outer;

	if (!outer_parse(ctx, &outer) || outer.malformed)
		return false;
	list->source = outer.source;
	list->at = sizeof(struct ethhdr) + outer.ip_len + sizeof(struct udphdr);
	list->len = outer.payload_len - sizeof(struct udphdr);
	list->class = outer.class;
	list->is_ipv6 = outer.is_ipv6;
	list->in.self[0] = config_self(false);
	list->in.self[1] = config_self(true);
	return true;
}

/* Reads the header. Returns 0, or the counter of the packet's drop. */
static __always_inline enum fl_counter list_read(struct xdp_md *ctx, struct list_work *list)
{
	struct fl_decide_in *in = &list->in;

	in->malformed =
	    fl_list_parse(list_part(ctx, list, 0), packet_end(ctx), list->len, false, list->is_ipv6, &in->list);
	return in->malformed == FL_LIST_OK ? (enum fl_counter)0 : fl_counter_of_list_error(in->malformed);
}

/* Finds out what this host knows of the connection. False if there is no complete inner packet. */
static __always_inline bool list_classify(struct xdp_md *ctx, struct scratch *scratch)
{
	struct fl_decide_in *in = &scratch->list.in;
	__u32 header_len = in->list.header_len;
	struct fl_flow_headers headers;

	if (scratch->list.len < header_len ||
	    !fl_flow_read(list_part(ctx, &scratch->list, header_len), packet_end(ctx), scratch->list.len - header_len,
			  in->list.inner_protocol == FL_LIST_GUE_IPV4, false, &scratch->flow, &headers))
		return false;
	in->packet = sockets_classify(ctx, &scratch->flow, &headers, &scratch->tuple);
	return true;
}

/* Delivers the packet. Returns the XDP action. */
static __always_inline int list_deliver(struct xdp_md *ctx, struct scratch *scratch)
{
	const struct list_work *list = &scratch->list;
	struct outer outer = {.ip_len = list_outer_len(list), .class = list->class};
	const struct fl_list *header = &list->in.list;

	if (list->in.packet != FL_PACKET_LOCAL_SOCKET && inner_is_foreign(ctx, &scratch->flow, &scratch->fib))
		return drop(FL_COUNTER_DROP_VIP_NOT_LOCAL);
	return deliver_at(ctx, &outer, sizeof(struct udphdr) + header->header_len,
			  header->inner_protocol == FL_LIST_GUE_IPV4, list_part(ctx, list, header->header_len),
			  fl_counter_of_delivery(list->in.packet));
}

/* Takes a packet of a peer that list_is() took. Returns the XDP action, LIST_ONWARD or LIST_END. */
__attribute__((noinline)) int list_take(struct xdp_md *ctx)
{
	struct scratch *scratch = scratch_of_this_cpu();
	struct fl_decide_in *in;
	enum fl_counter wrong;

	if (!scratch || !list_note(ctx, &scratch->list))
		return XDP_DROP; /* never: slot 0 exists, and the packet has been parsed */
	in = &scratch->list.in;
	VERIFIER_FORGET();
	wrong = list_read(ctx, &scratch->list);
	if (wrong)
		return drop(wrong);
	VERIFIER_FORGET();
	if (config.tagged) {
		wrong = list_tag_check(list_part(ctx, &scratch->list, in->list.header_len), packet_end(ctx), &in->list,
				       list_self(&scratch->list), &scratch->list.tagged);
		if (wrong)
			return drop(wrong);
	}
	VERIFIER_FORGET();
	if (!list_classify(ctx, scratch))
		return drop(FL_COUNTER_DROP_MALFORMED_INNER);
	VERIFIER_FORGET();
	if (!config.chaining)
		in->list.left = 0;
	if (in->packet == FL_PACKET_SYN && (in->list.left || load_is_set(in->list.service)))
		in->packet = (enum fl_packet_class)list_ask(ctx, scratch);
	VERIFIER_FORGET();
	if (!list_decide(scratch))
		return drop(FL_COUNTER_DROP_STALE);
	VERIFIER_FORGET();
	if (scratch->list.out.verdict == FL_VERDICT_CHAIN)
		return LIST_ONWARD;
	if (scratch->list.out.verdict != FL_VERDICT_DELIVER || in->packet == FL_PACKET_REFUSED)
		return LIST_END;
	return list_deliver(ctx, scratch);
}

/* Ends a packet for which list_take() or list_onward() returned LIST_END. Returns the XDP action. */
__attribute__((noinline)) int list_end(struct xdp_md *ctx)
{
	struct scratch *scratch = scratch_of_this_cpu();

	if (!scratch || scratch->list.out.verdict != FL_VERDICT_DELIVER)
		return drop(FL_COUNTER_DROP_STALE);
	list_load_count(&scratch->list.in, LOAD_TAKEN);
	return list_deliver(ctx, scratch);
}

#endif
