// SPDX-License-Identifier: GPL-2.0-only
/*
 * The path of a packet: parse, classify, decide, act.
 *
 *	an encapsulation: gue.c by a UDP socket, ipip.c by protocol 4, srv6.c by a netfilter hook
 *	-> peer? well formed? tag? socket, or busy? memory? -> fl_verdict_decide()
 *		deliver		decapsulated, back into the kernel's receive path
 *		chain		rewritten, routed to the bucket's previous owner
 *		pass		the same to the second bucket's owner; decided once more if that is this server
 *		drop		counted by reason
 *	-> a notice: learned from (notice.c), dropped
 *	-> of version 2: the same, by a list in place of memory (list.c)
 *
 * The kernel has already checked what the XDP form checks itself: version, lengths, checksums. The packets that it
 * drops are in its own counters (`nstat`), not in ours.
 */
#include "receive.h"
#include "act.h"
#include "sockets.h"

#include <linux/indirect_call_wrapper.h>
#include <linux/timekeeping.h>

#include <fairlead/generation.h>

int fl_receive_drop(const struct fl_arrival *arrival, enum fl_counter why)
{
	fl_instance_count(arrival->instance, why);
	kfree_skb(arrival->skb);
	return 0;
}

/* The drop counter of a missing or wrong tag, 0 if the tag is right; leaves the tag's message in the arrival. */
static enum fl_counter tag_check(struct fl_arrival *arrival)
{
	const struct fl_steer *steer = &arrival->in.steer;

	if (!(steer->flags & FL_STEER_TAG))
		return FL_COUNTER_DROP_UNTRUSTED_TAG_MISSING;
	if (!arrival->encap->tag_message(arrival) ||
	    fl_tag_load(steer->tag) != fl_tag(&arrival->setup->tag_key, &arrival->tagged))
		return FL_COUNTER_DROP_UNTRUSTED_TAG_WRONG;
	return 0;
}

/* Replaces the flow's local end by our own address if the packet will be mangled. */
static void mangle(struct fl_arrival *arrival)
{
	struct fl_flow *flow = &arrival->flow;

	arrival->mangled = fl_mangle_applies(arrival->net, arrival->setup, flow, &arrival->mangling);
	if (!arrival->mangled)
		return;
	flow->local = arrival->mangling.to;
	if (flow->family == AF_INET) {
		arrival->header.ipv4 = *(const struct iphdr *)arrival->headers.ip;
		arrival->header.ipv4.daddr = fl_flow_ipv4(&flow->local);
	} else {
		arrival->header.ipv6 = *(const struct ipv6hdr *)arrival->headers.ip;
		arrival->header.ipv6.daddr = flow->local;
	}
	arrival->headers.ip = &arrival->header;
}

/* Whether another server would take the SYN as well, and can be reached: then it is offered, and may be refused. */
static bool is_offered(const struct fl_arrival *arrival)
{
	const struct fl_steer *steer = &arrival->in.steer;
	enum fl_outer_family family = fl_outer_family(&steer->second.owner);

	return arrival->setup->chaining && steer->flags & FL_STEER_SECOND &&
	       !fl_verdict_is_unspecified(&steer->second.owner) && !fl_address_is_none(&arrival->setup->self[family]) &&
	       (family == FL_OUTER_IPV6 || !arrival->encap->is_ipv6_only);
}

enum fl_packet_class fl_receive_ask(struct fl_arrival *arrival, u16 service, bool is_offered)
{
	struct fl_load *load = fl_loads_find(&arrival->instance->loads, service);
	u64 now = ktime_get_coarse_ns();

	arrival->load = load;
	if (!load || !fl_load_is_armed(&load->setting, now))
		return FL_PACKET_SYN;
	if (!is_offered) {
		fl_load_count_unasked(&load->setting, &load->state);
		return FL_PACKET_SYN;
	}
	if (!fl_load_refuses(&load->setting, &load->state, now)) {
		fl_load_count_taken(&load->state);
		return FL_PACKET_SYN;
	}
	if (fl_sockets_state(arrival->net, &arrival->flow, arrival->skb->dev->ifindex) != FL_SOCKET_NONE)
		return FL_PACKET_SYN;
	return FL_PACKET_REFUSED;
}

