/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classification: a table with every way to be malformed, each row a change to a valid packet, and a million random
 * changes compared with a second classifier that is written to be simple rather than fast.
 */
#include <netinet/in.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "packet/classify.h"
#include "service/lookup.h"
#include "frame.h"
#include "image.h"

enum { IP = FRAME_AT_IP, L4 = FRAME_AT_L4, PAYLOAD = 16, PATCHES = 8, BENDS = 1000000 };

/* The service's ports that name backends; random changes of one byte of port 80 hit some of them. */
enum { FIRST = 0x4e20, LAST = 0x5207 };

struct patch {
	uint16_t at;
	uint8_t value;
};

struct row {
	const char *name;
	enum verdict expected;
	uint8_t protocol; /* 0: TCP */
	bool checksum_as_patched;
	uint16_t cut;     /* new length of the frame, if not 0 */
	uint16_t visible; /* bytes in the first buffer, if not 0 */
	uint16_t patches;
	struct patch patch[PATCHES];
};

/* TCP packet: 14 + 20 + 20 + 16 = 70 bytes, total length 56; UDP: 58 bytes, total length 44, UDP length 24. */
static const struct row rows[] = {
    {"TCP", VERDICT_SERVICE, .patches = 0},
    {"UDP", VERDICT_SERVICE, .protocol = IPPROTO_UDP},
    {"Ethernet padding after the packet", VERDICT_SERVICE, .patches = 1, .patch = {{IP + 3, 40}}},
    {"IP options", VERDICT_SERVICE, .patches = 5,
     .patch = {{IP, 0x46}, {L4 + 4, 0x9c}, {L4 + 6, 0}, {L4 + 7, 80}, {L4 + 16, 0x50}}},
    {"low TTL", VERDICT_SERVICE, .patches = 1, .patch = {{IP + 8, 1}}},
    {"UDP shorter than IP says", VERDICT_SERVICE, .protocol = IPPROTO_UDP, .patches = 1, .patch = {{L4 + 5, 20}}},
    {"UDP source port 0", VERDICT_SERVICE, .protocol = IPPROTO_UDP, .patches = 2, .patch = {{L4, 0}, {L4 + 1, 0}}},
    {"reserved fragment bit", VERDICT_SERVICE, .patches = 1, .patch = {{IP + 6, 0x80}}},

    {"for another MAC", VERDICT_NOT_OURS, .patches = 1, .patch = {{5, 9}}},
    {"broadcast", VERDICT_NOT_OURS, .patches = 6,
     .patch = {{0, 255}, {1, 255}, {2, 255}, {3, 255}, {4, 255}, {5, 255}}},
    {"ARP", VERDICT_NOT_OURS, .patches = 1, .patch = {{13, 6}}},
    {"IPv6", VERDICT_NOT_OURS, .patches = 3, .patch = {{12, 0x86}, {13, 0xdd}, {IP, 0x60}}},
    {"VLAN in front of something else", VERDICT_NOT_OURS, .patches = 2, .patch = {{12, 0x81}, {13, 0}}},
    {"ends within a VLAN tag", VERDICT_NOT_OURS, .cut = 17, .patches = 2, .patch = {{12, 0x81}, {13, 0}}},
    {"IP version 6 under type IPv4", VERDICT_NOT_OURS, .patches = 1, .patch = {{IP, 0x65}}},
    {"another destination", VERDICT_NOT_OURS, .patches = 1, .patch = {{IP + 19, 2}}},
    {"another destination, bad checksum", VERDICT_NOT_OURS, .checksum_as_patched = true, .patches = 1,
     .patch = {{IP + 19, 2}}},
    {"empty frame", VERDICT_NOT_OURS, .cut = 1},
    {"ends before the destination", VERDICT_NOT_OURS, .cut = IP + 19},

    {"ihl 4", VERDICT_IP_HEADER_LENGTH, .patches = 1, .patch = {{IP, 0x44}}},
    {"ihl beyond the frame", VERDICT_IP_TRUNCATED, .cut = IP + 20, .patches = 1, .patch = {{IP, 0x4f}}},
    {"total length below the header", VERDICT_IP_TOTAL_LENGTH, .patches = 1, .patch = {{IP + 3, 19}}},
    {"total length 0", VERDICT_IP_TOTAL_LENGTH, .patches = 1, .patch = {{IP + 3, 0}}},
    {"total length beyond the frame", VERDICT_IP_TOTAL_LENGTH, .patches = 1, .patch = {{IP + 3, 57}}},
    {"checksum", VERDICT_IP_CHECKSUM, .checksum_as_patched = true, .patches = 1, .patch = {{IP + 8, 63}}},
    {"checksum 0", VERDICT_IP_CHECKSUM, .checksum_as_patched = true, .patches = 2,
     .patch = {{IP + 10, 0}, {IP + 11, 0}}},
    {"TTL 0", VERDICT_IP_TTL, .patches = 1, .patch = {{IP + 8, 0}}},
    {"source 0.0.0.0/8", VERDICT_IP_SOURCE, .patches = 1, .patch = {{IP + 12, 0}}},
    {"source 127/8", VERDICT_IP_SOURCE, .patches = 1, .patch = {{IP + 12, 127}}},
    {"source multicast", VERDICT_IP_SOURCE, .patches = 1, .patch = {{IP + 12, 224}}},
    {"source broadcast", VERDICT_IP_SOURCE, .patches = 4,
     .patch = {{IP + 12, 255}, {IP + 13, 255}, {IP + 14, 255}, {IP + 15, 255}}},
    {"source is the VIP", VERDICT_IP_SOURCE, .patches = 4,
     .patch = {{IP + 12, 10}, {IP + 13, 99}, {IP + 14, 0}, {IP + 15, 1}}},
    {"TCP cut in its header", VERDICT_TCP_TRUNCATED, .patches = 1, .patch = {{IP + 3, 39}}},
    {"TCP without a byte", VERDICT_TCP_TRUNCATED, .patches = 1, .patch = {{IP + 3, 20}}},
    {"TCP offset 4", VERDICT_TCP_OFFSET, .patches = 1, .patch = {{L4 + 12, 0x40}}},
    {"TCP offset beyond the packet", VERDICT_TCP_OFFSET, .patches = 1, .patch = {{L4 + 12, 0xa0}}},
    {"TCP source port 0", VERDICT_TCP_PORT_ZERO, .patches = 2, .patch = {{L4, 0}, {L4 + 1, 0}}},
    {"UDP cut in its header", VERDICT_UDP_TRUNCATED, .protocol = IPPROTO_UDP, .patches = 1, .patch = {{IP + 3, 27}}},
    {"UDP length 7", VERDICT_UDP_LENGTH, .protocol = IPPROTO_UDP, .patches = 1, .patch = {{L4 + 5, 7}}},
    {"UDP length beyond IP's", VERDICT_UDP_LENGTH, .protocol = IPPROTO_UDP, .patches = 1, .patch = {{L4 + 5, 25}}},
    {"IP options in the next buffer", VERDICT_SEGMENTED, .visible = IP + 20, .patches = 1, .patch = {{IP, 0x46}}},
    {"TCP header in the next buffer", VERDICT_SEGMENTED, .visible = L4 + 10},
    {"payload in the next buffer", VERDICT_SEGMENTED, .visible = L4 + 20},
    {"padding in the next buffer", VERDICT_SEGMENTED, .visible = L4 + 20, .patches = 1, .patch = {{IP + 3, 40}}},

    {"first fragment", VERDICT_FRAGMENT, .patches = 1, .patch = {{IP + 6, 0x20}}},
    {"later fragment", VERDICT_FRAGMENT, .patches = 2, .patch = {{IP + 6, 0}, {IP + 7, 8}}},
    {"last fragment, high offset", VERDICT_FRAGMENT, .patches = 2, .patch = {{IP + 6, 0x1f}, {IP + 7, 0xff}}},
    {"ICMP echo", VERDICT_ECHO, .patches = 3, .patch = {{IP + 9, 1}, {L4, 8}, {L4 + 1, 0}}},
    {"ICMP echo with IP options", VERDICT_ICMP_TYPE, .patches = 4,
     .patch = {{IP, 0x46}, {IP + 9, 1}, {L4 + 4, 8}, {L4 + 5, 0}}},
    {"ICMP echo reply", VERDICT_ICMP_TYPE, .patches = 3, .patch = {{IP + 9, 1}, {L4, 0}, {L4 + 1, 0}}},
    {"ICMP redirect", VERDICT_ICMP_TYPE, .patches = 2, .patch = {{IP + 9, 1}, {L4, 5}}},
    {"ICMP without a whole header", VERDICT_ICMP_TRUNCATED, .patches = 2, .patch = {{IP + 9, 1}, {IP + 3, 27}}},
    {"ICMP error that quotes nothing", VERDICT_ICMP_TRUNCATED, .patches = 3,
     .patch = {{IP + 9, 1}, {IP + 3, 28}, {L4, 3}}},
    {"ICMP error that quotes no packet from here", VERDICT_ICMP_QUOTE, .patches = 2, .patch = {{IP + 9, 1}, {L4, 3}}},
    {"SCTP", VERDICT_PROTOCOL, .patches = 1, .patch = {{IP + 9, 132}}},
    {"another port", VERDICT_NO_SERVICE_PORT, .patches = 1, .patch = {{L4 + 3, 81}}},
    {"the first port of ids", VERDICT_SERVICE, .patches = 2, .patch = {{L4 + 2, 0x4e}, {L4 + 3, 0x20}}},
    {"the last port of ids", VERDICT_SERVICE, .patches = 2, .patch = {{L4 + 2, 0x52}, {L4 + 3, 0x07}}},
    {"the port before those of ids", VERDICT_NO_SERVICE_PORT, .patches = 2, .patch = {{L4 + 2, 0x4e}, {L4 + 3, 0x1f}}},
    {"the port behind those of ids", VERDICT_NO_SERVICE_PORT, .patches = 2, .patch = {{L4 + 2, 0x52}, {L4 + 3, 0x08}}},
    {"a port of ids by UDP", VERDICT_NO_SERVICE_PORT, .protocol = IPPROTO_UDP, .patches = 2,
     .patch = {{L4 + 2, 0x4e}, {L4 + 3, 0x21}}},
    {"the other protocol's port", VERDICT_NO_SERVICE_PORT, .protocol = IPPROTO_UDP, .patches = 2,
     .patch = {{L4 + 2, 1}, {L4 + 3, 187}}},
};

