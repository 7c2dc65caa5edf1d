// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets with a list (fairlead/list.h), version 2 of the protocol: parsed, checked, classified, decided by fl_decide(),
 * and delivered, or sent on to the first candidate that can be sent to. Beside the highest generation of a service, which
 * both versions have in common, nothing is remembered of them. skb->data is at the UDP header.
 */
#include "act.h"
#include "receive.h"
#include "sockets.h"

#include <linux/udp.h>
#include <net/ip.h>

#include <list_trust.h>

static u8 *gue_base(const struct fl_arrival *arrival)
{
	return arrival->skb->data + sizeof(struct udphdr);
}

static const u8 *linear_end(const struct fl_arrival *arrival)
{
	return arrival->skb->data + skb_headlen(arrival->skb);
}

bool fl_list_is(const struct fl_arrival *arrival)
{
	const u8 *gue = gue_base(arrival);

	return gue + FL_LIST_AT_FLAGS <= linear_end(arrival) && gue[FL_LIST_AT_VERSION] >> 4 == FL_LIST_VERSION;
}

/* Reads the header. Returns 0, or the counter of the packet's drop. */
static enum fl_counter read(struct fl_arrival *arrival)
{
	struct fl_decide_in *in = &arrival->list->in;

	in->malformed =
	    fl_list_parse(gue_base(arrival), linear_end(arrival), arrival->skb->len - (u32)sizeof(struct udphdr), false,
			  arrival->list->came_to == FL_OUTER_IPV6, &in->list);
	if (in->malformed != FL_LIST_OK)
		return fl_counter_of_list_error(in->malformed);
	arrival->inner_at = sizeof(struct udphdr) + in->list.header_len;
	return 0;
}

static enum fl_counter tag_check(struct fl_arrival *arrival)
{
	const struct fl_setup *setup = arrival->setup;
	const struct fl_list *list = &arrival->list->in.list;
	struct fl_siphash_key key = fl_list_key(&setup->tag_key, list->service);

	return fl_list_trust_check(&key, list, &setup->self[arrival->list->came_to],
				   arrival->skb->data + arrival->inner_at, linear_end(arrival), &arrival->list->tagged);
}

/*
 * The class of a SYN: FL_PACKET_REFUSED if other servers may take it, and this one is busy or has no listener for it. The
 * latter opens nothing here, and another owner may have the listener already. Where the address is translated no listener
 * is looked for: the host may translate it once more.
 */
enum fl_packet_class fl_list_ask(struct fl_arrival *arrival)
{
	const struct fl_list *list = &arrival->list->in.list;

	if (list->left && !arrival->mangled &&
	    !fl_sockets_has_any(arrival->net, &arrival->flow, arrival->skb->dev->ifindex)) {
		arrival->load = fl_loads_find(&arrival->instance->loads, list->service);
		return FL_PACKET_REFUSED;
	}
	return fl_receive_ask(arrival, list->service, list->left);
}

/* Decides about a trusted, well-formed packet of a known class, and learns from it. */
static void decide(struct fl_arrival *arrival)
{
	struct fl_decide_in *in = &arrival->list->in;
	struct fl_instance *instance = arrival->instance;

	in->trusted = true;
	in->packet = arrival->in.packet;
	memcpy(in->self, arrival->setup->self, sizeof(in->self));
	in->generation_seen = fl_instance_generation(instance, in->list.service);
	in->quiet = fl_decide_asks_quiet(in->packet) && fl_instance_is_quiet(instance);
	fl_decide(in, &arrival->list->out);
	fl_receive_learn(arrival, in->list.service, in->generation_seen, arrival->list->out.generation_seen);
}

/*
 * Sends the packet on. One that cannot be sent to is skipped: no route, a route whose MTU is too small, no address (`::`,
 * 0.0.0.0), or one of a family of which this server has none. False, and the packet is unchanged, if none is left.
 */
static bool send_on(struct fl_arrival *arrival)
{
	struct fl_decide_out *out = &arrival->list->out;
	enum fl_counter exit;

	while (out->verdict == FL_VERDICT_CHAIN) { /* each time fewer are left */
		arrival->out.next = out->next;
		exit = fl_verdict_is_unspecified(&out->next) ? (enum fl_counter)FL_CHAIN_NOWHERE
							     : arrival->encap->send_on(arrival);
		if (exit != (enum fl_counter)FL_CHAIN_NOWHERE) {
			fl_receive_count_passed(arrival);
			fl_instance_count(arrival->instance, exit);
			return true;
		}
		fl_instance_count(arrival->instance, FL_COUNTER_SKIPPED);
		fl_decide_skip(&arrival->list->in, out);
	}
	return false;
}

/* On a stack frame of its own, which version 1's packets do without. */
noinline int fl_list_receive(struct fl_arrival *arrival)
{
	struct fl_listed list = {.came_to = ip_hdr(arrival->skb)->version == 4 ? FL_OUTER_IPV4 : FL_OUTER_IPV6};
	enum fl_counter wrong;

	arrival->list = &list;
	wrong = read(arrival);
	if (!wrong && arrival->setup->tagged)
		wrong = tag_check(arrival);
	if (wrong)
		return fl_receive_drop(arrival, wrong);
	if (!fl_wire_flow(arrival->skb, arrival->inner_at, list.in.list.inner_protocol == FL_LIST_GUE_IPV4,
			  &arrival->flow, &arrival->headers))
		return fl_receive_drop(arrival, FL_COUNTER_DROP_MALFORMED_INNER);
	if (!arrival->setup->chaining)
		list.in.list.left = 0;
	fl_receive_classify(arrival);
	decide(arrival);
	if (send_on(arrival))
		return 0;
	if (list.out.verdict != FL_VERDICT_DELIVER)
		return fl_receive_drop(arrival, FL_COUNTER_DROP_STALE);
	return fl_receive_deliver(arrival);
}