static enum fl_packet_class ask(struct fl_arrival *arrival)
{
	return fl_receive_ask(arrival, arrival->in.steer.service, is_offered(arrival));
}

/* Counts a SYN that this server refused and then took: it owns the second bucket, too, or could not send it on. */
static void count_refused_taken(const struct fl_arrival *arrival)
{
	struct fl_load *load = arrival->load;

	if (load && arrival->promoted)
		fl_load_count_unasked(&load->setting, &load->state);
	else if (load)
		fl_load_count_taken(&load->state);
}

void fl_receive_count_passed(const struct fl_arrival *arrival)
{
	if (arrival->load && arrival->in.packet == FL_PACKET_REFUSED)
		fl_load_count_passed(&arrival->load->state);
}

/* A socket of a direct connection, or of another VIP's, is not this one's. */
void fl_receive_classify(struct fl_arrival *arrival)
{
	int ifindex = arrival->skb->dev->ifindex;

	mangle(arrival);
	arrival->in.packet = fl_sockets_classify(arrival->net, &arrival->flow, &arrival->headers, ifindex);
	if (arrival->in.packet == FL_PACKET_SYN)
		arrival->in.packet = arrival->list ? fl_list_ask(arrival) : ask(arrival);
	if (!arrival->mangled || !arrival->flow.protocol)
		return;
	arrival->conflict =
	    !fl_mangle_owns(&arrival->instance->flows, &arrival->flow, &arrival->mangling.from, ifindex);
	if (arrival->conflict && arrival->in.packet == FL_PACKET_LOCAL_SOCKET)
		arrival->in.packet = FL_PACKET_UNKNOWN;
}

/* Stores a learned move; forgets one that the packet ends. */
static void remember(struct fl_arrival *arrival, const struct fl_memory_key *key, bool remembered)
{
	struct fl_instance *instance = arrival->instance;
	const struct fl_verdict_in *in = &arrival->in;

	if (arrival->out.learned)
		fl_instance_count(instance, fl_memory_store(&instance->memory, key, &arrival->out.memory)
						? FL_COUNTER_LEARN_FAILED
						: FL_COUNTER_LEARNED);
	else if (remembered && fl_verdict_forgets(in))
		fl_memory_forget(&instance->memory, key, &in->memory);
}

void fl_receive_removal(struct fl_arrival *arrival)
{
	struct fl_instance *instance = arrival->instance;
	const struct fl_verdict_in *in = &arrival->in;
	const struct fl_steer *steer = &in->steer;
	struct fl_memory_key key = fl_memory_key_of_removed(steer->service, &steer->previous);
	struct fl_bucket_memory value = {
	    .since = fl_verdict_since(in), .generation = steer->generation, .previous = steer->previous};
	struct fl_bucket_memory entry;

	if (fl_memory_read(&instance->memory, &key, &entry) && entry.generation >= steer->generation)
		return;
	fl_instance_count(instance, fl_memory_store(&instance->memory, &key, &value) ? FL_COUNTER_LEARN_FAILED
										     : FL_COUNTER_LEARNED);
}

void fl_receive_learn(struct fl_arrival *arrival, u16 service, u32 before, u32 generation)
{
	if (generation == before)
		return;
	if (!arrival->setup->tagged && fl_generation_is_jump(before, generation, (u32)ktime_get_real_seconds()))
		fl_instance_count(arrival->instance, FL_COUNTER_GENERATION_JUMP);
	else
		fl_instance_generation_raise(arrival->instance, service, generation);
}

