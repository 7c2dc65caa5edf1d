// SPDX-License-Identifier: GPL-2.0-only
#include "wire.h"

#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ipv6.h>

enum {
	GUE_LEN_MAX = FL_GUE_BASE_LEN + 31 * 4,
	IPV4_LEN_MAX = 60,
	ICMP_ERROR_LEN = 8,
	PULL_LEN =
	    sizeof(struct udphdr) + GUE_LEN_MAX + IPV4_LEN_MAX + ICMP_ERROR_LEN + IPV4_LEN_MAX + sizeof(struct tcphdr),
};

bool fl_wire_pull(struct sk_buff *skb)
{
	return pskb_may_pull(skb, min_t(unsigned int, skb->len, PULL_LEN));
}

static bool outer_is_ipv4(const struct sk_buff *skb)
{
	return ip_hdr(skb)->version == 4;
}

struct fl_address fl_wire_source(const struct sk_buff *skb)
{
	struct fl_address source;

	if (outer_is_ipv4(skb))
		return fl_address_from_ipv4((const u8 *)&ip_hdr(skb)->saddr);
	memcpy(source.bytes, &ipv6_hdr(skb)->saddr, sizeof(source.bytes));
	return source;
}

bool fl_wire_has_options(const struct sk_buff *skb)
{
	if (outer_is_ipv4(skb))
		return ip_hdr(skb)->ihl != 5;
	return skb_network_header_len(skb) != sizeof(struct ipv6hdr);
}

bool fl_wire_was_fragmented(const struct sk_buff *skb)
{
	if (outer_is_ipv4(skb))
		return IPCB(skb)->flags & IPSKB_FRAG_COMPLETE;
	return IP6CB(skb)->flags & IP6SKB_FRAGMENTED;
}

/* Whether the packet whose headers are read goes from local to remote. */
static bool is_ours(const struct fl_flow *flow)
{
	return flow->quoted != flow->leaves;
}

/* Reads the transport header at l4; without a whole one the flow has no connection. */
static void transport_parse(const void *l4, const void *end, u8 protocol, struct fl_flow *flow)
{
	const struct udphdr *udp = l4; /* TCP's ports stand at the same place */
	const struct tcphdr *tcp = l4;

	if (protocol == IPPROTO_TCP && !flow->quoted) {
		if ((const void *)(tcp + 1) > end)
			return;
		flow->tcp = tcp;
	} else if (protocol != IPPROTO_UDP && protocol != IPPROTO_TCP) {
		return;
	}
	if ((const void *)(udp + 1) > end)
		return;
	flow->remote_port = is_ours(flow) ? udp->dest : udp->source;
	flow->local_port = is_ours(flow) ? udp->source : udp->dest;
	flow->protocol = protocol;
}

static void addresses_ipv4(struct fl_flow *flow, const struct iphdr *ip)
{
	flow->remote.s6_addr32[3] = is_ours(flow) ? ip->daddr : ip->saddr;
	flow->local.s6_addr32[3] = is_ours(flow) ? ip->saddr : ip->daddr;
}

static void addresses_ipv6(struct fl_flow *flow, const struct ipv6hdr *ip)
{
	flow->remote = is_ours(flow) ? ip->daddr : ip->saddr;
	flow->local = is_ours(flow) ? ip->saddr : ip->daddr;
}

/* Reads the packet that an ICMP error quotes, its IP header and at least 8 bytes; its local end must be the error's. */
static void icmp_quote_parse(const void *l4, const void *end, struct fl_flow *flow)
{
	const struct icmphdr *icmp = l4;
	const struct iphdr *quote = (const void *)(icmp + 1);

	if ((const void *)(quote + 1) > end)
		return;
	if (icmp->type != ICMP_DEST_UNREACH && icmp->type != ICMP_TIME_EXCEEDED && icmp->type != ICMP_PARAMETERPROB)
		return;
	if (quote->version != 4 || quote->ihl < 5 || quote->frag_off & htons(IP_OFFSET) ||
	    (flow->leaves ? quote->daddr : quote->saddr) != fl_flow_ipv4(&flow->local))
		return;
	flow->quoted = true;
	addresses_ipv4(flow, quote);
	transport_parse((const u8 *)quote + quote->ihl * 4, end, quote->protocol, flow);
}

