// SPDX-License-Identifier: GPL-2.0-only
/*
 * The way of a packet: parse, classify, decide, act.
 *
 *	kernel: IP, UDP to our address and port -> peer? well formed? tag? socket? memory? -> fl_verdict_decide()
 *		deliver		decapsulated, back into the kernel's receive path
 *		chain		rewritten, routed to the bucket's previous owner
 *		drop		counted by reason
 *
 * What the XDP form checks before it takes a packet the kernel has checked before it hands one over: version, lengths,
 * checksums. Packets that it drops are in its own counters (`nstat`), not in ours.
 */
#include "receive.h"
#include "act.h"
#include "sockets.h"

#include <linux/timekeeping.h>
#include <linux/udp.h>

static int drop(struct fl_instance *instance, struct sk_buff *skb, enum fl_counter why)
{
	fl_instance_count(instance, why);
	kfree_skb(skb);
	return 0;
}

static enum fl_counter deliver_counter(enum fl_packet_class packet)
{
	switch (packet) {
	case FL_PACKET_SYN:
		return FL_COUNTER_DELIVER_SYN;
	case FL_PACKET_COOKIE_ACK:
		return FL_COUNTER_DELIVER_COOKIE_ACK;
	case FL_PACKET_LOCAL_SOCKET:
		return FL_COUNTER_DELIVER_LOCAL_SOCKET;
	default:
		return FL_COUNTER_DELIVER_UNKNOWN;
	}
}

/* The counter of what is wrong with a packet's tag, 0 for a right one; leaves its message in *message. */
static enum fl_counter tag_check(const struct sk_buff *skb, const struct fl_setup *setup, const struct fl_steer *steer,
				 struct fl_tag_message *message)
{
	const u8 *gue = skb->data + sizeof(struct udphdr), *end = skb->data + skb_headlen(skb);

	if (!(steer->flags & FL_STEER_TAG))
		return FL_COUNTER_DROP_UNTRUSTED_TAG_MISSING;
	if (!fl_tag_message(gue, steer, gue + steer->header_len, end, message) ||
	    fl_tag_load(steer->tag) != fl_tag(&setup->tag_key, message))
		return FL_COUNTER_DROP_UNTRUSTED_TAG_WRONG;
	return 0;
}

/* Keeps what the verdict taught; forgets a move whose window is over, unless a mux still tells of it. */
static void remember(struct fl_instance *instance, const struct fl_verdict_in *in, const struct fl_verdict_out *out,
		     const struct fl_memory_key *key, bool remembered)
{
	if (out->learned)
		fl_instance_count(instance, fl_memory_store(&instance->memory, key, &out->memory)
						? FL_COUNTER_LEARN_FAILED
						: FL_COUNTER_LEARNED);
	else if (remembered && !(in->steer.flags & FL_STEER_MOVED) &&
		 (u64)in->now >= (u64)in->memory.since + in->window)
		fl_memory_forget(&instance->memory, key, &in->memory);
}

/* Decides about a packet that is trusted and well formed, and keeps what it taught. in has packet and steer. */
static void decide(struct fl_instance *instance, const struct fl_setup *setup, struct fl_verdict_in *in,
		   struct fl_verdict_out *out)
{
	struct fl_memory_key key = {.service = in->steer.service, .bucket = in->steer.bucket};
	bool remembered = fl_memory_read(&instance->memory, &key, &in->memory);

	in->generation_seen = fl_instance_generation(instance, in->steer.service);
	in->chaining = setup->chaining;
	in->now = (u32)ktime_get_real_seconds();
	in->window = setup->window;
	/* The verdict compares with one address: whichever of ours the packet may name as previous owner. */
	in->self = setup->self[fl_outer_family(&in->steer.previous)];
	fl_verdict_decide(in, out);
	fl_instance_generation_raise(instance, in->steer.service, out->generation_seen);
	remember(instance, in, out, &key, remembered);
}

/* Does what the verdict says. */
static int act(struct fl_instance *instance, const struct fl_setup *setup, struct net *net, struct sk_buff *skb,
	       const struct fl_flow *flow, const struct fl_verdict_in *in, const struct fl_verdict_out *out,
	       struct fl_tag_message *tagged)
{
	switch (out->verdict) {
	case FL_VERDICT_DELIVER:
		if (in->packet != FL_PACKET_LOCAL_SOCKET && fl_sockets_is_foreign(net, flow))
			return drop(instance, skb, FL_COUNTER_DROP_VIP_NOT_LOCAL);
		fl_instance_count(instance, fl_deliver(skb, &in->steer, deliver_counter(in->packet)));
		return 0;
	case FL_VERDICT_CHAIN:
		fl_instance_count(instance, fl_chain(net, skb, setup, &out->next, tagged));
		return 0;
	case FL_VERDICT_DROP_STALE:
		return drop(instance, skb, FL_COUNTER_DROP_STALE);
	case FL_VERDICT_DROP_UNTRUSTED:
		return drop(instance, skb, FL_COUNTER_DROP_UNTRUSTED_SENDER);
	default:
		return drop(instance, skb, fl_counter_of_steer_error(in->malformed));
	}
}

int fl_receive(struct sock *sk, struct sk_buff *skb)
{
	struct fl_instance *instance = rcu_dereference_sk_user_data(sk);
	const struct fl_setup *setup;
	struct fl_verdict_in in = {.trusted = true};
	struct fl_verdict_out out;
	struct fl_tag_message tagged;
	struct fl_address source;
	struct fl_flow flow;

	setup = instance ? rcu_dereference(instance->setup) : NULL;
	if (!setup) { /* the server is being ended */
		kfree_skb(skb);
		return 0;
	}
	source = fl_wire_source(skb);
	if (!fl_setup_trusts(setup, &source))
		return drop(instance, skb, FL_COUNTER_DROP_UNTRUSTED_SENDER);
	if (fl_wire_has_options(skb))
		return drop(instance, skb, FL_COUNTER_DROP_MALFORMED_OUTER_HEADER);
	if (fl_wire_was_fragmented(skb))
		return drop(instance, skb, FL_COUNTER_DROP_MALFORMED_OUTER_FRAGMENT);
	if (!fl_wire_pull(skb))
		return drop(instance, skb, FL_COUNTER_DROP_NO_ROOM);
	in.malformed = fl_steer_parse(skb->data + sizeof(struct udphdr), skb->data + skb_headlen(skb), &in.steer);
	if (in.malformed != FL_STEER_OK)
		return drop(instance, skb, fl_counter_of_steer_error(in.malformed));
	if (!fl_wire_flow(skb, &in.steer, &flow))
		return drop(instance, skb, FL_COUNTER_DROP_MALFORMED_INNER);
	if (setup->tagged) {
		enum fl_counter wrong = tag_check(skb, setup, &in.steer, &tagged);

		if (wrong)
			return drop(instance, skb, wrong);
	}
	in.packet = fl_sockets_classify(sock_net(sk), &flow, skb->dev->ifindex);
	decide(instance, setup, &in, &out);
	return act(instance, setup, sock_net(sk), skb, &flow, &in, &out, &tagged);
}
