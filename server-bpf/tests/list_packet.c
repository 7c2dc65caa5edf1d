// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "list_packet.h"
#include "vectors.h"

static const fl_u8 mac_of_rig0[6] = {0x02, 0, 0, 0, 0, 0x02};

void list_packet_begin(struct packet *packet, const struct fl_address *server)
{
	struct fl_address mux = packet_address(fl_address_is_ipv4(server) ? RIG_MUX : RIG_MUX6);

	packet_begin_outer(packet, &mux, server, FL_LIST_GUE_PORT);
}

size_t list_packet_gue_at(const struct packet *packet)
{
	return fl_load_be16(packet->data + 12) == FL_TYPE_IPV4 ? PACKET_GUE_AT : PACKET_GUE_AT + PACKET_IPV6_MORE;
}

/* The rig's neighbours have the last two digits of their addresses; other IPv6 addresses are behind the router. */
static void macs_set(struct packet *packet, const struct fl_address *next)
{
	fl_u8 mac[6] = {0x02}, last = next->bytes[15];

	mac[5] = last;
	if (fl_address_is_ipv4(next))
		mac[5] = (fl_u8)(last / 10 * 16 + last % 10);
	else if (!next->bytes[5])
		mac[5] = 1;
	memcpy(packet->data, mac, sizeof(mac));
	memcpy(packet->data + 6, mac_of_rig0, sizeof(mac_of_rig0));
}

struct packet list_packet_onward(const struct config *server, const struct packet *sent, const struct fl_address *next,
				 const fl_u8 *gue, size_t len, bool is_by_kernel)
{
	bool was_ipv4 = fl_load_be16(sent->data + 12) == FL_TYPE_IPV4, is_ipv4 = fl_address_is_ipv4(next);
	struct fl_address source = is_ipv4 ? server->program.self : server->program.self6;
	size_t udp_at = list_packet_gue_at(sent) - FL_UDP_LEN;
	struct packet expected;
	fl_u8 *ip = expected.data + PACKET_OUTER_AT;
	fl_u8 class =
	    (fl_u8)(was_ipv4 ? sent->data[PACKET_OUTER_AT + 1] : fl_load_be16(sent->data + PACKET_OUTER_AT) >> 4);

	if (is_by_kernel && was_ipv4 == is_ipv4)
		source = packet_address(is_ipv4 ? RIG_MUX : RIG_MUX6);
	packet_begin_outer(&expected, &source, next, FL_LIST_GUE_PORT);
	memcpy(expected.data + expected.len - FL_UDP_LEN, sent->data + udp_at, 2);
	packet_add_bytes(&expected, gue, len);
	if (is_ipv4)
		ip[1] = class;
	else
		fl_store_be16(ip, (fl_u16)(6 << 12 | class << 4));
	if (is_ipv4)
		fl_store_be16(ip + 4, 0); /* identification, which an unfragmentable packet doesn't need */
	packet_finish_outer(&expected);
	if (is_by_kernel)
		memcpy(expected.data, sent->data, 12);
	else
		macs_set(&expected, next);
	return expected;
}

struct packet list_packet_delivered(const struct packet *sent, size_t header_len)
{
	size_t inner_at = list_packet_gue_at(sent) + header_len;
	fl_u16 type = sent->data[inner_at] >> 4 == 4 ? FL_TYPE_IPV4 : FL_TYPE_IPV6;
	struct packet expected = {.len = 0};

	packet_add_ethernet(&expected, sent->data, sent->data + 6, type);
	packet_add_bytes(&expected, sent->data + inner_at, sent->len - inner_at);
	return expected;
}

void list_packet_check(const struct packet *packet, const struct packet *expected)
{
	assert_int_equal(packet->len, expected->len);
	assert_memory_equal(packet->data, expected->data, expected->len);
}
