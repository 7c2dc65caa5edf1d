// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "packet.h"

enum {
	QUOTED_TRANSPORT_LEN = 8,
};

static const fl_u8 mac_of_mux[6] = {0x02, 0, 0, 0, 0, 0x11};
static const fl_u8 mac_of_server[6] = {0x02, 0, 0, 0, 0, 0x22};

struct fl_address packet_address(const char *text)
{
	struct fl_address address;
	fl_u8 ipv4[4];

	if (inet_pton(AF_INET, text, ipv4) == 1)
		return fl_address_from_ipv4(ipv4);
	if (inet_pton(AF_INET6, text, address.bytes) == 1)
		return address;
	fprintf(stderr, "packet: '%s' is no address\n", text);
	exit(1);
}

struct packet_flow packet_reverse(const struct packet_flow *flow)
{
	struct packet_flow back = {flow->destination, flow->source, flow->destination_port, flow->source_port};

	return back;
}

fl_u16 packet_checksum(const fl_u8 *data, size_t len, fl_u32 sum)
{
	size_t i;

	for (i = 0; i < len; i++)
		sum += i % 2 ? data[i] : (fl_u32)data[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (fl_u16)~sum;
}

void packet_add_bytes(struct packet *packet, const void *bytes, size_t len)
{
	if (packet->len + len > sizeof(packet->data)) {
		fprintf(stderr, "packet: longer than %d bytes\n", PACKET_MAX);
		exit(1);
	}
	memcpy(packet->data + packet->len, bytes, len);
	packet->len += len;
}

void packet_add_ethernet(struct packet *packet, const fl_u8 *destination, const fl_u8 *source, fl_u16 type)
{
	fl_u8 header[FL_ETHERNET_LEN];

	memcpy(header, destination, 6);
	memcpy(header + 6, source, 6);
	fl_store_be16(header + 12, type);
	packet_add_bytes(packet, header, sizeof(header));
}

static size_t add_ipv4(struct packet *packet, const struct packet_flow *flow, fl_u8 protocol, size_t payload)
{
	fl_u8 ip[20] = {0x45, 0, 0, 0, 0x12, 0x34, 0x40, 0, 64, protocol};

	fl_store_be16(ip + 2, (fl_u16)(sizeof(ip) + payload));
	memcpy(ip + 12, flow->source.bytes + 12, 4);
	memcpy(ip + 16, flow->destination.bytes + 12, 4);
	fl_store_be16(ip + 10, packet_checksum(ip, sizeof(ip), 0));
	packet_add_bytes(packet, ip, sizeof(ip));
	return packet->len;
}

static size_t add_ipv6(struct packet *packet, const struct packet_flow *flow, fl_u8 protocol, size_t payload)
{
	fl_u8 ip[40] = {0x60, 0, 0, 0, 0, 0, protocol, 64};

	fl_store_be16(ip + 4, (fl_u16)payload);
	memcpy(ip + 8, flow->source.bytes, 16);
	memcpy(ip + 24, flow->destination.bytes, 16);
	packet_add_bytes(packet, ip, sizeof(ip));
	return packet->len;
}

/* Adds the IP header of a packet with so much payload; returns where the payload begins. */
static size_t add_ip(struct packet *packet, const struct packet_flow *flow, fl_u8 protocol, size_t payload)
{
	if (fl_address_is_ipv4(&flow->source))
		return add_ipv4(packet, flow, protocol, payload);
	return add_ipv6(packet, flow, protocol, payload);
}

/* The checksum of a transport header and its data, with the pseudo header in front. */
static fl_u16 transport_checksum(const struct packet *packet, const struct packet_flow *flow, fl_u8 protocol, size_t at)
{
	bool ipv4 = fl_address_is_ipv4(&flow->source);
	size_t len = packet->len - at;
	fl_u8 pseudo[40] = {0};
	size_t address_len = ipv4 ? 4 : 16;

	memcpy(pseudo, flow->source.bytes + 16 - address_len, address_len);
	memcpy(pseudo + address_len, flow->destination.bytes + 16 - address_len, address_len);
	fl_store_be32(pseudo + 2 * address_len, (fl_u32)len);
	pseudo[2 * address_len + 7] = protocol;
	return packet_checksum(packet->data + at, len, (fl_u16)~packet_checksum(pseudo, 2 * address_len + 8, 0));
}

void packet_add_tcp(struct packet *packet, const struct packet_tcp *tcp)
{
	fl_u8 header[20] = {0};
	size_t at = add_ip(packet, &tcp->flow, 6, sizeof(header));

	fl_store_be16(header, tcp->flow.source_port);
	fl_store_be16(header + 2, tcp->flow.destination_port);
	fl_store_be32(header + 4, tcp->sequence);
	fl_store_be32(header + 8, tcp->acknowledgement);
	header[12] = 5 << 4;
	header[13] = tcp->flags;
	fl_store_be16(header + 14, 0xffff);
	packet_add_bytes(packet, header, sizeof(header));
	fl_store_be16(packet->data + at + 16, transport_checksum(packet, &tcp->flow, 6, at));
}

void packet_add_udp(struct packet *packet, const struct packet_flow *flow, size_t payload)
{
	fl_u8 header[8] = {0};
	size_t at = add_ip(packet, flow, 17, sizeof(header) + payload);
	size_t i;

	fl_store_be16(header, flow->source_port);
	fl_store_be16(header + 2, flow->destination_port);
	fl_store_be16(header + 4, (fl_u16)(sizeof(header) + payload));
	packet_add_bytes(packet, header, sizeof(header));
	for (i = 0; i < payload; i++)
		packet_add_bytes(packet, &(fl_u8){(fl_u8)i}, 1);
	fl_store_be16(packet->data + at + 6, transport_checksum(packet, flow, 17, at));
}

void packet_add_icmp_error(struct packet *packet, const struct fl_address *router, const struct packet *quoted)
{
	bool ipv4 = quoted->data[0] >> 4 == 4;
	size_t quoted_len = (ipv4 ? 20 : 40) + QUOTED_TRANSPORT_LEN;
	fl_u8 protocol = ipv4 ? 1 : 58;
	fl_u8 header[FL_ICMP_LEN] = {0};
	struct packet_flow flow = {.source = *router};
	size_t at;

	if (ipv4)
		flow.destination = fl_address_from_ipv4(quoted->data + 12);
	else
		memcpy(flow.destination.bytes, quoted->data + 8, 16);
	header[0] = ipv4 ? 3 : 2; /* destination unreachable, fragmentation needed; packet too big */
	header[1] = ipv4 ? 4 : 0;
	fl_store_be16(header + 6, 1400);
	at = add_ip(packet, &flow, protocol, sizeof(header) + quoted_len);
	packet_add_bytes(packet, header, sizeof(header));
	packet_add_bytes(packet, quoted->data, quoted_len);
	if (ipv4)
		fl_store_be16(packet->data + at + 2, packet_checksum(packet->data + at, packet->len - at, 0));
	else
		fl_store_be16(packet->data + at + 2, transport_checksum(packet, &flow, protocol, at));
}

void packet_begin_outer(struct packet *packet, const struct fl_address *source, const struct fl_address *destination,
			fl_u16 port)
{
	struct packet_flow flow = {.source = *source, .destination = *destination};
	bool ipv4 = fl_address_is_ipv4(source);
	fl_u8 udp[8] = {0xc0, 0x01};

	packet->len = 0;
	packet_add_ethernet(packet, mac_of_server, mac_of_mux, ipv4 ? FL_TYPE_IPV4 : FL_TYPE_IPV6);
	add_ip(packet, &flow, 17, 0);
	fl_store_be16(udp + 2, port);
	packet_add_bytes(packet, udp, sizeof(udp));
}

void packet_finish_outer(struct packet *packet)
{
	fl_u8 *ip = packet->data + PACKET_OUTER_AT;
	bool ipv4 = fl_load_be16(packet->data + 12) == FL_TYPE_IPV4;
	size_t udp_at = ipv4 ? PACKET_UDP_AT : PACKET_UDP_AT + PACKET_IPV6_MORE;

	fl_store_be16(packet->data + udp_at + 4, (fl_u16)(packet->len - udp_at));
	if (!ipv4) {
		fl_store_be16(ip + 4, (fl_u16)(packet->len - udp_at));
		return;
	}
	fl_store_be16(ip + 2, (fl_u16)(packet->len - PACKET_OUTER_AT));
	fl_store_be16(ip + 10, 0);
	fl_store_be16(ip + 10, packet_checksum(ip, 20, 0));
}