/* Decides by in.generation_seen, and stores what the packet taught of its bucket. */
static void decide(struct fl_arrival *arrival)
{
	struct fl_instance *instance = arrival->instance;
	const struct fl_setup *setup = arrival->setup;
	struct fl_verdict_in *in = &arrival->in;
	struct fl_memory_key key = {.service = in->steer.service, .bucket = in->steer.bucket};
	bool remembered = arrival->encap->has_bucket && fl_memory_read(&instance->memory, &key, &in->memory);

	if (!remembered)
		in->memory = (struct fl_bucket_memory){};
	in->removed = 0;
	if (remembered && (in->packet == FL_PACKET_UNKNOWN || in->packet == FL_PACKET_NO_RESET))
		in->removed = fl_memory_find_removed(&instance->memory, in->steer.service, &in->memory.previous);
	in->chaining = setup->chaining;
	in->now = (u32)ktime_get_real_seconds();
	in->window = setup->window;
	/* The verdict compares one address: ours of the family of the previous owner. */
	in->self = setup->self[fl_outer_family(&in->steer.previous)];
	fl_verdict_decide(in, &arrival->out);
	fl_instance_clock_observe(instance, fl_clock_ahead(&in->steer, in->now));
	if (arrival->encap->has_bucket) /* else a move counts for its packet alone */
		remember(arrival, &key, remembered);
}

void fl_receive_decide(struct fl_arrival *arrival)
{
	struct fl_verdict_in *in = &arrival->in;

	in->generation_seen = fl_instance_generation(arrival->instance, in->steer.service);
	decide(arrival);
	fl_receive_learn(arrival, in->steer.service, in->generation_seen, arrival->out.generation_seen);
}

/* Whether the packet would be passed on to this very server. */
static bool is_passed_to_self(const struct fl_arrival *arrival)
{
	const struct fl_address *next = &arrival->out.next;

	return arrival->out.verdict == FL_VERDICT_PASS &&
	       fl_address_equal(next, &arrival->setup->self[fl_outer_family(next)]);
}

/* Decides once more, by the packet's second bucket. */
static void promote(struct fl_arrival *arrival)
{
	fl_instance_count(arrival->instance, FL_COUNTER_PROMOTED);
	fl_receive_count_passed(arrival);
	fl_verdict_promote(&arrival->in);
	arrival->promoted = true;
	arrival->in.generation_seen = arrival->out.generation_seen;
	decide(arrival);
}

int fl_receive_deliver(struct fl_arrival *arrival)
{
	const struct fl_flow *flow = &arrival->flow;
	enum fl_packet_class packet = arrival->in.packet;
	struct fl_flow_key key;

	if (packet != FL_PACKET_LOCAL_SOCKET && fl_sockets_is_foreign(arrival->net, flow))
		return fl_receive_drop(arrival, FL_COUNTER_DROP_VIP_NOT_LOCAL);
	if (arrival->conflict)
		return fl_receive_drop(arrival, FL_COUNTER_DROP_MANGLE_CONFLICT);
	if (arrival->mangled && flow->protocol && !flow->quoted) {
		fl_flow_key_set(&key, flow);
		if (fl_flows_note(&arrival->instance->flows, &key, &arrival->mangling.from, arrival->skb->dev->ifindex,
				  packet == FL_PACKET_LOCAL_SOCKET))
			return fl_receive_drop(arrival, FL_COUNTER_DROP_NO_ROOM);
	}
	if (packet == FL_PACKET_REFUSED)
		count_refused_taken(arrival);
	fl_instance_count(arrival->instance,
			  fl_deliver(arrival->skb, arrival->inner_at, flow->family == AF_INET,
				     arrival->mangled ? &arrival->mangling : NULL, fl_counter_of_delivery(packet)));
	return 0;
}

static int send_on(struct fl_arrival *arrival)
{
	enum fl_counter exit = arrival->encap->send_on(arrival);

	if (exit == (enum fl_counter)FL_CHAIN_NOWHERE)
		return fl_receive_deliver(arrival);
	if (arrival->out.verdict == FL_VERDICT_PASS)
		fl_receive_count_passed(arrival);
	fl_instance_count(arrival->instance, exit);
	return 0;
}