static struct service service;
static struct lookup *lookup;

static int set_up(void **state)
{
	struct service *services[] = {&service};

	(void)state;
	service.config = image_config(1, "10.99.0.1", 256);
	service.config.ports_count = 3;
	service.config.ports[1] = (struct service_port){IPPROTO_TCP, 443};
	service.config.ports[2] = (struct service_port){IPPROTO_UDP, 80};
	service.config.mptcp = (struct mptcp_ports){FIRST, LAST};
	lookup = lookup_new(services, 1, NULL, 0);
	return lookup ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	lookup_free(lookup);
	return 0;
}

static struct frame bend(const struct row *row)
{
	struct flow flow = frame_flow(row->protocol ? row->protocol : IPPROTO_TCP);
	struct frame frame = frame_new(&flow, PAYLOAD);

	for (uint16_t i = 0; i < row->patches; i++)
		frame.bytes[row->patch[i].at] = row->patch[i].value;
	if (!row->checksum_as_patched)
		frame_fix_checksum(&frame);
	if (row->cut)
		frame.len = row->cut;
	return frame;
}

static void every_row_has_its_verdict(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct frame frame = bend(&rows[i]);
		struct packet packet = frame_classify(lookup, &frame, rows[i].visible ? rows[i].visible : frame.len);

		if (packet.verdict != rows[i].expected)
			fail_msg("%s: is %s, should be %s", rows[i].name, verdict_name(packet.verdict),
				 verdict_name(rows[i].expected));
	}
}

