/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hands the same packet to a program again and again within one BPF_PROG_TEST_RUN, which repeats on the packet as it was
 * left: puts the packet's head back where it was, writes its first bytes again, and calls the program by a tail call.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "server_loop.h"

char program_license[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct server_loop);
} original SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} subject SEC(".maps");

SEC("xdp.frags")
int server_loop(struct xdp_md *ctx)
{
	__u32 slot = 0, len = (__u32)bpf_xdp_get_buff_len(ctx);
	const struct server_loop *from = bpf_map_lookup_elem(&original, &slot);
	void *data;

	/* Also where it did not move, so that each packet costs the same here. */
	if (!from || bpf_xdp_adjust_head(ctx, (int)(len - from->len)))
		return XDP_ABORTED;
	data = (void *)(long)ctx->data;
	if (data + sizeof(from->bytes) > (void *)(long)ctx->data_end)
		return XDP_ABORTED;
	__builtin_memcpy(data, from->bytes, sizeof(from->bytes));
	bpf_tail_call_static(ctx, &subject, 0);
	return XDP_ABORTED;
}
