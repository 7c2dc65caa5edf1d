/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All servers of the benchmark `probe` in one: takes outer IPv4, UDP and GUE off packets to UDP port 6080 of any
 * address, and gives what is inside to the kernel. It is only there to answer probes; it is not measured.
 */
#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include <fairlead/ip.h>
#include <fairlead/list.h>

enum {
	GUE_AT = FL_ETHERNET_LEN + FL_IPV4_LEN + FL_UDP_LEN,
	PROTOCOL_UDP = 17,
	GUE_PORT = 6080,
	GUE_WORDS = 31,
};

SEC("xdp")
int decapsulate(struct xdp_md *context)
{
	fl_u8 *data = (fl_u8 *)(long)context->data, *end = (fl_u8 *)(long)context->data_end;
	fl_u8 ethernet[FL_ETHERNET_LEN];
	fl_u32 outer_len;
	bool is_ipv4;

	if (data + GUE_AT + FL_LIST_GUE_LEN > end || fl_load_be16(data + 12) != FL_TYPE_IPV4)
		return XDP_PASS;
	if (data[FL_ETHERNET_LEN + 9] != PROTOCOL_UDP || fl_load_be16(data + FL_ETHERNET_LEN + 22) != GUE_PORT)
		return XDP_PASS;
	is_ipv4 = data[GUE_AT + 1] == FL_LIST_GUE_IPV4;
	outer_len = GUE_AT - FL_ETHERNET_LEN + FL_LIST_GUE_LEN + 4 * (data[GUE_AT] & GUE_WORDS);
	__builtin_memcpy(ethernet, data, FL_ETHERNET_LEN);
	if (bpf_xdp_adjust_head(context, (int)outer_len))
		return XDP_ABORTED;
	data = (fl_u8 *)(long)context->data;
	end = (fl_u8 *)(long)context->data_end;
	if (data + FL_ETHERNET_LEN > end)
		return XDP_ABORTED;
	__builtin_memcpy(data, ethernet, FL_ETHERNET_LEN);
	fl_store_be16(data + 12, is_ipv4 ? FL_TYPE_IPV4 : FL_TYPE_IPV6);
	return XDP_PASS;
}

char program_license[] SEC("license") = "GPL";