/* Whether IPv4 classification returns it; the others are of IPv6 (test_ipv6.c) or of later stages. */
static bool is_of_ipv4(enum verdict v)
{
	return v != VERDICT_FROM_KERNEL && v != VERDICT_IP_EXTENSION && v != VERDICT_FRAGMENT_FORWARDED &&
	       (v < VERDICT_FRAGMENT_ALONE || v > VERDICT_PEER_MALFORMED);
}

static void every_drop_of_classify_has_a_row(void **state)
{
	(void)state;
	for (enum verdict v = VERDICT_SERVICE; v <= VERDICT_NO_SERVICE_PORT; v++) {
		bool found = false;

		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
			found |= rows[i].expected == v;
		if (!found && is_of_ipv4(v))
			fail_msg("no row for %s", verdict_name(v));
	}
}

static void names_are_distinct(void **state)
{
	(void)state;
	for (enum verdict a = 0; a < VERDICTS; a++)
		for (enum verdict b = a + 1; b <= VERDICTS; b++)
			assert_string_not_equal(verdict_name(a), verdict_name(b));
}

static void a_service_packet_has_its_key(void **state)
{
	static const uint8_t expected[16] = {203, 0, 113, 7, 10, 99, 0, 1, 0x9c, 0x40, 0, 80, 6};
	struct flow flow = frame_flow(IPPROTO_TCP);
	struct frame frame = frame_new(&flow, PAYLOAD);
	struct packet packet;

	(void)state;
	frame.bytes[IP + 1] = 0xb9;
	frame_fix_checksum(&frame);
	packet = frame_classify(lookup, &frame, frame.len);
	assert_int_equal(packet.verdict, VERDICT_SERVICE);
	assert_ptr_equal(packet.service, &service);
	assert_int_equal(packet.ip_len, 56);
	assert_int_equal(packet.tos, 0xb9);
	assert_memory_equal(packet.key, expected, sizeof(expected));
	assert_int_equal(packet.at_ip, IP);
	assert_int_equal(packet.at_l4, L4);
	assert_int_equal(packet.flags, 0);
}

