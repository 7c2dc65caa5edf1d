/* SPDX-License-Identifier: GPL-2.0-only */
/* The outer header of a packet that is ours, as wire.bpf.h fills it in and the encapsulations read it. */
#ifndef FAIRLEAD_OUTER_BPF_H
#define FAIRLEAD_OUTER_BPF_H

#include <linux/bpf.h>
#include <fairlead/encap.h>
#include "memory.bpf.h"

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

/* How the steer header of a packet that is sent on is rewritten: bits, in this order. */
enum onward {
	ONWARD_PROMOTE = 1, /* fl_steer_promote() */
	ONWARD_CHAIN = 2,   /* fl_steer_chain() */
	ONWARD_LATE = 4,    /* fl_steer_mark_late() */
};

static __always_inline void *packet_start(const struct xdp_md *ctx)
{
	return (void *)(long)ctx->data;
}

static __always_inline void *packet_end(const struct xdp_md *ctx)
{
	return (void *)(long)ctx->data_end;
}

#endif
