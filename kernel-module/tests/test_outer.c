// SPDX-License-Identifier: Apache-2.0
/* The headers around the list header: allowed senders, and outer headers that no mux writes. */
#include <string.h>

#include "vectors.h"
#include "stand.h"

/* A server that remembers nothing. */
static void set_anew(const struct config *config)
{
	module_detach(stand_client());
	stand_set(config);
}

/* An unknown connection's packet in an outer header of either family. */
static struct packet make(bool by_ipv4)
{
	struct fl_list list = rig_list(RIG_IPV4);
	struct packet packet;

	stand_begin(&packet, by_ipv4 ? RIG_SELF : RIG_SELF6, &list);
	packet_add_tcp(&packet, &rig_packets(RIG_IPV4)->unknown);
	packet_finish_outer(&packet);
	return packet;
}

/* Of a packet with an outer header of ip_len bytes: that header, bytes behind it, and a part of what follows it. */
static struct packet part_of(const struct packet *whole, size_t ip_len, const fl_u8 *more, size_t more_len, size_t from,
			     size_t len)
{
	struct packet part = {.len = 0};
	fl_u8 *ip = part.data + PACKET_OUTER_AT;

	packet_add_bytes(&part, whole->data, PACKET_OUTER_AT + ip_len);
	packet_add_bytes(&part, more, more_len);
	packet_add_bytes(&part, whole->data + PACKET_OUTER_AT + ip_len + from, len);
	if (ip[0] >> 4 == 4)
		fl_store_be16(ip + 2, (fl_u16)(ip_len + more_len + len));
	else
		fl_store_be16(ip + 4, (fl_u16)(more_len + len));
	return part;
}

static void ipv4_checksum_set(struct packet *packet)
{
	fl_u8 *ip = packet->data + PACKET_OUTER_AT;

	fl_store_be16(ip + 10, 0);
	fl_store_be16(ip + 10, packet_checksum(ip, (size_t)(ip[0] & 15) * 4, 0));
}

static void with_options(void **state)
{
	static const fl_u8 nops[4] = {1, 1, 1, 0}, padding[8] = {17, 0, 1, 4};
	struct packet packet = make(true), packet6 = make(false);
	size_t len = packet.len - PACKET_UDP_AT;
	struct config config = rig_config_both();

	(void)state;
	set_anew(&config);
	packet = part_of(&packet, 20, nops, sizeof(nops), 0, len);
	packet.data[PACKET_OUTER_AT] = 0x46;
	ipv4_checksum_set(&packet);
	assert_int_equal(stand_send(&packet), FL_COUNTER_DROP_MALFORMED_OUTER_HEADER);
	packet6 = part_of(&packet6, 40, padding, sizeof(padding), 0, len);
	packet6.data[PACKET_OUTER_AT + 6] = 60; /* destination options */
	assert_int_equal(stand_send(&packet6), FL_COUNTER_DROP_MALFORMED_OUTER_HEADER);
}

/* IP puts them together; the whole is what no mux sends. */
static void in_fragments(void **state)
{
	struct packet whole = make(true), whole6 = make(false), first, second;
	fl_u8 header[8] = {17, 0, 0, 1, 0xfa, 0x11, 0x1e, 0xad};
	size_t len = whole.len - PACKET_UDP_AT, cut = 40;
	struct config config = rig_config_both();

	(void)state;
	set_anew(&config);
	first = part_of(&whole, 20, header, 0, 0, cut);
	fl_store_be16(first.data + PACKET_OUTER_AT + 6, 0x2000);
	ipv4_checksum_set(&first);
	second = part_of(&whole, 20, header, 0, cut, len - cut);
	fl_store_be16(second.data + PACKET_OUTER_AT + 6, (fl_u16)(cut / 8));
	ipv4_checksum_set(&second);
	assert_int_equal(stand_send_both(&first, &second), FL_COUNTER_DROP_MALFORMED_OUTER_FRAGMENT);

	first = part_of(&whole6, 40, header, sizeof(header), 0, cut);
	first.data[PACKET_OUTER_AT + 6] = 44;
	fl_store_be16(header + 2, (fl_u16)cut);
	second = part_of(&whole6, 40, header, sizeof(header), cut, len - cut);
	second.data[PACKET_OUTER_AT + 6] = 44;
	assert_int_equal(stand_send_both(&first, &second), FL_COUNTER_DROP_MALFORMED_OUTER_FRAGMENT);
}

/* An IPv6 source that holds a peer's IPv4 address is not that peer. */
static void mapped_source(void **state)
{
	struct packet packet = make(false);
	struct fl_address peer = packet_address(RIG_MUX);
	struct config config = rig_config_both();

	(void)state;
	set_anew(&config);
	assert_int_equal(stand_send(&packet), FL_COUNTER_DELIVER_UNKNOWN);
	memcpy(packet.data + PACKET_OUTER_AT + 8, peer.bytes, sizeof(peer.bytes));
	assert_int_equal(stand_send(&packet), FL_COUNTER_DROP_UNTRUSTED_SENDER);
}

static void strangers(void **state)
{
	static const struct {
		const char *peers, *source;
		bool trusted;
	} rows[] = {
	    {"10.1.0.11", "10.1.0.11", true},
	    {"10.1.0.11", "10.1.0.12", false},
	    {"10.1.0.0/28,10.1.0.10/31", "10.1.0.11", true},
	    {"10.1.0.0/28,10.1.0.8/29,10.1.0.12", "10.1.0.1", true},
	    {"10.1.0.12,10.1.0.14/31", "10.1.0.13", false},
	    {"10.0.0.0/8,10.1.0.11", "10.1.0.200", true},
	    {"0.0.0.0/0", "192.0.2.1", true},
	    {"::/0", "10.1.0.11", true},
	    {"2001:db8::/32", "10.1.0.11", false},
	    {"2001:db8:2::/48,10.1.0.128/25", "10.1.0.127", false},
	    {"10.1.0.128/25,2001:db8:2::/48,10.1.0.126/31", "10.1.0.127", true},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct packet packet = make(true);
		struct fl_address source = packet_address(rows[i].source);
		struct config config = rig_config();

		assert_int_equal(config_set(&config, "peers", rows[i].peers), 0);
		set_anew(&config);
		memcpy(packet.data + PACKET_OUTER_AT + 12, source.bytes + 12, 4);
		packet_finish_outer(&packet);
		assert_int_equal(stand_send(&packet),
				 rows[i].trusted ? FL_COUNTER_DELIVER_UNKNOWN : FL_COUNTER_DROP_UNTRUSTED_SENDER);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(strangers),
	    cmocka_unit_test(mapped_source),
	    cmocka_unit_test(with_options),
	    cmocka_unit_test(in_fragments),
	};

	stand_open();
	return cmocka_run_group_tests_name("outer headers at the module", tests, NULL, NULL);
}
