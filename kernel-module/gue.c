// SPDX-License-Identifier: GPL-2.0-only
/* GUE with the list header, which comes in by the instance's UDP sockets: skb->data is at the UDP header. */
#include "act.h"
#include "receive.h"
#include "wire.h"

#include <linux/udp.h>
#include <net/ip.h>
#include <net/ip6_route.h>
#include <net/ip_tunnels.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/udp_tunnel.h>

enum {
	OUTER4_LEN = sizeof(struct iphdr) + sizeof(struct udphdr),
	OUTER6_LEN = sizeof(struct ipv6hdr) + sizeof(struct udphdr),
};

static const u8 *gue_base(const struct sk_buff *skb)
{
	return skb->data + sizeof(struct udphdr);
}

enum fl_list_error fl_gue_parse(struct fl_arrival *arrival)
{
	const struct sk_buff *skb = arrival->skb;
	struct fl_list *list = &arrival->in.list;
	enum fl_list_error error = fl_list_parse(gue_base(skb), fl_wire_end(skb), skb->len - (u32)sizeof(struct udphdr),
						 false, arrival->came_to == FL_OUTER_IPV6, list);

	arrival->inner_at = sizeof(struct udphdr) + list->header_len;
	return error;
}

/* The traffic class is that of the old outer header, and so is the source port, which spreads flows. */
struct outer {
	__be16 source_port, destination_port;
	u8 class;
};

static bool rewrite_header(const struct fl_arrival *arrival, u8 *gue, const u8 *end)
{
	if (arrival->answer)
		return fl_notice_answer(gue, end, arrival->answer);
	return fl_list_forward(gue, end, &arrival->in.list, &arrival->setup->self[arrival->came_to], arrival->out.left,
			       arrival->out.late);
}

/* Removes the outer headers and rewrites the header behind them; new outer headers are then pushed. */
static bool rewrite(struct fl_arrival *arrival, unsigned int headroom)
{
	struct sk_buff *skb = arrival->skb;
	u8 *gue;

	if (skb_ensure_writable(skb, arrival->inner_at))
		return false;
	skb_pull(skb, sizeof(struct udphdr));
	if (skb_cow_head(skb, headroom) || !fl_chain_sum_complete(skb))
		return false;
	gue = skb->data;
	if (!rewrite_header(arrival, gue, fl_wire_end(skb)))
		return false; /* never: it has been parsed */
	fl_chain_forget_arrival(skb);
	return true;
}

static enum fl_counter sent_on(const struct fl_arrival *arrival)
{
	return arrival->answer ? FL_COUNTER_NOTICE : FL_COUNTER_CHAIN;
}

static enum fl_counter send_ipv4(struct fl_arrival *arrival, const struct outer *outer)
{
	struct flowi4 fl4 = {
	    .flowi4_proto = IPPROTO_UDP,
	    .fl4_sport = outer->source_port,
	    .fl4_dport = outer->destination_port,
	};
	struct rtable *route = fl_chain_route_ipv4(arrival, &fl4, sizeof(struct iphdr) + arrival->skb->len);

	if (!route)
		return (enum fl_counter)FL_CHAIN_NOWHERE;
	if (!rewrite(arrival, LL_RESERVED_SPACE(route->dst.dev) + OUTER4_LEN)) {
		ip_rt_put(route);
		return fl_act_refuse(arrival->skb, FL_COUNTER_DROP_NO_ROOM);
	}
	udp_tunnel_xmit_skb(route, NULL, arrival->skb, fl4.saddr, fl4.daddr, outer->class, FL_CHAIN_TTL, htons(IP_DF),
			    fl4.fl4_sport, fl4.fl4_dport, false, true);
	return sent_on(arrival);
}

static enum fl_counter send_ipv6(struct fl_arrival *arrival, const struct outer *outer)
{
	struct flowi6 fl6 = {
	    .flowi6_proto = IPPROTO_UDP,
	    .fl6_sport = outer->source_port,
	    .fl6_dport = outer->destination_port,
	};
	struct dst_entry *route = fl_chain_route_ipv6(arrival, &fl6, sizeof(struct ipv6hdr) + arrival->skb->len);

	if (!route)
		return (enum fl_counter)FL_CHAIN_NOWHERE;
	if (!rewrite(arrival, LL_RESERVED_SPACE(route->dev) + OUTER6_LEN)) {
		dst_release(route);
		return fl_act_refuse(arrival->skb, FL_COUNTER_DROP_NO_ROOM);
	}
	udp_tunnel6_xmit_skb(route, NULL, arrival->skb, NULL, &fl6.saddr, &fl6.daddr, outer->class, FL_CHAIN_TTL, 0,
			     fl6.fl6_sport, fl6.fl6_dport, true);
	return sent_on(arrival);
}

static enum fl_counter send_on(struct fl_arrival *arrival)
{
	const struct sk_buff *skb = arrival->skb;
	enum fl_outer_family family = fl_outer_family(&arrival->out.next);
	struct outer outer = {
	    .source_port = udp_hdr(skb)->source,
	    .destination_port = htons(arrival->setup->config.port),
	    .class = ip_hdr(skb)->version == 4 ? ip_hdr(skb)->tos : ipv6_get_dsfield(ipv6_hdr(skb)),
	};

	if (arrival->answer) { /* back to where it came from */
		outer.destination_port = outer.source_port;
		outer.source_port = udp_hdr(skb)->dest;
	}
	return family == FL_OUTER_IPV4 ? send_ipv4(arrival, &outer) : send_ipv6(arrival, &outer);
}

/* Whether GUE says so; it need not be linear yet. */
static bool is_notice(const struct sk_buff *skb)
{
	u8 buffer[FL_LIST_GUE_LEN];
	const u8 *gue = skb_header_pointer(skb, sizeof(struct udphdr), sizeof(buffer), buffer);

	return gue && gue[1] == FL_LIST_GUE_NOTICE;
}

int fl_gue_receive(struct sock *sk, struct sk_buff *skb)
{
	struct fl_arrival arrival = {.encap = &fl_gue,
				     .instance = rcu_dereference_sk_user_data(sk),
				     .net = sock_net(sk),
				     .skb = skb,
				     .came_to = ip_hdr(skb)->version == 4 ? FL_OUTER_IPV4 : FL_OUTER_IPV6};

	arrival.setup = arrival.instance ? rcu_dereference(arrival.instance->setup) : NULL;
	if (!arrival.setup) { /* the server is being stopped */
		kfree_skb(skb);
		return 0;
	}
	return is_notice(skb) ? fl_notice_receive(&arrival) : fl_receive(&arrival);
}
const struct fl_encap fl_gue = {
    .parse = fl_gue_parse,
    .send_on = send_on,
};
