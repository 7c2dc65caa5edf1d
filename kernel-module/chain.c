// SPDX-License-Identifier: GPL-2.0-only
/*
 * A chained packet is one of this host's own: routed as such (no forwarding needs to be on), with fresh outer headers.
 * What stays is the traffic class, the source port, which spreads flows, and the inner packet.
 */
#include "act.h"
#include "wire.h"

#include <linux/udp.h>
#include <net/ip.h>
#include <net/ip6_route.h>
#include <net/ip_tunnels.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/udp_tunnel.h>

#include <fairlead/ipip.h>

enum {
	CHAIN_TTL = 64, /* loops are bounded by hops, not by TTL */
	OUTER4_LEN = sizeof(struct iphdr) + sizeof(struct udphdr),
	OUTER6_LEN = sizeof(struct ipv6hdr) + sizeof(struct udphdr),
};

/* A packet on its way from one server to the next. */
struct passage {
	struct net *net;
	const struct fl_setup *setup;
	const struct fl_address *next;
	struct fl_tag_message *tagged;
	__be16 source_port; /* of the old outer headers, kept in the new ones, and so is the traffic class */
	u8 class;
};

static enum fl_counter drop(struct sk_buff *skb, enum fl_counter why)
{
	kfree_skb(skb);
	return why;
}

/*
 * Whether the packet is larger than what goes to the next server. So is one that stands for several: only a sender on
 * this very host, or with a virtual machine's interface, hands over such; muxes don't.
 */
static bool is_too_big(const struct sk_buff *skb, unsigned int len, const struct dst_entry *route)
{
	return skb_is_gso(skb) || len > dst_mtu(route);
}

/* Completes a sum that the sender left open: of the inner packet, as the outer one's went with its header. */
static bool sum_complete(struct sk_buff *skb)
{
	if (skb->ip_summed != CHECKSUM_PARTIAL)
		return true;
	if (skb_checksum_start_offset(skb) >= 0)
		return !skb_checksum_help(skb);
	skb->ip_summed = CHECKSUM_NONE;
	return true;
}

/* Makes a packet that came in one of our own, without anything that the stack knew of it. */
static void forget_arrival(struct sk_buff *skb)
{
	skb_forward_csum(skb); /* a sum over the packet that came in */
	skb_scrub_packet(skb, false);
	skb_clear_hash(skb);
	skb->dev = NULL; /* not a tunnel device, whose statistics would be counted up */
}

/* Takes the outer headers off and rewrites the steer header; the outer ones are then pushed anew. */
static bool rewrite(struct sk_buff *skb, unsigned int headroom, const struct passage *passage)
{
	const struct fl_setup *setup = passage->setup;
	u8 *gue, *end;

	if (skb_ensure_writable(
		skb, min_t(unsigned int, skb_headlen(skb), sizeof(struct udphdr) + FL_GUE_BASE_LEN + FL_STEER_MAX_LEN)))
		return false;
	skb_pull(skb, sizeof(struct udphdr));
	if (skb_cow_head(skb, headroom) || !sum_complete(skb))
		return false;
	gue = skb->data;
	end = gue + skb_headlen(skb);
	if (!fl_steer_chain(gue, end) || (setup->tagged && !fl_tag_chain(&setup->tag_key, gue, end, passage->tagged)))
		return false; /* never: it has been parsed */
	forget_arrival(skb);
	return true;
}

/* udp_len: of the datagram, header included. */
static enum fl_counter chain_ipv4(struct sk_buff *skb, unsigned int udp_len, const struct passage *passage)
{
	struct flowi4 fl4 = {
	    .flowi4_proto = IPPROTO_UDP,
	    .fl4_sport = passage->source_port,
	    .fl4_dport = htons(passage->setup->port),
	};
	enum fl_counter refusal;
	struct rtable *route;

	memcpy(&fl4.saddr, passage->setup->self[FL_OUTER_IPV4].bytes + 12, sizeof(fl4.saddr));
	memcpy(&fl4.daddr, passage->next->bytes + 12, sizeof(fl4.daddr));
	route = ip_route_output_key(passage->net, &fl4);
	if (IS_ERR(route))
		return drop(skb, FL_COUNTER_DROP_CHAIN_UNROUTABLE);
	refusal = FL_COUNTER_DROP_CHAIN_UNROUTABLE;
	if (route->rt_type != RTN_UNICAST)
		goto err_route;
	refusal = FL_COUNTER_DROP_CHAIN_TOO_BIG;
	if (is_too_big(skb, sizeof(struct iphdr) + udp_len, &route->dst))
		goto err_route;
	refusal = FL_COUNTER_DROP_NO_ROOM;
	if (!rewrite(skb, LL_RESERVED_SPACE(route->dst.dev) + OUTER4_LEN, passage))
		goto err_route;
	udp_tunnel_xmit_skb(route, NULL, skb, fl4.saddr, fl4.daddr, passage->class, CHAIN_TTL, htons(IP_DF),
			    fl4.fl4_sport, fl4.fl4_dport, false, true);
	return FL_COUNTER_CHAIN;

err_route:
	ip_rt_put(route);
	return drop(skb, refusal);
}

