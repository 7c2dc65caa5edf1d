/* SPDX-License-Identifier: GPL-2.0-only */
/* GUE with the list header, as encap.bpf.h calls it: outer IPv4 or IPv6 | UDP | GUE base, list | inner packet. */
#ifndef FAIRLEAD_GUE_BPF_H
#define FAIRLEAD_GUE_BPF_H

#include <bpf/bpf_endian.h>
#include "outer.bpf.h"
#include "rewrite.h"

static __always_inline bool gue_is_at(bool is_ipv6, __u8 protocol, const void *l4, const void *end)
{
	const struct udphdr *udp = l4;

	(void)is_ipv6;
	return protocol == IPPROTO_UDP && (const void *)(udp + 1) <= end && udp->dest == bpf_htons(config.port);
}

static __always_inline bool gue_has_len(const void *l4, __u32 len)
{
	const struct udphdr *udp = l4;

	return len >= sizeof(*udp) && bpf_ntohs(udp->len) == len;
}

static __always_inline enum fl_list_error gue_read(const struct outer *outer, const struct fl_address *self,
						   const void *end, struct fl_list *list)
{
	(void)self;
	return fl_list_parse_head(outer->payload + sizeof(struct udphdr), end,
				  outer->payload_len - (__u32)sizeof(struct udphdr), false, outer->is_ipv6, list);
}

static __always_inline bool gue_is_notice(const struct outer *outer, const void *end)
{
	const __u8 *gue = outer->payload + sizeof(struct udphdr);

	return (const void *)(gue + FL_LIST_GUE_LEN) <= end && gue[1] == FL_LIST_GUE_NOTICE;
}

static __always_inline bool gue_read_rest(const __u8 *l4, const void *end, struct fl_list *list)
{
	const __u8 *gue = l4 + sizeof(struct udphdr);

	return fl_list_load_all(gue, end, list) && (!(list->flags & FL_LIST_TAG) || fl_list_load_tag(gue, end, list));
}

static __always_inline __u32 gue_inner_at(const struct fl_list *list)
{
	return sizeof(struct udphdr) + list->header_len;
}

static __always_inline bool gue_reaches(bool to_ipv6)
{
	(void)to_ipv6;
	return true;
}

static __always_inline bool gue_route_fill(const __u8 *l4, const void *end, __be32 flow, struct bpf_fib_lookup *fib)
{
	const struct udphdr *udp = (const struct udphdr *)l4;

	(void)flow;
	if ((const void *)(udp + 1) > end)
		return false;
	fib->l4_protocol = IPPROTO_UDP;
	fib->sport = udp->source;
	fib->dport = udp->dest;
	return true;
}

/* The muxes' hash of the connection. */
static __always_inline __u32 gue_spread(const __u8 *l4, const void *end, __be32 flow)
{
	(void)flow;
	return (const void *)(l4 + sizeof(struct udphdr)) > end ? 0 : fl_load_be16(l4);
}

static __always_inline bool gue_send_on(__u8 *ip, const void *end, const struct scratch *scratch, bool to_ipv6)
{
	const struct fl_decide_out *out = &scratch->out;
	__u8 class = scratch->arrival.class, *udp;

	if ((void *)(ip + FL_IPV6_LEN + sizeof(struct udphdr)) > end)
		return false;
	udp = ip + (to_ipv6 ? FL_IPV6_LEN : FL_IPV4_LEN);
	if (!fl_list_forward(udp + sizeof(struct udphdr), end, &scratch->in.list, arrival_self(scratch), out->left,
			     out->late))
		return false;
	fl_store_be16(udp + FL_UDP_AT_CHECKSUM, 0);
	if (to_ipv6)
		fl_outer_ipv6(ip, class, fl_load_be16(udp + FL_UDP_AT_LEN), scratch->source.bytes, out->next.bytes);
	else
		fl_outer_ipv4(ip, class, fl_load_be16(udp + FL_UDP_AT_LEN), scratch->source.bytes + 12,
			      out->next.bytes + 12);
	return true;
}

#endif
