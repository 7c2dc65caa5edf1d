// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mangling (the paper's default): the inner destination, a VIP, is replaced by the server's own address, for
 * applications that listen only there; their answers leave with the VIP as source.
 *
 *	client -> VIP, in GUE	decapsulated, VIP -> own address, noted in flows	-> socket on the own address
 *	client <- VIP		<- POST_ROUTING: own address -> VIP, if the flow is noted	<- socket
 *	client -> own address	untouched, both ways: nothing is noted
 *
 * A reply is recognised by its flow, noted when a packet was delivered (flows.h: bounded, no conntrack). The source
 * port alone, as in the paper's own module, would mistake direct connections to the same port for the VIP's. A mark on
 * the socket would need two sysctls that affect all marks of the host, and does not work for unconnected UDP. The hook
 * is the last of POST_ROUTING. It sees the packets of sockets before they are segmented or fragmented, SYN-ACKs, RSTs
 * and the host's own ICMP errors. It runs after conntrack and the firewall, which see only our own address, as they do
 * for incoming packets.
 *
 * Two connections with the same two ends, one direct and one through a VIP, or through two VIPs, are the same to the
 * socket. The first one keeps it. Packets of the other are chained like those of an unknown connection, or dropped
 * (drop_mangle_conflict). An unconnected UDP socket answers from the VIP that was used last.
 *
 * Checksums are updated incrementally (RFC 1624, eqn. 3), so that an error elsewhere in the packet remains detectable.
 * Addresses and checksums in the packet that an ICMP error quotes are replaced as well, and the error's own checksum is
 * adjusted. UDP without a checksum keeps none.
 */
#include "mangle.h"
#include "sockets.h"

#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <linux/inetdevice.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6.h>
#include <linux/udp.h>
#include <net/addrconf.h>
#include <net/checksum.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/route.h>

enum {
	/* Of a quoted packet, the part that can be changed. */
	QUOTE_LEN = 60 + sizeof(struct tcphdr),
};

/* Which address of a packet is replaced; in a quoted packet it is the other one. */
enum side { SOURCE, DESTINATION };

static enum side other(enum side side)
{
	return side == SOURCE ? DESTINATION : SOURCE;
}

static bool is_local(struct net *net, const struct fl_flow *flow)
{
	if (flow->family == AF_INET)
		return inet_addr_type(net, fl_flow_ipv4(&flow->local)) == RTN_LOCAL;
	return ipv6_chk_addr(net, &flow->local, NULL, 0);
}

bool fl_mangle_applies(struct net *net, const struct fl_setup *setup, const struct fl_flow *flow,
		       struct fl_mangling *mangling)
{
	bool is_ipv4 = flow->family == AF_INET;
	const struct fl_address *self = &setup->self[is_ipv4 ? FL_OUTER_IPV4 : FL_OUTER_IPV6];

	if (!setup->config.mangle || fl_address_is_none(self) || !(flow->protocol || flow->later_fragment) ||
	    is_local(net, flow))
		return false;
	mangling->family = flow->family;
	mangling->from = flow->local;
	memset(&mangling->to, 0, sizeof(mangling->to));
	memcpy(&mangling->to.s6_addr[is_ipv4 ? 12 : 0], self->bytes + (is_ipv4 ? 12 : 0), is_ipv4 ? 4 : 16);
	return true;
}

bool fl_mangle_owns(struct fl_flows *flows, const struct fl_flow *flow, const struct in6_addr *vip, int ifindex)
{
	enum fl_socket_state state;
	struct fl_flow_key key;
	struct in6_addr noted;
	bool known;

	fl_flow_key_set(&key, flow);
	known = fl_flows_find(flows, &key, false, &noted);
	if (known && ipv6_addr_equal(&noted, vip))
		return true;
	state = fl_sockets_state(flows->net, flow, ifindex);
	if (state == FL_SOCKET_HALF_OPEN) /* its note may have been replaced during a flood */
		return !known;
	return state != FL_SOCKET_OPEN;
}

static void sum_replace(__sum16 *sum, const struct fl_mangling *mangling)
{
	int word;

	for (word = mangling->family == AF_INET ? 3 : 0; word < 4; word++)
		csum_replace4(sum, mangling->from.s6_addr32[word], mangling->to.s6_addr32[word]);
}

