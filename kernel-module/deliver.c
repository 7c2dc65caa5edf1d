// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets are delivered by netif_rx(), not straight into the receive path, which keeps the call stack shallow even if
 * packets are nested. The inner packet comes in on the same interface as the outer one, with the Ethernet header moved
 * in front of it. To packet sockets, netfilter and reverse path filters it looks the same as with the XDP form.
 */
#include "act.h"

#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/ip_tunnels.h>

/* Copies a congestion mark of the outer packet to the inner one (RFC 6040); false if it must be dropped. */
static bool ecn_carry(struct sk_buff *skb, u8 outer, bool inner_is_ipv4)
{
	u8 inner = inner_is_ipv4 ? ip_hdr(skb)->tos : ipv6_get_dsfield(ipv6_hdr(skb));

	return INET_ECN_decapsulate(skb, outer, inner) <= 1;
}

static void mac_header_move(struct sk_buff *skb)
{
	if (skb->dev->type != ARPHRD_ETHER || !skb_mac_header_was_set(skb)) {
		skb_reset_mac_header(skb);
		return;
	}
	memmove(skb->data - ETH_HLEN, skb_mac_header(skb), ETH_HLEN);
	skb_set_mac_header(skb, -ETH_HLEN);
	eth_hdr(skb)->h_proto = skb->protocol;
}

enum fl_counter fl_deliver(struct sk_buff *skb, unsigned int inner_at, bool is_ipv4, const struct fl_mangling *mangling,
			   enum fl_counter as)
{
	u8 outer;

	if (skb_ensure_writable(skb, inner_at + (is_ipv4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr))))
		return fl_act_refuse(skb, FL_COUNTER_DROP_NO_ROOM);
	outer = ip_hdr(skb)->version == 4 ? ip_hdr(skb)->tos : ipv6_get_dsfield(ipv6_hdr(skb));
	/* Releases the outer packet's route, connection tracking, extensions and offloads. */
	if (iptunnel_pull_header(skb, (int)inner_at, is_ipv4 ? htons(ETH_P_IP) : htons(ETH_P_IPV6), false))
		return fl_act_refuse(skb, FL_COUNTER_DROP_NO_ROOM);
	skb_reset_network_header(skb);
	/* A checksum that the sender left open was the outer packet's, which is gone. */
	if (skb->ip_summed == CHECKSUM_PARTIAL && skb_checksum_start_offset(skb) < 0)
		skb->ip_summed = CHECKSUM_NONE;
	if (!ecn_carry(skb, outer, is_ipv4))
		return fl_act_refuse(skb, FL_COUNTER_DROP_CONGESTED);
	if (mangling && !fl_mangle_in(skb, mangling))
		return fl_act_refuse(skb, FL_COUNTER_DROP_NO_ROOM);
	mac_header_move(skb);
	return netif_rx(skb) == NET_RX_SUCCESS ? as : FL_COUNTER_DROP_NO_ROOM;
}