static enum fl_counter chain_ipv6(struct sk_buff *skb, unsigned int udp_len, const struct passage *passage)
{
	struct flowi6 fl6 = {
	    .flowi6_proto = IPPROTO_UDP,
	    .fl6_sport = passage->source_port,
	    .fl6_dport = htons(passage->setup->port),
	};
	enum fl_counter refusal;
	struct dst_entry *route;

	memcpy(&fl6.saddr, passage->setup->self[FL_OUTER_IPV6].bytes, sizeof(fl6.saddr));
	memcpy(&fl6.daddr, passage->next->bytes, sizeof(fl6.daddr));
	route = ip6_dst_lookup_flow(passage->net, NULL, &fl6, NULL);
	if (IS_ERR(route))
		return drop(skb, FL_COUNTER_DROP_CHAIN_UNROUTABLE);
	refusal = FL_COUNTER_DROP_CHAIN_UNROUTABLE;
	if (((const struct rt6_info *)route)->rt6i_flags & (RTF_LOCAL | RTF_ANYCAST))
		goto err_route;
	refusal = FL_COUNTER_DROP_CHAIN_TOO_BIG;
	if (is_too_big(skb, sizeof(struct ipv6hdr) + udp_len, route))
		goto err_route;
	refusal = FL_COUNTER_DROP_NO_ROOM;
	if (!rewrite(skb, LL_RESERVED_SPACE(route->dev) + OUTER6_LEN, passage))
		goto err_route;
	udp_tunnel6_xmit_skb(route, NULL, skb, NULL, &fl6.saddr, &fl6.daddr, passage->class, CHAIN_TTL, 0,
			     fl6.fl6_sport, fl6.fl6_dport, true);
	return FL_COUNTER_CHAIN;

err_route:
	dst_release(route);
	return drop(skb, refusal);
}

enum fl_counter fl_chain_ipip(struct net *net, struct sk_buff *skb, const struct fl_setup *setup,
			      const struct fl_address *next)
{
	struct flowi4 fl4 = {.flowi4_proto = IPPROTO_IPIP};
	enum fl_counter refusal;
	struct rtable *route;

	memcpy(&fl4.saddr, setup->self[FL_OUTER_IPV4].bytes + 12, sizeof(fl4.saddr));
	memcpy(&fl4.daddr, next->bytes + 12, sizeof(fl4.daddr));
	route = ip_route_output_key(net, &fl4);
	if (IS_ERR(route))
		return drop(skb, FL_COUNTER_DROP_CHAIN_UNROUTABLE);
	refusal = FL_COUNTER_DROP_CHAIN_UNROUTABLE;
	if (route->rt_type != RTN_UNICAST)
		goto err_route;
	refusal = FL_COUNTER_DROP_CHAIN_TOO_BIG;
	if (is_too_big(skb, FL_IPIP_LEN + skb->len, &route->dst))
		goto err_route;
	refusal = FL_COUNTER_DROP_NO_ROOM;
	if (!sum_complete(skb))
		goto err_route;
	skb_push(skb, FL_IPIP_LEN);
	if (skb_ensure_writable(skb, FL_IPIP_LEN) || skb_cow_head(skb, LL_RESERVED_SPACE(route->dst.dev)))
		goto err_route;
	fl_ipip_chain(skb->data, skb->data + FL_IPIP_LEN, (const u8 *)&fl4.saddr, (const u8 *)&fl4.daddr);
	forget_arrival(skb);
	memset(IPCB(skb), 0, sizeof(*IPCB(skb))); /* the option has been looked at as one that came in */
	skb_dst_set(skb, &route->dst);
	ip_local_out(net, NULL, skb);
	return FL_COUNTER_CHAIN;

err_route:
	ip_rt_put(route);
	return drop(skb, refusal);
}

enum fl_counter fl_chain(struct net *net, struct sk_buff *skb, const struct fl_setup *setup,
			 const struct fl_address *next, struct fl_tag_message *tagged)
{
	enum fl_outer_family family = fl_outer_family(next);
	struct passage passage = {
	    .net = net,
	    .setup = setup,
	    .next = next,
	    .tagged = tagged,
	    .source_port = udp_hdr(skb)->source,
	    .class = ip_hdr(skb)->version == 4 ? ip_hdr(skb)->tos : ipv6_get_dsfield(ipv6_hdr(skb)),
	};

	if (fl_address_is_none(&setup->self[family]))
		return drop(skb, FL_COUNTER_DROP_CHAIN_FAMILY);
	return family == FL_OUTER_IPV4 ? chain_ipv4(skb, skb->len, &passage) : chain_ipv6(skb, skb->len, &passage);
}
