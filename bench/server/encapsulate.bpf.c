/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The mux of server_module: puts outer IPv4, UDP, GUE and a list header without candidates in front of TCP packets to
 * 10.99.0.1, for the server 10.1.0.21, and gives them to the kernel, which forwards them. All other packets pass
 * unchanged. It is only there to load a server; it is not measured.
 */
#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include <fairlead/ip.h>
#include <fairlead/list.h>

enum {
	HEADER_LEN = FL_LIST_AT_CANDIDATES,
	OUTER_LEN = FL_IPV4_LEN + FL_UDP_LEN + HEADER_LEN,
	PROTOCOL_TCP = 6,
	PROTOCOL_UDP = 17,
	GUE_PORT = 6080,
	VIP = 0x0a630001,
};

/* Without length and checksum, which are at 2 and 10. */
static const fl_u8 outer_ip[FL_IPV4_LEN] = {0x45, 0, 0,  0, 0, 0,  0x40, 0, 64, PROTOCOL_UDP,
					    0,    0, 10, 1, 0, 12, 10,   1, 0,  21};

static __always_inline fl_u16 checksum(const fl_u8 *ip)
{
	fl_u32 sum = 0;
	int i;

	for (i = 0; i < FL_IPV4_LEN; i += 2)
		sum += fl_load_be16(ip + i);
	sum = (sum & 0xffff) + (sum >> 16);
	return (fl_u16) ~((sum & 0xffff) + (sum >> 16));
}

SEC("xdp")
int encapsulate(struct xdp_md *context)
{
	struct fl_list list = {.inner_protocol = FL_LIST_GUE_IPV4, .service = 1, .generation = 1};
	fl_u8 *data = (fl_u8 *)(long)context->data, *end = (fl_u8 *)(long)context->data_end;
	fl_u8 ethernet[FL_ETHERNET_LEN], *udp;
	fl_u16 ports, inner_len;

	if (data + FL_ETHERNET_LEN + FL_IPV4_LEN + 4 > end || fl_load_be16(data + 12) != FL_TYPE_IPV4)
		return XDP_PASS;
	if (data[FL_ETHERNET_LEN + 9] != PROTOCOL_TCP || fl_load_be32(data + FL_ETHERNET_LEN + 16) != VIP)
		return XDP_PASS;
	inner_len = fl_load_be16(data + FL_ETHERNET_LEN + 2);
	ports = fl_load_be16(data + FL_ETHERNET_LEN + FL_IPV4_LEN);
	__builtin_memcpy(ethernet, data, FL_ETHERNET_LEN);
	if (bpf_xdp_adjust_head(context, -OUTER_LEN))
		return XDP_ABORTED;
	data = (fl_u8 *)(long)context->data;
	end = (fl_u8 *)(long)context->data_end;
	if (data + FL_ETHERNET_LEN + OUTER_LEN > end)
		return XDP_ABORTED;
	__builtin_memcpy(data, ethernet, FL_ETHERNET_LEN);
	__builtin_memcpy(data + FL_ETHERNET_LEN, outer_ip, FL_IPV4_LEN);
	fl_store_be16(data + FL_ETHERNET_LEN + 2, inner_len + OUTER_LEN);
	fl_store_be16(data + FL_ETHERNET_LEN + 10, checksum(data + FL_ETHERNET_LEN));
	udp = data + FL_ETHERNET_LEN + FL_IPV4_LEN;
	fl_store_be16(udp, 0xC000 | ports >> 2);
	fl_store_be16(udp + 2, GUE_PORT);
	fl_store_be16(udp + 4, inner_len + FL_UDP_LEN + HEADER_LEN);
	fl_store_be16(udp + 6, 0);
	fl_list_write(&list, udp + FL_UDP_LEN);
	return XDP_PASS;
}

char program_license[] SEC("license") = "GPL";
