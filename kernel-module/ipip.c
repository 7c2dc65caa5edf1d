// SPDX-License-Identifier: GPL-2.0-only
/*
 * The paper's own format, IPv4 in IPv4 with an option: skb->data is at the inner header. The option names one former owner
 * and no service, and has no room for a tag.
 */
#include "act.h"
#include "receive.h"
#include "wire.h"

#include <net/ip.h>
#include <net/route.h>
#include <net/xfrm.h>

#include <fairlead/ipip.h>

enum {
	/* Before the kernel's own tunnels (1 and up), which get what is not ours. */
	IPIP_PRIORITY = 0,
};

static enum fl_list_error parse(struct fl_arrival *arrival)
{
	const struct sk_buff *skb = arrival->skb;

	return fl_ipip_parse(skb_network_header(skb), fl_wire_end(skb), arrival->setup->config.ipip_service,
			     &arrival->in.list);
}

/* The former owner that the option names is always IPv4. That it came from a late mux has no place in it. */
static enum fl_counter send_on(struct fl_arrival *arrival)
{
	struct flowi4 fl4 = {.flowi4_proto = IPPROTO_IPIP};
	struct sk_buff *skb = arrival->skb;
	struct rtable *route = fl_chain_route_ipv4(arrival, &fl4, FL_IPIP_LEN + skb->len);

	if (!route)
		return (enum fl_counter)FL_CHAIN_NOWHERE;
	if (!fl_chain_sum_complete(skb))
		goto err_route;
	skb_push(skb, FL_IPIP_LEN);
	if (skb_ensure_writable(skb, FL_IPIP_LEN) || skb_cow_head(skb, LL_RESERVED_SPACE(route->dst.dev)))
		goto err_route;
	fl_ipip_forward(skb->data, skb->data + FL_IPIP_LEN, (const u8 *)&fl4.saddr, (const u8 *)&fl4.daddr);
	fl_chain_forget_arrival(skb);
	memset(IPCB(skb), 0, sizeof(*IPCB(skb))); /* IP has parsed the option of the packet as it came in */
	skb_dst_set(skb, &route->dst);
	ip_local_out(arrival->net, NULL, skb);
	return FL_COUNTER_CHAIN;

err_route:
	ip_rt_put(route);
	return fl_act_refuse(skb, FL_COUNTER_DROP_NO_ROOM);
}

/* IP calls it for each packet of protocol 4. -EINVAL: not ours, for the kernel's own tunnels. */
static int receive(struct sk_buff *skb)
{
	struct fl_arrival arrival = {.encap = &fl_ipip, .net = dev_net(skb->dev), .skb = skb, .came_to = FL_OUTER_IPV4};
	const struct fl_address *self;

	arrival.instance = fl_instance_of(arrival.net);
	arrival.setup = arrival.instance ? rcu_dereference(arrival.instance->setup) : NULL;
	if (!arrival.setup || !arrival.setup->config.ipip_service)
		return -EINVAL;
	self = &arrival.setup->self[FL_OUTER_IPV4];
	if (memcmp(&ip_hdr(skb)->daddr, self->bytes + 12, sizeof(ip_hdr(skb)->daddr)))
		return -EINVAL;
	return fl_receive(&arrival);
}

/* ICMP errors about chained packets are ignored: the client retransmits. */
static int receive_error(struct sk_buff *skb, u32 info)
{
	return -ENOENT;
}

static struct xfrm_tunnel tunnel = {
    .handler = receive,
    .err_handler = receive_error,
    .priority = IPIP_PRIORITY,
};

static int open(void)
{
	return xfrm4_tunnel_register(&tunnel, AF_INET);
}

static void close(void)
{
	xfrm4_tunnel_deregister(&tunnel, AF_INET);
}

const struct fl_encap fl_ipip = {
    .has_options = true,
    .parse = parse,
    .send_on = send_on,
    .open = open,
    .close = close,
};