static void a_port_of_ids_gives_the_id(void **state)
{
	static const uint16_t ids[] = {0, 1, 7, LAST - FIRST};
	struct flow flow = frame_flow(IPPROTO_TCP);

	(void)state;
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		struct frame frame;
		struct packet packet;

		flow.destination_port = (uint16_t)(FIRST + ids[i]);
		frame = frame_new(&flow, PAYLOAD);
		packet = frame_classify(lookup, &frame, frame.len);
		assert_int_equal(packet.verdict, VERDICT_SERVICE);
		assert_ptr_equal(packet.service, &service);
		assert_int_equal(packet.flags, PACKET_BY_ID);
		assert_int_equal(packet.bucket, ids[i]);
	}
}

static void vlan_tags_are_skipped(void **state)
{
	static const uint8_t tags[][8] = {{0x81, 0, 0, 5}, {0x88, 0xa8, 0, 7, 0x81, 0, 0, 5}};
	static const uint8_t third[] = {0x88, 0xa8, 0, 9};
	struct flow flow = frame_flow(IPPROTO_TCP);

	(void)state;
	for (uint32_t count = 1; count <= 2; count++) {
		struct frame frame = frame_new(&flow, PAYLOAD);
		struct packet packet;

		frame_insert(&frame, 12, tags[count - 1], 4 * count);
		packet = frame_classify(lookup, &frame, frame.len);
		assert_int_equal(packet.verdict, VERDICT_SERVICE);
		assert_int_equal(packet.at_ip, IP + 4 * count);
		assert_int_equal(packet.at_l4, L4 + 4 * count);
		if (count < 2)
			continue;
		frame_insert(&frame, 12, third, sizeof(third));
		assert_int_equal(frame_classify(lookup, &frame, frame.len).verdict, VERDICT_NOT_OURS);
	}
}

/* The simple classifier: one check after the other on a byte array that yields 0 beyond its end. */
static uint32_t byte(const struct frame *frame, uint32_t at)
{
	return at < frame->len ? frame->bytes[at] : 0;
}

static uint32_t half(const struct frame *frame, uint32_t at)
{
	return byte(frame, at) << 8 | byte(frame, at + 1);
}

static bool sums_up(const struct frame *frame, uint32_t header)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < header; i += 2) {
		sum += half(frame, IP + i);
		if (sum > 0xffff)
			sum -= 0xffff;
	}
	return sum == 0xffff;
}

/* No change makes it quote a packet of the service: test_icmp.c has those. */
static enum verdict plain_icmp(const struct frame *f, uint32_t at, uint32_t rest)
{
	if (rest < 8)
		return VERDICT_ICMP_TRUNCATED;
	if (byte(f, at) == 8)
		return byte(f, at + 1) || byte(f, IP) != 0x45 ? VERDICT_ICMP_TYPE : VERDICT_ECHO;
	if (byte(f, at) == 3 || byte(f, at) == 11 || byte(f, at) == 12)
		return rest < 28 ? VERDICT_ICMP_TRUNCATED : VERDICT_ICMP_QUOTE;
	return VERDICT_ICMP_TYPE;
}

static enum verdict plain(const struct frame *f)
{
	uint32_t header = (byte(f, IP) & 15) * 4, total = half(f, IP + 2), room = f->len - IP, at = IP + header;
	uint32_t source = half(f, IP + 12) << 16 | half(f, IP + 14), rest, port;

