/* SPDX-License-Identifier: GPL-2.0-only */
/* The list as an SRH (fairlead/list_srv6.h), as encap.bpf.h calls it: outer IPv6 | SRH | inner packet. */
#ifndef FAIRLEAD_SRV6_BPF_H
#define FAIRLEAD_SRV6_BPF_H

#include <bpf/bpf_endian.h>
#include <fairlead/list_srv6.h>
#include "outer.bpf.h"
#include "rewrite.h"

enum srv6_numbers {
	SRV6_PROTOCOL = 43,          /* of the outer header: a routing header follows */
	SRV6_FLOW_MASK = 0x0fffffff, /* traffic class and flow label */
	SRV6_AT_HOP_LIMIT = 7,
};

/* An SRH in front of an IP packet; what is behind other routing headers is the kernel's. */
static __always_inline bool srv6_is_at(bool is_ipv6, __u8 protocol, const void *l4, const void *end)
{
	const __u8 *srh = l4;

	return is_ipv6 && protocol == SRV6_PROTOCOL && (const void *)(srh + FL_LIST_SRV6_HEAD_LEN) <= end &&
	       srh[FL_LIST_SRV6_AT_TYPE] == FL_LIST_SRV6_ROUTING_TYPE &&
	       (srh[FL_LIST_SRV6_AT_NEXT] == FL_LIST_GUE_IPV4 || srh[FL_LIST_SRV6_AT_NEXT] == FL_LIST_GUE_IPV6);
}

/* The SRH does not say where the inner packet ends. */
static __always_inline bool srv6_has_len(const void *l4, __u32 len)
{
	const __u8 *srh = l4;

	return len >= (1 + (__u32)srh[FL_LIST_SRV6_AT_UNITS]) * FL_LIST_SRV6_UNIT;
}

static __always_inline enum fl_list_error srv6_read(const struct outer *outer, const struct fl_address *self,
						    const void *end, struct fl_list *list)
{
	return fl_list_srv6_parse(outer->payload, end, self, list);
}

static __always_inline bool srv6_is_notice(const struct outer *outer, const void *end)
{
	(void)outer;
	(void)end;
	return false;
}

/* srv6_read() reads all. */
static __always_inline bool srv6_read_rest(const __u8 *l4, const void *end, struct fl_list *list)
{
	(void)l4;
	(void)end;
	(void)list;
	return true;
}

static __always_inline __u32 srv6_inner_at(const struct fl_list *list)
{
	return list->header_len;
}

static __always_inline bool srv6_reaches(bool to_ipv6)
{
	return to_ipv6;
}

static __always_inline bool srv6_route_fill(const __u8 *l4, const void *end, __be32 flow, struct bpf_fib_lookup *fib)
{
	(void)l4;
	(void)end;
	fib->l4_protocol = SRV6_PROTOCOL;
	fib->flowinfo = flow & bpf_htonl(SRV6_FLOW_MASK);
	return true;
}

static __always_inline __u32 srv6_spread(const __u8 *l4, const void *end, __be32 flow)
{
	(void)l4;
	(void)end;
	return bpf_ntohl(flow);
}

/* Traffic class, flow label and length of the outer header stay. */
static __always_inline bool srv6_send_on(__u8 *ip, const void *end, const struct scratch *scratch, bool to_ipv6)
{
	const struct fl_decide_out *out = &scratch->out;
	__u8 *srh = ip + FL_IPV6_LEN;

	(void)to_ipv6;
	if ((void *)(srh + FL_LIST_SRV6_LEAST_LEN) > end || !fl_list_srv6_forward(srh, end, out->left, out->late))
		return false;
	ip[SRV6_AT_HOP_LIMIT] = FL_CHAIN_TTL;
	fl_copy(ip + FL_IPV6_AT_SOURCE, scratch->source.bytes, 16);
	fl_copy(ip + FL_IPV6_AT_DESTINATION, out->next.bytes, 16);
	return true;
}

#endif
