/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All servers of the benchmark `probe` in one: takes outer IPv4, UDP and GUE off packets to UDP port 6080 of any
 * address, and gives what is inside to the kernel. It is only there to answer probes; it is not measured.
 */
#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include <fairlead/list.h>

enum {
	ETH_LEN = 14,
	GUE_AT = ETH_LEN + 20 + 8,
	PROTOCOL_UDP = 17,
	GUE_PORT = 6080,
	GUE_WORDS = 31,
};

SEC("xdp")
int decapsulate(struct xdp_md *context)
{
	fl_u8 *data = (fl_u8 *)(long)context->data, *end = (fl_u8 *)(long)context->data_end;
	fl_u8 ethernet[ETH_LEN];
	fl_u32 outer_len;
	bool is_ipv4;

	if (data + GUE_AT + FL_LIST_GUE_LEN > end || fl_load_be16(data + 12) != 0x0800)
		return XDP_PASS;
	if (data[ETH_LEN + 9] != PROTOCOL_UDP || fl_load_be16(data + ETH_LEN + 22) != GUE_PORT)
		return XDP_PASS;
	is_ipv4 = data[GUE_AT + 1] == FL_LIST_GUE_IPV4;
	outer_len = GUE_AT - ETH_LEN + FL_LIST_GUE_LEN + 4 * (data[GUE_AT] & GUE_WORDS);
	__builtin_memcpy(ethernet, data, ETH_LEN);
	if (bpf_xdp_adjust_head(context, (int)outer_len))
		return XDP_ABORTED;
	data = (fl_u8 *)(long)context->data;
	end = (fl_u8 *)(long)context->data_end;
	if (data + ETH_LEN > end)
		return XDP_ABORTED;
	__builtin_memcpy(data, ethernet, ETH_LEN);
	fl_store_be16(data + 12, is_ipv4 ? 0x0800 : 0x86dd);
	return XDP_PASS;
}

char program_license[] SEC("license") = "GPL";
