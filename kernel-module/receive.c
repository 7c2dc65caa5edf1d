// SPDX-License-Identifier: GPL-2.0-only
/*
 * The way of a packet: parse, classify, decide, act.
 *
 *	kernel: IP, UDP to our address and port		or: IP, protocol 4 to our address, where the setup has it
 *	-> peer? well formed? tag? socket? memory? -> fl_verdict_decide()
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
#include <net/ip.h>
#include <net/xfrm.h>

#include <fairlead/ipip.h>

enum {
	/* Before the kernel's own tunnels (1 and up), which get what is not ours. */
	IPIP_PRIORITY = 0,
};

/* A packet on its way through this file. */
struct arrival {
	struct fl_instance *instance;
	const struct fl_setup *setup;
	struct net *net;
	struct sk_buff *skb;
	bool is_ipip;          /* in the paper's format: without bucket, hops and tag */
	unsigned int inner_at; /* from skb->data */
	struct fl_flow flow;
	struct fl_flow_headers headers;
	bool mangled, conflict; /* conflict: its two ends have another connection here */
	struct fl_mangling mangling;
	union { /* the inner header as the host's sockets will see it, if mangled */
		struct iphdr ipv4;
		struct ipv6hdr ipv6;
	} header;
	struct fl_verdict_in in;
	struct fl_verdict_out out;
	struct fl_tag_message tagged; /* if the setup has the cluster's key */
};

static int drop(const struct arrival *arrival, enum fl_counter why)
{
	fl_instance_count(arrival->instance, why);
	kfree_skb(arrival->skb);
	return 0;
}

/* The counter of what is wrong with a packet's tag, 0 for a right one; leaves its message in the arrival. */
static enum fl_counter tag_check(struct arrival *arrival)
{
	const u8 *gue = arrival->skb->data + sizeof(struct udphdr);
	const u8 *end = arrival->skb->data + skb_headlen(arrival->skb);
	const struct fl_steer *steer = &arrival->in.steer;

	if (!(steer->flags & FL_STEER_TAG))
		return FL_COUNTER_DROP_UNTRUSTED_TAG_MISSING;
	if (!fl_tag_message(gue, steer, gue + steer->header_len, end, &arrival->tagged) ||
	    fl_tag_load(steer->tag) != fl_tag(&arrival->setup->tag_key, &arrival->tagged))
		return FL_COUNTER_DROP_UNTRUSTED_TAG_WRONG;
	return 0;
}

/* Makes the flow what it will be on this host. */
static void mangle(struct arrival *arrival)
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

/* What the host knows of the connection. Another one with the same two ends is none of this VIP's. */
static void classify(struct arrival *arrival)
{
	int ifindex = arrival->skb->dev->ifindex;

	arrival->in.packet = fl_sockets_classify(arrival->net, &arrival->flow, &arrival->headers, ifindex);
	if (!arrival->mangled || !arrival->flow.protocol)
		return;
	arrival->conflict =
	    !fl_mangle_owns(&arrival->instance->flows, &arrival->flow, &arrival->mangling.from, ifindex);
	if (arrival->conflict && arrival->in.packet == FL_PACKET_LOCAL_SOCKET)
		arrival->in.packet = FL_PACKET_UNKNOWN;
}

/* Keeps what the verdict taught; forgets a move whose window is over, unless a mux still tells of it. */
static void remember(struct arrival *arrival, const struct fl_memory_key *key, bool remembered)
{
	struct fl_instance *instance = arrival->instance;
	const struct fl_verdict_in *in = &arrival->in;

	if (arrival->out.learned)
		fl_instance_count(instance, fl_memory_store(&instance->memory, key, &arrival->out.memory)
						? FL_COUNTER_LEARN_FAILED
						: FL_COUNTER_LEARNED);
	else if (remembered && !(in->steer.flags & FL_STEER_MOVED) &&
		 (u64)in->now >= (u64)in->memory.since + in->window)
		fl_memory_forget(&instance->memory, key, &in->memory);
}

/* Decides about a packet that is trusted and well formed, and keeps what it taught. */
static void decide(struct arrival *arrival)
{
	struct fl_instance *instance = arrival->instance;
	const struct fl_setup *setup = arrival->setup;
	struct fl_verdict_in *in = &arrival->in;
	struct fl_memory_key key = {.service = in->steer.service, .bucket = in->steer.bucket};
	bool remembered = !arrival->is_ipip && fl_memory_read(&instance->memory, &key, &in->memory);

	in->generation_seen = fl_instance_generation(instance, in->steer.service);
	in->chaining = setup->chaining;
	in->now = (u32)ktime_get_real_seconds();
	in->window = setup->window;
	/* The verdict compares with one address: whichever of ours the packet may name as previous owner. */
	in->self = setup->self[fl_outer_family(&in->steer.previous)];
	fl_verdict_decide(in, &arrival->out);
	fl_instance_generation_raise(instance, in->steer.service, arrival->out.generation_seen);
	if (!arrival->is_ipip) /* a move of a bucket without number counts for its packet alone */
		remember(arrival, &key, remembered);
}

static enum fl_counter chain(struct arrival *arrival)
{
	if (arrival->is_ipip)
		return fl_chain_ipip(arrival->net, arrival->skb, arrival->setup, &arrival->out.next);
	return fl_chain(arrival->net, arrival->skb, arrival->setup, &arrival->out.next, &arrival->tagged);
}

