// SPDX-License-Identifier: GPL-2.0-only
/*
 * The path of a packet: parse, check the tag, classify, decide, act.
 *
 *	an encapsulation: gue.c by a UDP socket, ipip.c by protocol 4, srv6.c by a netfilter hook
 *	-> peer? well formed? tag? socket, or busy? -> fl_decide()
 *		deliver		decapsulated, back into the kernel's receive path
 *		chain		rewritten, routed to the first candidate of its list that can be sent to
 *		drop		counted by reason
 *	-> a notice: learned from, returned to the mux (notice.c)
 *
 * Beside the highest generation of a service nothing is remembered of packets. The kernel has already checked what the XDP
 * form checks itself: version, lengths, checksums. The packets that it drops are in its own counters (`nstat`), not in ours.
 */
#include "receive.h"
#include "act.h"
#include "sockets.h"
#include "wire.h"

#include <linux/indirect_call_wrapper.h>
#include <linux/timekeeping.h>
#include <net/ip.h>

#include <fairlead/list_tag.h>
#include <onward.h>

int fl_receive_drop(const struct fl_arrival *arrival, enum fl_counter why)
{
	fl_instance_count(arrival->instance, why);
	kfree_skb(arrival->skb);
	return 0;
}

/*
 * The drop's counter, 0 if the tag is right; of an inner packet without a whole IP header none is. On a stack frame of its
 * own, which the rest of the path does without.
 */
static noinline enum fl_counter tag_check(const struct fl_arrival *arrival)
{
	const struct fl_list *list = &arrival->in.list;
	const struct fl_siphash_key *key =
	    fl_setup_service_key(arrival->setup, list->service, list->flags & FL_LIST_KEY);
	const struct sk_buff *skb = arrival->skb;
	struct fl_list_message message;

	if (!(list->flags & FL_LIST_TAG))
		return FL_COUNTER_DROP_UNTRUSTED_TAG_MISSING;
	if (!key)
		return FL_COUNTER_DROP_UNTRUSTED_KEY_MISSING;
	if (!fl_list_tag_message(list, &arrival->setup->self[arrival->came_to], skb->data + arrival->inner_at,
				 fl_wire_end(skb), &message))
		return FL_COUNTER_DROP_MALFORMED_INNER;
	return fl_list_tag_is_right(key, list, &message) ? 0 : FL_COUNTER_DROP_UNTRUSTED_TAG_WRONG;
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

/*
 * The class of a SYN: FL_PACKET_REFUSED if other servers may take it, and this one is busy or has no listener for it. The
 * latter opens nothing here, and another owner may have the listener already. Where the address is translated no listener
 * is looked for: the host may translate it once more. Counts a SYN that is taken if the service's load counts; a refused
 * one is counted by what becomes of it. Only one that the server would rather not take costs a lookup: a client sends a
 * SYN again whose half-open connection is here already.
 */
static enum fl_packet_class ask(struct fl_arrival *arrival)
{
	struct fl_load *load = fl_loads_find(&arrival->instance->loads, arrival->in.list.service);
	int ifindex = arrival->skb->dev->ifindex;
	u64 now = ktime_get_coarse_ns();

	if (load && !fl_load_is_armed(&load->setting, now))
		load = NULL;
	arrival->load = load;
	if (arrival->in.list.left && !arrival->mangled && !fl_sockets_has_any(arrival->net, &arrival->flow, ifindex))
		return FL_PACKET_REFUSED;
	if (!load)
		return FL_PACKET_SYN;
	if (!arrival->in.list.left) {
		fl_load_count_unasked(&load->setting, &load->state);
		return FL_PACKET_SYN;
	}
	if (!fl_load_refuses(&load->setting, &load->state, now)) {
		fl_load_count_taken(&load->state);
		return FL_PACKET_SYN;
	}
	return fl_sockets_state(arrival->net, &arrival->flow, ifindex) == FL_SOCKET_NONE ? FL_PACKET_REFUSED
											 : FL_PACKET_SYN;
}

/* What the host knows of the connection. A socket of a direct connection, or of another VIP's, is not this one's. */
static void classify(struct fl_arrival *arrival)
{
	int ifindex = arrival->skb->dev->ifindex;

	mangle(arrival);
	arrival->in.packet = fl_sockets_classify(arrival->net, &arrival->flow, &arrival->headers, ifindex);
	if (arrival->in.packet == FL_PACKET_SYN)
		arrival->in.packet = ask(arrival);
	if (!arrival->mangled || !arrival->flow.protocol)
		return;
	arrival->conflict =
	    !fl_mangle_owns(&arrival->instance->flows, &arrival->flow, &arrival->mangling.from, ifindex);
	if (arrival->conflict && arrival->in.packet == FL_PACKET_LOCAL_SOCKET)
		arrival->in.packet = FL_PACKET_UNKNOWN;
}

/* Decides about a trusted, well-formed packet of a known class, and learns from it. False: its candidates are to decide. */
static bool decide(struct fl_arrival *arrival)
{
	struct fl_decide_in *in = &arrival->in;
	struct fl_instance *instance = arrival->instance;
	u32 *seen = &instance->generations[in->list.service];
	bool is_decided;

	in->trusted = true;
	memcpy(in->self, arrival->setup->self, sizeof(in->self));
	in->generation_seen = fl_learn_seen(seen);
	in->quiet = fl_decide_asks_quiet(in->packet) && fl_instance_is_quiet(instance);
	is_decided = fl_decide_alone(in, &arrival->out);
	if (!fl_learn_packet(seen, in, arrival->setup->config.tagged))
		fl_instance_count(instance, FL_COUNTER_GENERATION_JUMP);
	return is_decided;
}

/* Whether the candidate is an address, of a family that this server and the encapsulation have. */
static bool is_reachable(const struct fl_arrival *arrival)
{
	const struct fl_address *next = &arrival->out.next;
	enum fl_outer_family family = fl_outer_family(next);

	return !fl_address_is_unspecified(next) && !fl_address_is_none(&arrival->setup->self[family]) &&
	       (family == FL_OUTER_IPV6 || !arrival->encap->is_ipv6_only);
}

/* A packet that goes on; exit: its counter, once it has. */
struct fl_form {
	struct fl_arrival *arrival;
	enum fl_counter exit;
};

/* Sends it to the candidate, as it is or in segments, if it is reachable, with a route whose MTU is not too small. */
static enum fl_way fl_form_way(struct fl_form *form)
{
	struct fl_arrival *arrival = form->arrival;

	if (!is_reachable(arrival))
		return FL_WAY_NONE;
	if (!fl_setup_trusts(arrival->setup, &arrival->out.next, FL_PEER_SERVER))
		return FL_WAY_UNTRUSTED;
	form->exit = fl_chain(arrival);
	return form->exit == (enum fl_counter)FL_CHAIN_NOWHERE ? FL_WAY_NONE : FL_WAY_FOUND;
}

static void fl_form_count(struct fl_form *form, enum fl_counter counter)
{
	fl_instance_count(form->arrival->instance, counter);
}

/* For how many packets it stands, if GRO has merged them. */
static u32 packets_in(const struct sk_buff *skb)
{
	return max_t(u32, skb_shinfo(skb)->gso_segs, 1);
}

/* By the clock's last tick. */
static bool fl_form_is_flooded(struct fl_form *form)
{
	const struct fl_arrival *arrival = form->arrival;
	u32 rate = arrival->setup->config.flood_rate;

	return rate && fl_flood_drops(&this_cpu_ptr(arrival->instance->cpus)->flood, rate, ktime_get_coarse_ns(),
				      packets_in(arrival->skb));
}

static int deliver(struct fl_arrival *arrival)
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
	if (packet == FL_PACKET_REFUSED && arrival->load) /* no other server could be reached */
		fl_load_count_taken(&arrival->load->state);
	fl_instance_count(arrival->instance,
			  fl_deliver(arrival->skb, arrival->inner_at, flow->family == AF_INET,
				     arrival->mangled ? &arrival->mangling : NULL, fl_counter_of_delivery(packet)));
	return 0;
}