static void icmpv6_quote_parse(const void *l4, const void *end, struct fl_flow *flow)
{
	const struct icmp6hdr *icmp = l4;
	const struct ipv6hdr *quote = (const void *)(icmp + 1);

	if ((const void *)(quote + 1) > end || icmp->icmp6_type & ICMPV6_INFOMSG_MASK || quote->version != 6 ||
	    !ipv6_addr_equal(flow->leaves ? &quote->daddr : &quote->saddr, &flow->local))
		return;
	flow->quoted = true;
	addresses_ipv6(flow, quote);
	transport_parse(quote + 1, end, quote->nexthdr, flow);
}

/* Reads an inner IPv4 packet of at most room bytes; false if it isn't one. A later fragment has no connection. */
static bool inner_ipv4_parse(const void *data, const void *end, unsigned int room, struct fl_flow *flow)
{
	const struct iphdr *ip = data;
	unsigned int len;

	if ((const void *)(ip + 1) > end || ip->version != 4 || ip->ihl < 5)
		return false;
	len = ntohs(ip->tot_len);
	if ((len < ip->ihl * 4 || len > room) && !flow->leaves) /* a large GSO packet says 0 */
		return false;
	flow->family = AF_INET;
	flow->ip = ip;
	addresses_ipv4(flow, ip);
	flow->later_fragment = ip->frag_off & htons(IP_OFFSET);
	if (flow->later_fragment)
		return true;
	if (ip->protocol == IPPROTO_ICMP)
		icmp_quote_parse(data + ip->ihl * 4, end, flow);
	else
		transport_parse(data + ip->ihl * 4, end, ip->protocol, flow);
	return true;
}

/* The same for IPv6; with extension headers other than a first fragment's a packet has no connection here. */
static bool inner_ipv6_parse(const void *data, const void *end, unsigned int room, struct fl_flow *flow)
{
	const struct ipv6hdr *ip = data;
	const struct frag_hdr *fragment = (const void *)(ip + 1);

	if ((const void *)(ip + 1) > end || ip->version != 6 || sizeof(*ip) + ntohs(ip->payload_len) > room)
		return false;
	flow->family = AF_INET6;
	flow->ip = ip;
	addresses_ipv6(flow, ip);
	if (ip->nexthdr == IPPROTO_ICMPV6) {
		icmpv6_quote_parse(ip + 1, end, flow);
	} else if (ip->nexthdr == NEXTHDR_FRAGMENT) {
		if ((const void *)(fragment + 1) > end)
			return true;
		flow->later_fragment = fragment->frag_off & htons(IP6_OFFSET);
		if (!flow->later_fragment)
			transport_parse(fragment + 1, end, fragment->nexthdr, flow);
	} else {
		transport_parse(ip + 1, end, ip->nexthdr, flow);
	}
	return true;
}

bool fl_wire_flow(const struct sk_buff *skb, unsigned int inner_at, bool is_ipv4, struct fl_flow *flow)
{
	const void *end = skb->data + skb_headlen(skb);

	memset(flow, 0, sizeof(*flow));
	if (skb->len < inner_at)
		return false;
	if (is_ipv4)
		return inner_ipv4_parse(skb->data + inner_at, end, skb->len - inner_at, flow);
	return inner_ipv6_parse(skb->data + inner_at, end, skb->len - inner_at, flow);
}

bool fl_wire_flow_out(const struct sk_buff *skb, bool is_ipv4, struct fl_flow *flow)
{
	const void *end = skb->data + skb_headlen(skb);

	memset(flow, 0, sizeof(*flow));
	flow->leaves = true;
	return (is_ipv4 ? inner_ipv4_parse : inner_ipv6_parse)(skb->data, end, skb->len, flow) && flow->protocol;
}
