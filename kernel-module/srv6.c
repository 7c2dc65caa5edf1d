// SPDX-License-Identifier: GPL-2.0-only
/*
 * The list as segments of an SRH (fairlead/list_srv6.h): skb->data is at the SRH. Packets are taken behind the firewall, in front
 * of the kernel's own handling of SRHs, which needs seg6_enabled and knows no connection.
 */
#include "act.h"
#include "receive.h"
#include "wire.h"

#include <linux/netfilter_ipv6.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>

#include <fairlead/list_srv6.h>

static enum fl_list_error parse(struct fl_arrival *arrival)
{
	const struct sk_buff *skb = arrival->skb;
	struct fl_list *list = &arrival->in.list;
	enum fl_list_error error =
	    fl_list_srv6_parse(skb->data, fl_wire_end(skb), &arrival->setup->self[FL_OUTER_IPV6], list);

	arrival->inner_at = list->header_len;
	return error;
}

/* Traffic class, flow label and length of the outer header stay. */
static enum fl_counter send_on(struct fl_arrival *arrival)
{
	struct sk_buff *skb = arrival->skb;
	unsigned int len = sizeof(struct ipv6hdr) + arrival->inner_at;
	struct flowi6 fl6 = {.flowi6_proto = IPPROTO_ROUTING, .flowlabel = ip6_flowinfo(ipv6_hdr(skb))};
	struct dst_entry *route;
	struct ipv6hdr *ip;

	route = fl_chain_route_ipv6(arrival, &fl6, sizeof(struct ipv6hdr) + skb->len);
	if (!route)
		return (enum fl_counter)FL_CHAIN_NOWHERE;
	if (!skb_is_gso(skb) && !fl_chain_sum_complete(skb)) /* each segment of a merged packet gets its own sum */
		goto err_route;
	skb_push(skb, sizeof(struct ipv6hdr));
	if (skb_ensure_writable(skb, len) || skb_cow_head(skb, LL_RESERVED_SPACE(route->dev)))
		goto err_route;
	ip = (struct ipv6hdr *)skb->data;
	if (!fl_list_srv6_forward((u8 *)(ip + 1), fl_wire_end(skb), arrival->out.left, arrival->out.late))
		goto err_route; /* never: it has been parsed */
	ip->saddr = fl6.saddr;
	ip->daddr = fl6.daddr;
	ip->hop_limit = FL_CHAIN_TTL;
	fl_chain_forget_arrival(skb);
	memset(IP6CB(skb), 0, sizeof(*IP6CB(skb)));
	skb_dst_set(skb, route);
	ip6_local_out(arrival->net, NULL, skb);
	return FL_COUNTER_CHAIN;

err_route:
	dst_release(route);
	return fl_act_refuse(skb, FL_COUNTER_DROP_NO_ROOM);
}

/*
 * Whether the packet, whose routing header follows the IP header, is one of this server's: an SRH in front of an IP packet.
 * What is behind other routing headers is the kernel's.
 */
static bool is_ours(const struct fl_setup *setup, struct sk_buff *skb)
{
	const struct fl_address *self = &setup->self[FL_OUTER_IPV6];
	const u8 *srh;

	if (memcmp(&ipv6_hdr(skb)->daddr, self->bytes, sizeof(self->bytes)))
		return false;
	if (!pskb_may_pull(skb, sizeof(struct ipv6hdr) + FL_LIST_SRV6_HEAD_LEN))
		return false;
	srh = skb_network_header(skb) + sizeof(struct ipv6hdr);
	return srh[FL_LIST_SRV6_AT_TYPE] == FL_LIST_SRV6_ROUTING_TYPE &&
	       (srh[FL_LIST_SRV6_AT_NEXT] == FL_LIST_GUE_IPV4 || srh[FL_LIST_SRV6_AT_NEXT] == FL_LIST_GUE_IPV6);
}

/* IP calls it for each packet to one of this host's addresses. */
static unsigned int receive(void *priv, struct sk_buff *skb, const struct nf_hook_state *state)
{
	struct fl_arrival arrival = {.encap = &fl_srv6, .net = state->net, .skb = skb, .came_to = FL_OUTER_IPV6};

	if (likely(ipv6_hdr(skb)->nexthdr != IPPROTO_ROUTING))
		return NF_ACCEPT;
	arrival.instance = fl_instance_of(state->net);
	arrival.setup = arrival.instance ? rcu_dereference(arrival.instance->setup) : NULL;
	if (!arrival.setup || !is_ours(arrival.setup, skb))
		return NF_ACCEPT;
	skb_pull_rcsum(skb, sizeof(struct ipv6hdr));
	fl_receive(&arrival);
	return NF_STOLEN;
}

static const struct nf_hook_ops hook = {
    .hook = receive,
    .pf = NFPROTO_IPV6,
    .hooknum = NF_INET_LOCAL_IN,
    .priority = NF_IP6_PRI_LAST,
};

static int __net_init namespace_init(struct net *net)
{
	return nf_register_net_hook(net, &hook);
}

static void __net_exit namespace_exit(struct net *net)
{
	nf_unregister_net_hook(net, &hook);
}

static struct pernet_operations namespaces = {
    .init = namespace_init,
    .exit = namespace_exit,
};

static int open(void)
{
	return register_pernet_subsys(&namespaces);
}

static void close(void)
{
	unregister_pernet_subsys(&namespaces);
	synchronize_net(); /* for packets that are in the hook */
}

const struct fl_encap fl_srv6 = {
    .is_merged = true,
    .is_ipv6_only = true,
    .parse = parse,
    .send_on = send_on,
    .open = open,
    .close = close,
};
