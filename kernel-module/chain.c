// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sending packets on to other servers. A packet that has not been segmented yet (GSO) is segmented here: without GRO only
 * a sender on this very host, or a virtual machine's interface, hands over such packets, and muxes don't. (In GUE the
 * kernel drops them itself, from 6.1.84 and 6.9 on.) What GRO has merged of an encapsulation that it knows goes on as it
 * is, for the kernel to take it apart.
 */
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

/* Whether the packet is larger than what can be sent to the next server; a merged one, the packets that it stands for. */
static bool is_too_big(const struct sk_buff *skb, unsigned int len, const struct dst_entry *route)
{
	return skb_is_gso(skb) ? !skb_gso_validate_network_len(skb, dst_mtu(route)) : len > dst_mtu(route);
}

struct rtable *fl_chain_route_ipv4(const struct fl_arrival *arrival, struct flowi4 *fl4, unsigned int len)
{
	struct rtable *route;

	memcpy(&fl4->saddr, arrival->setup->self[FL_OUTER_IPV4].bytes + 12, sizeof(fl4->saddr));
	memcpy(&fl4->daddr, arrival->out.next.bytes + 12, sizeof(fl4->daddr));
	route = ip_route_output_key(arrival->net, fl4);
	if (IS_ERR(route))
		return NULL;
	if (route->rt_type == RTN_UNICAST && !neighbour_is_silent(arrival, &route->dst, &fl4->daddr) &&
	    !is_too_big(arrival->skb, len, &route->dst))
		return route;
	ip_rt_put(route);
	return NULL;
}

struct dst_entry *fl_chain_route_ipv6(const struct fl_arrival *arrival, struct flowi6 *fl6, unsigned int len)
{
	struct dst_entry *route;

	memcpy(&fl6->saddr, arrival->setup->self[FL_OUTER_IPV6].bytes, sizeof(fl6->saddr));
	memcpy(&fl6->daddr, arrival->out.next.bytes, sizeof(fl6->daddr));
	route = ip6_dst_lookup_flow(arrival->net, NULL, fl6, NULL);
	if (IS_ERR(route))
		return NULL;
	if (!(((const struct rt6_info *)route)->rt6i_flags & (RTF_LOCAL | RTF_ANYCAST)) &&
	    !neighbour_is_silent(arrival, route, &fl6->daddr) && !is_too_big(arrival->skb, len, route))
		return route;
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

static bool needs_segments(const struct fl_arrival *arrival)
{
	const struct sk_buff *skb = arrival->skb;

	return skb_is_gso(skb) && !(arrival->encap->is_merged && skb->encapsulation);
}

/* Gives a segment, of the inner packet alone, a copy of what surrounds the whole one's, with lengths of its own. */
static bool segment_wrap(struct sk_buff *segment, const struct sk_buff *whole, unsigned int inner_at)
{
	unsigned int outer_len = inner_at + (unsigned int)-skb_network_offset(whole);
	struct ipv6hdr *ipv6;
	struct iphdr *ipv4;

	if (skb_cow_head(segment, outer_len))
		return false;
	memcpy(skb_push(segment, outer_len), skb_network_header(whole), outer_len);
	skb_reset_mac_header(segment);
	skb_reset_network_header(segment);
	skb_set_transport_header(segment, (int)skb_network_header_len(whole));
	segment->protocol = whole->protocol;
	ipv4 = ip_hdr(segment);
	ipv6 = ipv6_hdr(segment);
	if (ipv4->version == 4)
		ipv4->tot_len = htons((u16)segment->len);
	else
		ipv6->payload_len = htons((u16)(segment->len - sizeof(*ipv6)));
	skb_pull(segment, (unsigned int)-skb_network_offset(whole));
	return true;
}

/* The packet's segments, each with all headers and at the same place as the packet; NULL if there is no memory. */
static struct sk_buff *segments_make(const struct fl_arrival *arrival)
{
	struct sk_buff *inner = pskb_copy(arrival->skb, GFP_ATOMIC), *segments, *segment;

	if (!inner)
		return NULL;
	skb_pull(inner, arrival->inner_at);
	skb_reset_mac_header(inner);
	skb_reset_network_header(inner);
	skb_reset_mac_len(inner);
	inner->protocol = arrival->flow.family == AF_INET ? htons(ETH_P_IP) : htons(ETH_P_IPV6);
	inner->encapsulation = 0;
	segments = __skb_gso_segment(inner, 0, false);
	consume_skb(inner);
	if (IS_ERR_OR_NULL(segments)) /* what the sender wrote of its segments is wrong */
		return NULL;
	for (segment = segments; segment; segment = segment->next) {
		if (segment_wrap(segment, arrival->skb, arrival->inner_at))
			continue;
		kfree_skb_list(segments);
		return NULL;
	}
	return segments;
}

/* Sends the segments on. What becomes of the first says what becomes of the packet: later ones are dropped if they can't. */
static enum fl_counter segments_send(struct fl_arrival *arrival, struct sk_buff *segments)
{
	struct sk_buff *whole = arrival->skb, *next;
	enum fl_counter exit = (enum fl_counter)FL_CHAIN_NOWHERE;

	while (segments) {
		enum fl_counter of_segment;

		next = segments->next;
		skb_mark_not_on_list(segments);
		arrival->skb = segments;
		segments = next;
		of_segment = arrival->encap->send_on(arrival);
		if (of_segment == (enum fl_counter)FL_CHAIN_NOWHERE)
			kfree_skb(arrival->skb);
		else if (exit == (enum fl_counter)FL_CHAIN_NOWHERE)
			exit = of_segment;
		if (exit == (enum fl_counter)FL_CHAIN_NOWHERE)
			break;
	}
	kfree_skb_list(segments);
	arrival->skb = whole;
	if (exit != (enum fl_counter)FL_CHAIN_NOWHERE)
		consume_skb(whole);
	return exit;
}

enum fl_counter fl_chain(struct fl_arrival *arrival)
{
	struct sk_buff *segments;

	if (!needs_segments(arrival))
		return arrival->encap->send_on(arrival);
	segments = segments_make(arrival);
	if (!segments)
		return fl_act_refuse(arrival->skb, FL_COUNTER_DROP_NO_ROOM);
	return segments_send(arrival, segments);
}
