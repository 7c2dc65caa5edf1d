/* SPDX-License-Identifier: GPL-2.0-only */
/* The outer header of a packet that is ours, as wire.bpf.h fills it in and the encapsulations read it. */
#ifndef FAIRLEAD_OUTER_BPF_H
#define FAIRLEAD_OUTER_BPF_H

#include <linux/bpf.h>
#include "state.bpf.h"

struct outer {
	enum fl_encap_number encap;
	__u8 *payload;     /* behind an IP header without options */
	__u32 payload_len; /* as the IP header says */
	__u32 ip_len;      /* of the IP header */
	__u8 class;        /* DSCP and ECN */
	__be32 flow;       /* the first word of an IPv6 header, whose last 20 bits are its flow label; else 0 */
	bool is_ipv6;
	bool is_mapped; /* an IPv4-mapped IPv6 source, which would match a peer's IPv4 prefix */
	struct fl_address source;
	bool malformed;
	enum fl_counter why; /* if malformed */
};

static __always_inline void *packet_start(const struct xdp_md *ctx)
{
	return (void *)(long)ctx->data;
}

static __always_inline void *packet_end(const struct xdp_md *ctx)
{
	return (void *)(long)ctx->data_end;
}

/*
 * What is so many bytes behind the outer IP header of a noted packet, at most 255 from its begin. The mask is for the
 * verifier, and the empty statement for clang, which would add the offset once more for each access, so that no comparison
 * proves any of them.
 */
static __always_inline __u8 *arrival_part(struct xdp_md *ctx, const struct arrival *arrival, __u32 offset)
{
	__u32 at = (arrival->at + offset) & 0xff;

	__asm__ volatile("" : "+r"(at));
	return (__u8 *)packet_start(ctx) + at;
}

/* The outer destination, which is ours. */
static __always_inline const struct fl_address *arrival_self(const struct scratch *scratch)
{
	return scratch->arrival.is_ipv6 ? &scratch->in.self[1] : &scratch->in.self[0];
}

#endif
