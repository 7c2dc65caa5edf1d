/* SPDX-License-Identifier: GPL-2.0-only */
/* The steer header in an SRH (fairlead/srv6.h), as encap.bpf.h calls it: outer IPv6 | SRH | inner packet. */
#ifndef FAIRLEAD_SRV6_BPF_H
#define FAIRLEAD_SRV6_BPF_H

#include <bpf/bpf_endian.h>
#include <fairlead/srv6.h>
#include "outer.bpf.h"
#include "rewrite.h"

enum srv6_numbers {
	SRV6_FLOW_MASK = 0x0fffffff, /* traffic class and flow label */
	SRV6_AT_HOP_LIMIT = 7,
};

static __always_inline bool srv6_is_at(bool is_ipv6, __u8 protocol, const void *l4, const void *end)
{
	return is_ipv6 && protocol == FL_SRV6_PROTOCOL && fl_srv6_is(l4, end);
}

/* The SRH does not say where the inner packet ends. */
static __always_inline bool srv6_has_len(const void *l4, __u32 len)
{
	const __u8 *srh = l4;

	return len >= (1 + srh[FL_SRV6_AT_UNITS]) * FL_SRV6_UNIT;
}

static __always_inline enum fl_steer_error srv6_parse(const struct outer *outer, const void *end,
						      struct fl_steer *steer)
{
	return fl_srv6_parse(outer->payload, end, steer);
}

static __always_inline bool srv6_is_notice(const struct outer *outer, const void *end)
{
	(void)outer;
	(void)end;
	return false;
}

static __always_inline __u32 srv6_inner_at(const struct fl_steer *steer)
{
	return steer->header_len;
}

static __always_inline bool srv6_tag_message(const struct outer *outer, const void *end, const struct fl_steer *steer,
					     struct fl_tag_message *message)
{
	return fl_srv6_tag_message(outer->payload, steer, outer->payload + steer->header_len, end, message);
}

static __always_inline bool srv6_reaches(bool to_ipv6)
{
	return to_ipv6;
}

/* The flow label stays, and with it the path. */
static __always_inline void srv6_route_fill(const struct outer *outer, struct bpf_fib_lookup *fib)
{
	fib->l4_protocol = FL_SRV6_PROTOCOL;
	fib->flowinfo = outer->flow & bpf_htonl(SRV6_FLOW_MASK);
}

static __always_inline __u32 srv6_spread(const struct outer *outer)
{
	return bpf_ntohl(outer->flow);
}

static __always_inline bool srv6_rewrite(__u8 *srh, const void *end, __u32 how, const struct fl_address *next)
{
	return (!(how & ONWARD_PROMOTE) || fl_srv6_promote(srh, end)) &&
	       (!(how & ONWARD_CHAIN) || fl_srv6_chain(srh, end, next)) &&
	       (!(how & ONWARD_LATE) || fl_srv6_mark_late(srh, end));
}

/* Traffic class, flow label and length of the outer header stay. */
static __always_inline bool srv6_send_on(__u8 *ip, const void *end, __u32 how, bool to_ipv6, __u8 class,
					 const struct fl_address *source, const struct fl_address *next,
					 struct fl_tag_message *tagged)
{
	struct fl_siphash_key key = tag_key_read();
	__u8 *srh = ip + FL_IPV6_LEN;

	(void)to_ipv6;
	(void)class;
	if ((void *)(srh + FL_SRV6_FOREIGN_LEN) > end || !srv6_rewrite(srh, end, how, next) ||
	    (config.tagged && !fl_srv6_tag_renew(&key, srh, end, tagged)))
		return false;
	ip[SRV6_AT_HOP_LIMIT] = FL_CHAIN_TTL;
	fl_copy(ip + FL_IPV6_AT_SOURCE, source->bytes, 16);
	fl_copy(ip + FL_IPV6_AT_DESTINATION, next->bytes, 16);
	return true;
}

#endif