static int act(struct fl_arrival *arrival)
{
	switch (arrival->out.verdict) {
	case FL_VERDICT_DELIVER:
		return deliver(arrival);
	case FL_VERDICT_DROP_FLOOD:
		this_cpu_add(arrival->instance->cpus->counters[FL_COUNTER_DROP_FLOOD], packets_in(arrival->skb) - 1);
		return fl_receive_drop(arrival, FL_COUNTER_DROP_FLOOD);
	default:
		return fl_receive_drop(arrival, FL_COUNTER_DROP_STALE);
	}
}

/* Sends the packet on to the first candidate that it can be sent to; if there is none it ends here. */
static int onward(struct fl_arrival *arrival)
{
	struct fl_form form = {.arrival = arrival};

	switch (fl_onward(&form, &arrival->flow, &arrival->in, &arrival->out)) {
	case FL_WAY_UNTRUSTED:
		return fl_receive_drop(arrival, FL_COUNTER_DROP_UNTRUSTED_NEXT);
	case FL_WAY_FOUND:
		break;
	default:
		return act(arrival);
	}
	if (form.exit == FL_COUNTER_CHAIN && arrival->in.packet == FL_PACKET_REFUSED && arrival->load)
		fl_load_count_passed(&arrival->load->state);
	fl_instance_count(arrival->instance, form.exit);
	return 0;
}

enum fl_counter fl_receive_check_outer(struct fl_arrival *arrival, u32 roles)
{
	struct fl_address source = fl_wire_source(arrival->skb);

	if (!fl_setup_trusts(arrival->setup, &source, roles))
		return FL_COUNTER_DROP_UNTRUSTED_SENDER;
	if (!arrival->encap->has_options && fl_wire_has_options(arrival->skb))
		return FL_COUNTER_DROP_MALFORMED_OUTER_HEADER;
	if (fl_wire_was_fragmented(arrival->skb))
		return FL_COUNTER_DROP_MALFORMED_OUTER_FRAGMENT;
	return fl_wire_pull(arrival->skb) ? 0 : FL_COUNTER_DROP_NO_ROOM;
}

int fl_receive(struct fl_arrival *arrival)
{
	enum fl_counter wrong = fl_receive_check_outer(arrival, FL_PEER_ANY);
	struct fl_list *list = &arrival->in.list;

	if (wrong)
		return fl_receive_drop(arrival, wrong);
	/* An indirect call costs up to 30 ns where the kernel guards against speculation. */
	arrival->in.malformed = INDIRECT_CALL_1(arrival->encap->parse, fl_gue_parse, arrival);
	if (arrival->in.malformed != FL_LIST_OK)
		return fl_receive_drop(arrival, fl_counter_of_list_error(arrival->in.malformed));
	wrong = arrival->setup->config.tagged ? tag_check(arrival) : 0;
	if (wrong)
		return fl_receive_drop(arrival, wrong);
	if (!fl_wire_flow(arrival->skb, arrival->inner_at, list->inner_protocol == FL_LIST_GUE_IPV4, &arrival->flow,
			  &arrival->headers))
		return fl_receive_drop(arrival, FL_COUNTER_DROP_MALFORMED_INNER);
	if (!arrival->setup->config.chaining)
		list->left = 0;
	classify(arrival);
	return decide(arrival) ? act(arrival) : onward(arrival);
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
