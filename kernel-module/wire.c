// SPDX-License-Identifier: GPL-2.0-only
#include "wire.h"

#include <linux/ip.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ipv6.h>

#include <fairlead/list_srv6.h>

enum {
	IPV4_LEN_MAX = 60,
	HEADER_LEN_MAX = FL_LIST_SRV6_MAX_LEN,
	PULL_LEN = HEADER_LEN_MAX + IPV4_LEN_MAX + sizeof(struct fl_icmp_error) + IPV4_LEN_MAX + sizeof(struct tcphdr),
};

static_assert((int)HEADER_LEN_MAX >= (int)sizeof(struct udphdr) + FL_LIST_MAX_LEN);
static_assert(FL_FLOW_IPV4 == AF_INET && FL_FLOW_IPV6 == AF_INET6);

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
	if (fl_address_is_ipv4(&source))
		memset(&source, 0, sizeof(source));
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
	/* Set by IP when it reassembles; IPSKB_FRAG_COMPLETE is set when it fragments. */
	if (outer_is_ipv4(skb))
		return IPCB(skb)->frag_max_size;
	return IP6CB(skb)->flags & IP6SKB_FRAGMENTED;
}

bool fl_wire_flow(const struct sk_buff *skb, unsigned int inner_at, bool is_ipv4, struct fl_flow *flow,
		  struct fl_flow_headers *headers)
{
	return skb->len >= inner_at &&
	       fl_flow_read(skb->data + inner_at, fl_wire_end(skb), skb->len - inner_at, is_ipv4, false, flow, headers);
}

bool fl_wire_flow_out(const struct sk_buff *skb, bool is_ipv4, struct fl_flow *flow)
{
	struct fl_flow_headers headers;

	return fl_flow_read(skb->data, fl_wire_end(skb), skb->len, is_ipv4, true, flow, &headers) && flow->protocol;
}