static int deliver(struct arrival *arrival)
{
	const struct fl_flow *flow = &arrival->flow;
	enum fl_packet_class packet = arrival->in.packet;
	struct fl_flow_key key;

	if (packet != FL_PACKET_LOCAL_SOCKET && fl_sockets_is_foreign(arrival->net, flow))
		return drop(arrival, FL_COUNTER_DROP_VIP_NOT_LOCAL);
	if (arrival->conflict)
		return drop(arrival, FL_COUNTER_DROP_MANGLE_CONFLICT);
	if (arrival->mangled && flow->protocol && !flow->quoted) {
		fl_flow_key_set(&key, flow);
		if (fl_flows_note(&arrival->instance->flows, &key, &arrival->mangling.from, arrival->skb->dev->ifindex,
				  packet == FL_PACKET_LOCAL_SOCKET))
			return drop(arrival, FL_COUNTER_DROP_NO_ROOM);
	}
	fl_instance_count(arrival->instance,
			  fl_deliver(arrival->skb, arrival->inner_at, flow->family == AF_INET,
				     arrival->mangled ? &arrival->mangling : NULL, fl_counter_of_delivery(packet)));
	return 0;
}

/* Does what the verdict says. */
static int act(struct arrival *arrival)
{
	const struct fl_verdict_in *in = &arrival->in;

	switch (arrival->out.verdict) {
	case FL_VERDICT_DELIVER:
		return deliver(arrival);
	case FL_VERDICT_CHAIN:
		fl_instance_count(arrival->instance, chain(arrival));
		return 0;
	default:
		return drop(arrival, fl_counter_of_drop(arrival->out.verdict, in->malformed));
	}
}

/* Whether the packet comes from a peer, and whole; then all that is looked at is linear. Else the counter of why not.
 */
static enum fl_counter outer_check(const struct arrival *arrival)
{
	struct fl_address source = fl_wire_source(arrival->skb);

	if (!fl_setup_trusts(arrival->setup, &source))
		return FL_COUNTER_DROP_UNTRUSTED_SENDER;
	if (!arrival->is_ipip && fl_wire_has_options(arrival->skb))
		return FL_COUNTER_DROP_MALFORMED_OUTER_HEADER;
	if (fl_wire_was_fragmented(arrival->skb))
		return FL_COUNTER_DROP_MALFORMED_OUTER_FRAGMENT;
	return fl_wire_pull(arrival->skb) ? 0 : FL_COUNTER_DROP_NO_ROOM;
}

/* Fills in.malformed and in.steer, and where the inner packet begins. */
static void steer_parse(struct arrival *arrival)
{
	const struct sk_buff *skb = arrival->skb;
	const u8 *end = skb->data + skb_headlen(skb), *gue = skb->data + sizeof(struct udphdr);
	struct fl_verdict_in *in = &arrival->in;

	if (arrival->is_ipip) {
		in->malformed = fl_ipip_parse(skb_network_header(skb), end, arrival->setup->ipip_service, &in->steer);
	} else {
		in->malformed = fl_steer_parse(gue, end, &in->steer);
		arrival->inner_at = sizeof(struct udphdr) + in->steer.header_len;
	}
}

/* Takes a packet to our address in either format. */
static int take(struct arrival *arrival)
{
	enum fl_counter wrong = outer_check(arrival);
	const struct sk_buff *skb = arrival->skb;

	if (wrong)
		return drop(arrival, wrong);
	steer_parse(arrival);
	if (arrival->in.malformed != FL_STEER_OK)
		return drop(arrival, fl_counter_of_steer_error(arrival->in.malformed));
	if (!fl_wire_flow(skb, arrival->inner_at, arrival->in.steer.inner_protocol == FL_GUE_PROTO_IPV4, &arrival->flow,
			  &arrival->headers))
		return drop(arrival, FL_COUNTER_DROP_MALFORMED_INNER);
	wrong = arrival->setup->tagged ? tag_check(arrival) : 0;
	if (wrong)
		return drop(arrival, wrong);
	mangle(arrival);
	classify(arrival);
	decide(arrival);
	return act(arrival);
}

int fl_receive(struct sock *sk, struct sk_buff *skb)
{
	struct arrival arrival = {
	    .instance = rcu_dereference_sk_user_data(sk), .net = sock_net(sk), .skb = skb, .in.trusted = true};

	arrival.setup = arrival.instance ? rcu_dereference(arrival.instance->setup) : NULL;
	if (!arrival.setup) { /* the server is being ended */
		kfree_skb(skb);
		return 0;
	}
	return take(&arrival);
}

/* What IP calls for each packet of protocol 4. -EINVAL: not ours, for the kernel's own tunnels. */
static int receive_ipip(struct sk_buff *skb)
{
	struct arrival arrival = {.net = dev_net(skb->dev), .skb = skb, .is_ipip = true, .in.trusted = true};
	const struct fl_address *self;

	arrival.instance = fl_instance_of(arrival.net);
	arrival.setup = arrival.instance ? rcu_dereference(arrival.instance->setup) : NULL;
	if (!arrival.setup || !arrival.setup->ipip_service)
		return -EINVAL;
	self = &arrival.setup->self[FL_OUTER_IPV4];
	if (memcmp(&ip_hdr(skb)->daddr, self->bytes + 12, sizeof(ip_hdr(skb)->daddr)))
		return -EINVAL;
	return take(&arrival);
}

/* ICMP errors about what we have chained are nobody's: what was in it the client sends again. */
static int receive_ipip_error(struct sk_buff *skb, u32 info)
{
	return -ENOENT;
}

static struct xfrm_tunnel ipip = {
    .handler = receive_ipip,
    .err_handler = receive_ipip_error,
    .priority = IPIP_PRIORITY,
};

int fl_receive_register(void)
{
	return xfrm4_tunnel_register(&ipip, AF_INET);
}

void fl_receive_unregister(void)
{
	xfrm4_tunnel_deregister(&ipip, AF_INET);
}
