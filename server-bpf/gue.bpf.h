/* SPDX-License-Identifier: GPL-2.0-only */
/* GUE with the steer header, as encap.bpf.h calls it: outer IPv4 or IPv6 | UDP | GUE base, steer | inner packet. */
#ifndef FAIRLEAD_GUE_BPF_H
#define FAIRLEAD_GUE_BPF_H

#include <bpf/bpf_endian.h>
#include "flow.h"
#include "outer.bpf.h"
#include "rewrite.h"

static __always_inline const __u8 *gue_base(const struct outer *outer)
{
	return outer->payload + sizeof(struct udphdr);
}

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

static __always_inline enum fl_steer_error gue_parse(const struct outer *outer, const void *end, struct fl_steer *steer)
{
	return fl_steer_parse(gue_base(outer), end, steer);
}

static __always_inline bool gue_is_notice(const struct outer *outer, const void *end)
{
	return fl_notice_is(gue_base(outer), end);
}

static __always_inline __u32 gue_inner_at(const struct fl_steer *steer)
{
	return sizeof(struct udphdr) + steer->header_len;
}

static __always_inline bool gue_tag_message(const struct outer *outer, const void *end, const struct fl_steer *steer,
					    struct fl_tag_message *message)
{
	const __u8 *gue = gue_base(outer);

	return fl_tag_message(gue, steer, gue + steer->header_len, end, message);
}

static __always_inline bool gue_reaches(bool to_ipv6)
{
	(void)to_ipv6;
	return true;
}

static __always_inline void gue_route_fill(const struct outer *outer, struct bpf_fib_lookup *fib)
{
	const struct udphdr *udp = (const struct udphdr *)outer->payload;

	fib->l4_protocol = IPPROTO_UDP;
	fib->sport = udp->source;
	fib->dport = udp->dest;
}

/* The muxes' hash of the connection. */
static __always_inline __u32 gue_spread(const struct outer *outer)
{
	return bpf_ntohs(((const struct udphdr *)outer->payload)->source);
}

static __always_inline bool gue_rewrite(__u8 *gue, const void *end, __u32 how)
{
	return (!(how & ONWARD_PROMOTE) || fl_steer_promote(gue, end)) &&
	       (!(how & ONWARD_CHAIN) || fl_steer_chain(gue, end)) &&
	       (!(how & ONWARD_LATE) || fl_steer_mark_late(gue, end));
}

static __always_inline bool gue_send_on(__u8 *ip, const void *end, __u32 how, bool to_ipv6, __u8 class,
					const struct fl_address *source, const struct fl_address *next,
					struct fl_tag_message *tagged)
{
	struct fl_siphash_key key = tag_key_read();
	__u8 *udp, *gue;

	if ((void *)(ip + FL_IPV6_LEN + sizeof(struct udphdr) + FL_GUE_BASE_LEN + FL_STEER_BASE_LEN) > end)
		return false;
	udp = ip + (to_ipv6 ? FL_IPV6_LEN : FL_IPV4_LEN);
	gue = udp + sizeof(struct udphdr);
	if (!gue_rewrite(gue, end, how) || (config.tagged && !fl_tag_renew(&key, gue, end, tagged)))
		return false;
	fl_store_be16(udp + FL_UDP_AT_CHECKSUM, 0);
	if (to_ipv6)
		fl_outer_ipv6(ip, class, fl_load_be16(udp + FL_UDP_AT_LEN), source->bytes, next->bytes);
	else
		fl_outer_ipv4(ip, class, fl_load_be16(udp + FL_UDP_AT_LEN), source->bytes + 12, next->bytes + 12);
	return true;
}

#endif