/* Updates a transport header's checksum, which covers the addresses and which the stack may still have to complete. */
static void transport_sum_replace(struct sk_buff *skb, __sum16 *sum, const struct fl_mangling *mangling)
{
	if (mangling->family == AF_INET)
		inet_proto_csum_replace4(sum, skb, fl_flow_ipv4(&mangling->from), fl_flow_ipv4(&mangling->to), true);
	else
		inet_proto_csum_replace16(sum, skb, mangling->from.s6_addr32, mangling->to.s6_addr32, true);
}

static void address_replace(void *ip, enum side side, const struct fl_mangling *mangling)
{
	struct iphdr *ipv4 = ip;
	struct ipv6hdr *ipv6 = ip;

	if (mangling->family == AF_INET) {
		csum_replace4(&ipv4->check, fl_flow_ipv4(&mangling->from), fl_flow_ipv4(&mangling->to));
		*(side == SOURCE ? &ipv4->saddr : &ipv4->daddr) = fl_flow_ipv4(&mangling->to);
	} else {
		*(side == SOURCE ? &ipv6->saddr : &ipv6->daddr) = mangling->to;
	}
}

/* The checksum of a quoted transport header; NULL if the quote ends before it. */
static __sum16 *quoted_sum(u8 *l4, const u8 *end, u8 protocol)
{
	u8 *sum = NULL;

	if (protocol == IPPROTO_TCP)
		sum = l4 + offsetof(struct tcphdr, check);
	else if (protocol == IPPROTO_UDP)
		sum = l4 + offsetof(struct udphdr, check);
	return sum && sum + sizeof(__sum16) <= end ? (__sum16 *)sum : NULL;
}

/* Rewrites a quoted packet and adjusts the checksum of the ICMP error around it. */
static void quote_replace(u8 *quote, const u8 *end, enum side side, const struct fl_mangling *mangling, __sum16 *icmp)
{
	bool is_ipv4 = mangling->family == AF_INET;
	const struct iphdr *ipv4 = (const struct iphdr *)quote;
	const struct ipv6hdr *ipv6 = (const struct ipv6hdr *)quote;
	__sum16 *sum, before;
	u8 protocol;

	address_replace(quote, side, mangling);
	if (!is_ipv4) /* in an IPv4 header, the change of its own checksum offsets that of the address */
		sum_replace(icmp, mangling);
	protocol = is_ipv4 ? ipv4->protocol : ipv6->nexthdr;
	sum = quoted_sum(quote + (is_ipv4 ? ipv4->ihl * 4 : (int)sizeof(*ipv6)), end, protocol);
	if (!sum || (protocol == IPPROTO_UDP && !*sum))
		return;
	before = *sum;
	sum_replace(sum, mangling);
	if (protocol == IPPROTO_UDP && !*sum)
		*sum = CSUM_MANGLED_0;
	csum_replace2(icmp, (__force __be16)before, (__force __be16)*sum);
}

/*
 * Where the transport header of the packet at skb->data begins; fills *protocol. Negative: it has none, as a later
 * fragment.
 */
static int transport_at(const struct sk_buff *skb, u8 family, u8 *protocol)
{
	const struct iphdr *ipv4 = (const void *)skb->data;
	__be16 fragment = 0;
	int at;

	if (family == AF_INET) {
		*protocol = ipv4->protocol;
		return ipv4->frag_off & htons(IP_OFFSET) ? -1 : ipv4->ihl * 4;
	}
	*protocol = ((const struct ipv6hdr *)skb->data)->nexthdr;
	at = ipv6_skip_exthdr(skb, sizeof(struct ipv6hdr), protocol, &fragment);
	return fragment & htons(IP6_OFFSET) ? -1 : at;
}

/* How much of a transport header may be changed; 0 for a protocol whose checksum covers no addresses. */
static unsigned int transport_len(u8 protocol)
{
	switch (protocol) {
	case IPPROTO_TCP:
		return sizeof(struct tcphdr);
	case IPPROTO_UDP:
		return sizeof(struct udphdr);
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		return sizeof(struct icmphdr) + QUOTE_LEN;
	default:
		return 0;
	}
}

