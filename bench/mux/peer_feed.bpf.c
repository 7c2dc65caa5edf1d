/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hands packets of numbered flows to a peer's XDP program, within one BPF_PROG_TEST_RUN.
 *
 * The kernel repeats a program on one buffer, which the peer's program has made longer in front and in which it has
 * overwritten the Ethernet header. So feed() cuts off what the previous repetition has added, writes the Ethernet
 * header again and the next flow's source, and calls the peer by a tail call. keep() and grow() stand in place of the
 * peer and measure what all that costs: keep() returns at once, grow() makes room for a header and writes none.
 */
#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "peer_feed.h"

enum {
	AT_SOURCE = 26,
	AT_PORT = 34,
	MIX = -1640531535, /* 2654435761 as in flow_packet.c */
};

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__type(key, __u32);
	__type(value, __u32);
	__uint(max_entries, 1);
} peer SEC(".maps");

__u32 flows;  /* known ones; 0: each packet is of a new flow */
__u32 at;     /* in order */
__u32 fresh;  /* new flows so far */
__u32 header; /* bytes that grow() makes room for */
__u32 order[PEER_FLOWS_MAX];

static __always_inline __u32 next_flow(void)
{
	__u32 now = at;

	if (!flows)
		return PEER_FRESH + fresh++;
	at = now + 1 < flows ? now + 1 : 0;
	return order[now & (PEER_FLOWS_MAX - 1)];
}

SEC("xdp")
int feed(struct xdp_md *context)
{
	long grown = (long)context->data_end - (long)context->data - PEER_FRAME;
	__u32 flow = next_flow();
	__u8 *data, *end;

	if (grown > 0 && bpf_xdp_adjust_head(context, (int)grown))
		return XDP_ABORTED;
	data = (void *)(long)context->data;
	end = (void *)(long)context->data_end;
	if (data + PEER_FRAME > end)
		return XDP_ABORTED;
	*(__u32 *)data = bpf_htonl(0x02000000);
	*(__u32 *)(data + 4) = bpf_htonl(0x00010200);
	*(__u32 *)(data + 8) = bpf_htonl(0x00000002);
	*(__u16 *)(data + 12) = bpf_htons(0x0800);
	*(__u32 *)(data + AT_SOURCE) = bpf_htonl(0x0b000000 | (flow * (__u32)MIX & 0x00ffffff));
	*(__u16 *)(data + AT_PORT) = bpf_htons((__u16)(1024 + (flow >> 24)));
	bpf_tail_call(context, &peer, 0);
	return XDP_ABORTED;
}

SEC("xdp")
int keep(struct xdp_md *context)
{
	(void)context;
	return XDP_TX;
}

SEC("xdp")
int grow(struct xdp_md *context)
{
	return bpf_xdp_adjust_head(context, -(int)header) ? XDP_ABORTED : XDP_TX;
}

char program_license[] SEC("license") = "GPL";