/* Carries out the verdict. */
static int act(struct fl_arrival *arrival)
{
	const struct fl_verdict_in *in = &arrival->in;

	switch (arrival->out.verdict) {
	case FL_VERDICT_DELIVER:
		return fl_receive_deliver(arrival);
	case FL_VERDICT_CHAIN:
	case FL_VERDICT_PASS:
		return send_on(arrival);
	default:
		return fl_receive_drop(arrival, fl_counter_of_drop(arrival->out.verdict, in->malformed));
	}
}

/* Returns 0 for a complete packet of a peer, whose headers are then linear; otherwise the counter of the drop. */
static enum fl_counter outer_check(const struct fl_arrival *arrival)
{
	struct fl_address source = fl_wire_source(arrival->skb);

	if (!fl_setup_trusts(arrival->setup, &source))
		return FL_COUNTER_DROP_UNTRUSTED_SENDER;
	if (!arrival->encap->has_options && fl_wire_has_options(arrival->skb))
		return FL_COUNTER_DROP_MALFORMED_OUTER_HEADER;
	if (fl_wire_was_fragmented(arrival->skb))
		return FL_COUNTER_DROP_MALFORMED_OUTER_FRAGMENT;
	return fl_wire_pull(arrival->skb) ? 0 : FL_COUNTER_DROP_NO_ROOM;
}

int fl_receive(struct fl_arrival *arrival)
{
	enum fl_counter wrong = outer_check(arrival);
	const struct sk_buff *skb = arrival->skb;

	if (wrong)
		return fl_receive_drop(arrival, wrong);
	/* An indirect call costs up to 30 ns where the kernel guards against speculation. */
	arrival->in.malformed = INDIRECT_CALL_1(arrival->encap->parse, fl_gue_parse, arrival);
	if (arrival->in.malformed != FL_STEER_OK && arrival->encap->has_lists && fl_list_is(arrival))
		return arrival->encap->is_notice(arrival) ? fl_generation_notice_receive(arrival)
							  : fl_list_receive(arrival);
	if (arrival->in.malformed == FL_STEER_INNER_PROTOCOL && arrival->encap->is_notice &&
	    arrival->encap->is_notice(arrival))
		return fl_receive_drop(arrival, fl_notice_learn(arrival));
	if (arrival->in.malformed != FL_STEER_OK)
		return fl_receive_drop(arrival, fl_counter_of_steer_error(arrival->in.malformed));
	if (!fl_wire_flow(skb, arrival->inner_at, arrival->in.steer.inner_protocol == FL_GUE_PROTO_IPV4, &arrival->flow,
			  &arrival->headers))
		return fl_receive_drop(arrival, FL_COUNTER_DROP_MALFORMED_INNER);
	wrong = arrival->setup->tagged ? tag_check(arrival) : 0;
	if (wrong)
		return fl_receive_drop(arrival, wrong);
	fl_receive_classify(arrival);
	fl_receive_decide(arrival);
	if (is_passed_to_self(arrival))
		promote(arrival);
	return act(arrival);
}

static const struct fl_encap *const encaps[FL_ENCAPS_COUNT] = {
#define ROW(NAME, word) [FL_ENCAP_##NAME] = &fl_##word,
    FL_ENCAPS(ROW)
#undef ROW
};

static void encaps_close(int count)
{
	while (count--)
		if (encaps[count]->close)
			encaps[count]->close();
}

int fl_receive_register(void)
{
	int i, err;

	for (i = 0; i < FL_ENCAPS_COUNT; i++) {
		err = encaps[i]->open ? encaps[i]->open() : 0;
		if (err) {
			encaps_close(i);
			return err;
		}
	}
	return 0;
}

void fl_receive_unregister(void)
{
	encaps_close(FL_ENCAPS_COUNT);
}