/* Writes the transport header, len bytes of which are there. */
static void transport_replace(struct sk_buff *skb, u8 *l4, unsigned int len, u8 protocol, enum side side,
			      const struct fl_mangling *mangling)
{
	struct udphdr *udp = (struct udphdr *)l4;
	u8 *quote = l4 + sizeof(struct icmphdr), *end = l4 + len;

	switch (protocol) {
	case IPPROTO_TCP:
		if (len >= sizeof(struct tcphdr))
			transport_sum_replace(skb, &((struct tcphdr *)l4)->check, mangling);
		break;
	case IPPROTO_UDP:
		if (len < sizeof(*udp) || (!udp->check && skb->ip_summed != CHECKSUM_PARTIAL))
			break;
		transport_sum_replace(skb, &udp->check, mangling);
		if (!udp->check)
			udp->check = CSUM_MANGLED_0;
		break;
	case IPPROTO_ICMP:
		if (len >= sizeof(struct icmphdr) + sizeof(struct iphdr))
			quote_replace(quote, end, other(side), mangling, &((struct icmphdr *)l4)->checksum);
		break;
	case IPPROTO_ICMPV6:
		if (len < sizeof(struct icmphdr) + sizeof(struct ipv6hdr))
			break;
		sum_replace(&((struct icmp6hdr *)l4)->icmp6_cksum, mangling); /* of the pseudo header */
		quote_replace(quote, end, other(side), mangling, &((struct icmp6hdr *)l4)->icmp6_cksum);
		break;
	}
}

/* Writes the packet at skb->data, which is TCP, UDP, an ICMP error or a later fragment. False without memory for it. */
static bool packet_replace(struct sk_buff *skb, enum side side, const struct fl_mangling *mangling)
{
	unsigned int need = mangling->family == AF_INET ? sizeof(struct iphdr) : sizeof(struct ipv6hdr), len = 0;
	u8 protocol;
	int at = transport_at(skb, mangling->family, &protocol);

	if (at >= 0) {
		len = min_t(unsigned int, transport_len(protocol), skb->len - at);
		need = at + len;
	}
	if (skb_ensure_writable(skb, need))
		return false;
	address_replace(skb->data, side, mangling);
	if (at >= 0)
		transport_replace(skb, skb->data + at, len, protocol, side, mangling);
	return true;
}

bool fl_mangle_in(struct sk_buff *skb, const struct fl_mangling *mangling)
{
	skb_clear_hash(skb); /* it was computed over other addresses */
	return packet_replace(skb, DESTINATION, mangling);
}

/* An outgoing packet: its flow has the two ends that it had when it came in. */
static unsigned int out(struct fl_flows *flows, struct sk_buff *skb, u8 family)
{
	struct fl_mangling mangling = {.family = family};
	struct fl_flow_key key;
	struct fl_flow flow;

	if (!fl_flows_count(flows) || !fl_wire_flow_out(skb, family == AF_INET, &flow))
		return NF_ACCEPT;
	fl_flow_key_set(&key, &flow);
	if (!fl_flows_find(flows, &key, true, &mangling.to))
		return NF_ACCEPT;
	mangling.from = flow.local;
	/* A packet of the VIP's connection must not leave from another address. */
	return packet_replace(skb, SOURCE, &mangling) ? NF_ACCEPT : NF_DROP;
}

static unsigned int out_ipv4(void *flows, struct sk_buff *skb, const struct nf_hook_state *state)
{
	return out(flows, skb, AF_INET);
}

static unsigned int out_ipv6(void *flows, struct sk_buff *skb, const struct nf_hook_state *state)
{
	return out(flows, skb, AF_INET6);
}

int fl_mangle_open(struct net *net, struct fl_mangle_hooks *hooks, struct fl_flows *flows)
{
	static const struct nf_hook_ops ops[] = {
	    {.hook = out_ipv4, .pf = NFPROTO_IPV4, .hooknum = NF_INET_POST_ROUTING, .priority = NF_IP_PRI_LAST},
	    {.hook = out_ipv6, .pf = NFPROTO_IPV6, .hooknum = NF_INET_POST_ROUTING, .priority = NF_IP6_PRI_LAST},
	};
	int i, err;

	if (hooks->are_open)
		return 0;
	BUILD_BUG_ON(ARRAY_SIZE(ops) != ARRAY_SIZE(hooks->ops));
	memcpy(hooks->ops, ops, sizeof(ops));
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		hooks->ops[i].priv = flows;
	err = nf_register_net_hooks(net, hooks->ops, ARRAY_SIZE(hooks->ops));
	hooks->are_open = !err;
	return err;
}

void fl_mangle_close(struct net *net, struct fl_mangle_hooks *hooks)
{
	if (hooks->are_open)
		nf_unregister_net_hooks(net, hooks->ops, ARRAY_SIZE(hooks->ops));
	hooks->are_open = false;
}