	if (f->len < 34 || memcmp(f->bytes, frame_mac, 6) || half(f, 12) != 0x0800 || byte(f, IP) >> 4 != 4 ||
	    half(f, IP + 16) != 0x0a63 || half(f, IP + 18) != 1)
		return VERDICT_NOT_OURS;
	if (header < 20)
		return VERDICT_IP_HEADER_LENGTH;
	if (header > room)
		return VERDICT_IP_TRUNCATED;
	if (total < header || total > room)
		return VERDICT_IP_TOTAL_LENGTH;
	if (!sums_up(f, header))
		return VERDICT_IP_CHECKSUM;
	if (byte(f, IP + 8) == 0)
		return VERDICT_IP_TTL;
	if (source >> 24 == 0 || source >> 24 == 127 || source >> 29 == 7 || source == 0x0a630001)
		return VERDICT_IP_SOURCE;
	if ((half(f, IP + 6) & 0x2000) || (half(f, IP + 6) & 0x1fff))
		return VERDICT_FRAGMENT;
	rest = total - header;
	port = half(f, at + 2);
	if (byte(f, IP + 9) == 6) {
		if (rest < 20)
			return VERDICT_TCP_TRUNCATED;
		if (byte(f, at + 12) >> 4 < 5 || (byte(f, at + 12) >> 4) * 4 > rest)
			return VERDICT_TCP_OFFSET;
		if (half(f, at) == 0)
			return VERDICT_TCP_PORT_ZERO;
		return port == 80 || port == 443 || (port >= FIRST && port <= LAST) ? VERDICT_SERVICE
										    : VERDICT_NO_SERVICE_PORT;
	}
	if (byte(f, IP + 9) == 17) {
		if (rest < 8)
			return VERDICT_UDP_TRUNCATED;
		if (half(f, at + 4) < 8 || half(f, at + 4) > rest)
			return VERDICT_UDP_LENGTH;
		return port == 80 ? VERDICT_SERVICE : VERDICT_NO_SERVICE_PORT;
	}
	if (byte(f, IP + 9) == 1)
		return plain_icmp(f, at, rest);
	return VERDICT_PROTOCOL;
}

/* Changes some bytes of a valid packet, mostly of its headers, mostly with a right checksum afterwards. */
static struct frame bend_randomly(struct chance *chance)
{
	struct flow flow = frame_flow(chance_below(chance, 2) ? IPPROTO_TCP : IPPROTO_UDP);
	struct frame frame = frame_new(&flow, chance_below(chance, 40));

	for (uint32_t n = chance_below(chance, 4); n; n--)
		frame.bytes[chance_below(chance, frame.len)] = (uint8_t)chance_next(chance);
	if (!chance_below(chance, 8)) {
		frame.bytes[IP + 9] = IPPROTO_ICMP;
		frame.bytes[L4] = (uint8_t)chance_below(chance, 14);
		frame.bytes[L4 + 1] = 0;
	}
	if (!chance_below(chance, 4))
		frame.bytes[IP] = (uint8_t)(0x40 | chance_below(chance, 16));
	if (chance_below(chance, 8))
		frame_fix_checksum(&frame);
	if (!chance_below(chance, 8))
		frame.len = 1 + chance_below(chance, frame.len);
	return frame;
}

static void random_changes_agree_with_the_simple_classifier(void **state)
{
	struct chance chance = {20261120};
	uint32_t seen[VERDICTS_ALL] = {0};

	(void)state;
	for (uint32_t i = 0; i < BENDS; i++) {
		struct frame frame = bend_randomly(&chance);
		struct packet packet = frame_classify(lookup, &frame, frame.len);
		enum verdict expected = plain(&frame);

		if (packet.verdict != expected)
			fail_msg("seed 20261120, packet %u: is %s, should be %s", i, verdict_name(packet.verdict),
				 verdict_name(expected));
		seen[expected]++;
	}
	for (enum verdict v = 0; v <= VERDICT_NO_SERVICE_PORT; v++)
		if (!seen[v] && v != VERDICT_SEGMENTED && is_of_ipv4(v))
			fail_msg("no random packet was %s", verdict_name(v));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_row_has_its_verdict),
	    cmocka_unit_test(every_drop_of_classify_has_a_row),
	    cmocka_unit_test(names_are_distinct),
	    cmocka_unit_test(a_service_packet_has_its_key),
	    cmocka_unit_test(a_port_of_ids_gives_the_id),
	    cmocka_unit_test(vlan_tags_are_skipped),
	    cmocka_unit_test(random_changes_agree_with_the_simple_classifier),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
