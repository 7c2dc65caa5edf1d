// SPDX-License-Identifier: GPL-2.0-only
#include "act.h"
#include "receive.h"

#include <linux/version.h>
#include <net/ip.h>
#include <net/ip6_route.h>
#include <net/ip_tunnels.h>
#include <net/neighbour.h>
#include <net/route.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#include <net/gso.h>
#endif

enum fl_counter fl_chain_refuse(struct sk_buff *skb, enum fl_counter why)
{
	kfree_skb(skb);
	return why;
}

enum fl_counter fl_chain_unroutable(const struct fl_arrival *arrival, enum fl_counter why)
{
	if (arrival->list || arrival->in.packet == FL_PACKET_REFUSED)
		return (enum fl_counter)FL_CHAIN_NOWHERE;
	return fl_chain_refuse(arrival->skb, why);
}

/*
 * Whether a refused SYN would wait for a neighbour that has not answered yet. Then this server takes it, and the kernel
 * asks for the neighbour on its own. Only the first packet to a neighbour waits for the answer.
 */
static bool neighbour_is_silent(const struct fl_arrival *arrival, struct dst_entry *route, const void *next)
{
	struct neighbour *neighbour;
	bool is_silent;

	if (arrival->in.packet != FL_PACKET_REFUSED)
		return false;
	neighbour = dst_neigh_lookup(route, next);
	if (!neighbour)
		return false;
	is_silent = READ_ONCE(neighbour->nud_state) & (NUD_INCOMPLETE | NUD_FAILED);
	if (is_silent)
		neigh_event_send(neighbour, NULL);
	neigh_release(neighbour);
	return is_silent;
}

/*
 * Whether the packet is larger than what can be sent to the next server. A GSO packet stands for several. Without GRO
 * only a sender on this very host, or a virtual machine's interface, hands over such packets; muxes don't.
 */
static bool is_too_big(const struct fl_arrival *arrival, unsigned int len, const struct dst_entry *route)
{
	const struct sk_buff *skb = arrival->skb;

	if (!skb_is_gso(skb))
		return len > dst_mtu(route);
	return !arrival->encap->is_merged || !skb->encapsulation || !skb_gso_validate_network_len(skb, dst_mtu(route));
}

struct rtable *fl_chain_route_ipv4(const struct fl_arrival *arrival, struct flowi4 *fl4, unsigned int len,
				   enum fl_counter *refusal)
{
	struct rtable *route;

	memcpy(&fl4->saddr, arrival->setup->self[FL_OUTER_IPV4].bytes + 12, sizeof(fl4->saddr));
	memcpy(&fl4->daddr, arrival->out.next.bytes + 12, sizeof(fl4->daddr));
	*refusal = FL_COUNTER_DROP_CHAIN_UNROUTABLE;
	route = ip_route_output_key(arrival->net, fl4);
	if (IS_ERR(route))
		return NULL;
	if (route->rt_type != RTN_UNICAST || neighbour_is_silent(arrival, &route->dst, &fl4->daddr))
		goto err_route;
	*refusal = FL_COUNTER_DROP_CHAIN_TOO_BIG;
	if (is_too_big(arrival, len, &route->dst))
		goto err_route;
	return route;

err_route:
	ip_rt_put(route);
	return NULL;
}

struct dst_entry *fl_chain_route_ipv6(const struct fl_arrival *arrival, struct flowi6 *fl6, unsigned int len,
				      enum fl_counter *refusal)
{
	struct dst_entry *route;

	memcpy(&fl6->saddr, arrival->setup->self[FL_OUTER_IPV6].bytes, sizeof(fl6->saddr));
	memcpy(&fl6->daddr, arrival->out.next.bytes, sizeof(fl6->daddr));
	*refusal = FL_COUNTER_DROP_CHAIN_UNROUTABLE;
	route = ip6_dst_lookup_flow(arrival->net, NULL, fl6, NULL);
	if (IS_ERR(route))
		return NULL;
	if (((const struct rt6_info *)route)->rt6i_flags & (RTF_LOCAL | RTF_ANYCAST) ||
	    neighbour_is_silent(arrival, route, &fl6->daddr))
		goto err_route;
	*refusal = FL_COUNTER_DROP_CHAIN_TOO_BIG;
	if (is_too_big(arrival, len, route))
		goto err_route;
	return route;

err_route:
	dst_release(route);
	return NULL;
}

bool fl_chain_sum_complete(struct sk_buff *skb)
{
	if (skb->ip_summed != CHECKSUM_PARTIAL)
		return true;
	if (skb_checksum_start_offset(skb) >= 0)
		return !skb_checksum_help(skb);
	skb->ip_summed = CHECKSUM_NONE;
	return true;
}

void fl_chain_forget_arrival(struct sk_buff *skb)
{
	skb_forward_csum(skb); /* a sum over the packet as it came in */
	skb_scrub_packet(skb, false);
	skb_clear_hash(skb);
	skb->dev = NULL; /* not a tunnel device, whose statistics would count it */
}
