// SPDX-License-Identifier: GPL-2.0-only
/*
 * The server side as an XDP program: parse, classify, decide, act.
 *
 *	not ours ---------------------------------------------------------> XDP_PASS, untouched
 *	ours: peer? well formed? tag? socket? memory? -> fl_verdict_decide() --> deliver	decapsulated, XDP_PASS
 *	                                                                    chain	rewritten, XDP_TX
 *	                                                                    drop	counted by reason
 */
#include "memory.bpf.h"
#include "wire.bpf.h"
#include "sockets.bpf.h"
#include "act.bpf.h"

char program_license[] SEC("license") = "GPL";

/* Stores a learned move; forgets one whose window is over, unless the packet carries MOVED. */
static __always_inline void remember(const struct fl_verdict_in *in, const struct fl_verdict_out *out,
				     const struct fl_memory_key *key, bool remembered)
{
	if (out->learned)
		memory_store(key, &out->memory);
	else if (remembered && !(in->steer.flags & FL_STEER_MOVED) &&
		 (__u64)in->now >= (__u64)in->memory.since + in->window)
		memory_forget(key);
}

/* The drop counter of a missing or wrong tag, 0 if the tag is right; leaves the tag's message in *message. */
static __always_inline enum fl_counter tag_check(struct xdp_md *ctx, const struct outer *outer,
						 const struct fl_steer *steer, struct fl_tag_message *message)
{
	struct fl_siphash_key key = tag_key_read();

	if (!(steer->flags & FL_STEER_TAG))
		return FL_COUNTER_DROP_UNTRUSTED_TAG_MISSING;
	if (!encap_tag_message(outer, packet_end(ctx), steer, message) ||
	    fl_tag_load(steer->tag) != fl_tag(&key, message))
		return FL_COUNTER_DROP_UNTRUSTED_TAG_WRONG;
	return (enum fl_counter)0;
}

/* Fills in what the verdict needs besides the packet; returns whether the bucket is remembered. */
static __always_inline bool recall(struct fl_verdict_in *in, const struct fl_memory_key *key)
{
	const struct fl_bucket_memory *remembered = bpf_map_lookup_elem(&memory, key);

	if (remembered)
		in->memory = *remembered;
	else
		in->memory = (struct fl_bucket_memory){0};
	in->chaining = config.chaining;
	in->now = clock_seconds();
	in->window = config.window;
	/* The verdict compares one address: ours of the family of the previous owner. */
	in->self = config_self(!fl_address_is_ipv4(&in->steer.previous));
	return remembered != NULL;
}

/* Decides about a trusted, well-formed packet, and stores what it taught. */
static __always_inline void decide(const struct fl_verdict_in *in, struct fl_verdict_out *out, __u32 *seen,
				   const struct fl_memory_key *key, bool remembered)
{
	fl_verdict_decide(in, out);
	if (out->generation_seen != in->generation_seen)
		generation_raise(seen, out->generation_seen);
	remember(in, out, key, remembered);
}

SEC("xdp.frags")
int fairlead_server(struct xdp_md *ctx)
{
	struct scratch *scratch = scratch_of_this_cpu();
	struct outer outer;
	struct fl_flow_headers headers;
	struct fl_flow *flow;
	struct fl_verdict_in *in;
	struct fl_verdict_out *out;
	struct fl_memory_key key;
	bool remembered;
	__u32 *seen;

	if (!scratch)
		return XDP_PASS; /* never: slot 0 exists */
	in = &scratch->in;
	out = &scratch->out;
	flow = &scratch->flow;
	if (!outer_parse(ctx, &outer)) {
		count(FL_COUNTER_PASS_NOT_OURS);
		return XDP_PASS;
	}
	in->trusted = !outer.is_mapped && peer_is_trusted(&outer.source);
	if (!in->trusted)
		return drop(FL_COUNTER_DROP_UNTRUSTED_SENDER);
	if (outer.malformed)
		return drop(outer.why);
	in->malformed = encap_parse(&outer, packet_end(ctx), &in->steer);
	if (in->malformed != FL_STEER_OK)
		return drop(fl_counter_of_steer_error(in->malformed));
	if (!inner_parse(ctx, &outer, &in->steer, flow, &headers))
		return drop(FL_COUNTER_DROP_MALFORMED_INNER);
	if (config.tagged) {
		enum fl_counter wrong = tag_check(ctx, &outer, &in->steer, &scratch->tagged);

		if (wrong)
			return drop(wrong);
	}

	key = (struct fl_memory_key){.service = in->steer.service, .bucket = in->steer.bucket};
	seen = generation_of(in->steer.service);
	if (!seen)
		return drop(FL_COUNTER_DROP_STALE); /* never: the array has a slot for each 16-bit id */
	in->generation_seen = *seen;
	in->packet = sockets_classify(ctx, flow, &headers, &scratch->tuple);
	remembered = recall(in, &key);
	decide(in, out, seen, &key, remembered);

	switch (out->verdict) {
	case FL_VERDICT_DELIVER:
		if (in->packet != FL_PACKET_LOCAL_SOCKET && inner_is_foreign(ctx, flow, &scratch->fib))
			return drop(FL_COUNTER_DROP_VIP_NOT_LOCAL);
		return deliver(ctx, &outer, &in->steer, headers.ip, fl_counter_of_delivery(in->packet));
	case FL_VERDICT_CHAIN:
		return chain(ctx, &outer, &out->next, scratch);
	default:
		return drop(fl_counter_of_drop(out->verdict, in->malformed));
	}
}
