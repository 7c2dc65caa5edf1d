/* SPDX-License-Identifier: Apache-2.0 */
/*
 * IPv6 packets: a table with every way to be malformed, chains of extension headers, and a million random chains and
 * changes compared with a second parser that is written to be simple rather than fast.
 */
#include <netinet/in.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "packet/ipv6.h"
#include "service/lookup.h"
#include "frame.h"
#include "image.h"

enum { IP = FRAME_AT_IP, L4 = FRAME_AT_L46, PAYLOAD = 16, PATCHES = 4, CHAIN_MAX = 128, BENDS = 1000000 };

struct patch {
	uint16_t at;
	uint8_t value;
};

struct row {
	const char *name;
	enum verdict expected;
	uint8_t protocol; /* 0: TCP */
	uint16_t cut;     /* new length of the frame, if not 0 */
	uint16_t visible; /* bytes in the first buffer, if not 0 */
	uint16_t patches;
	struct patch patch[PATCHES];
	uint8_t chain_len;
	uint8_t chain[CHAIN_MAX]; /* extension headers in front of TCP; patch has the first one's type */
};

/* Headers of 8 bytes: their next one's type, then zeroes. */
#define OPTIONS(next)             (next), 0, 1, 4, 0, 0, 0, 0
#define ROUTE(next, left)         (next), 0, 4, (left), 0, 0, 0, 0
#define FRAGMENT(next, high, low) (next), 0, (high), (low), 0xde, 0xad, 0xbe, 0xef
#define AUTHENTICATION(next)      (next), 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2

#define NEXT(type) .patches = 1, .patch = {{IP + 6, (type)}}

static const struct row rows[] = {
    {"TCP", VERDICT_SERVICE, .patches = 0},
    {"UDP", VERDICT_SERVICE, .protocol = IPPROTO_UDP},
    {"Ethernet padding after the packet", VERDICT_SERVICE, .patches = 1, .patch = {{IP + 5, 20}}},
    {"low hop limit", VERDICT_SERVICE, .patches = 1, .patch = {{IP + 7, 1}}},
    {"for another MAC", VERDICT_NOT_OURS, .patches = 1, .patch = {{5, 9}}},
    {"another destination", VERDICT_NOT_OURS, .patches = 1, .patch = {{IP + 39, 2}}},
    {"version 4 under type IPv6", VERDICT_NOT_OURS, .patches = 1, .patch = {{IP, 0x40}}},
    {"ends before the destination", VERDICT_NOT_OURS, .cut = IP + 39},
    {"payload beyond the frame", VERDICT_IP_TOTAL_LENGTH, .patches = 1, .patch = {{IP + 5, 37}}},
    {"hop limit 0", VERDICT_IP_TTL, .patches = 1, .patch = {{IP + 7, 0}}},
    {"source multicast", VERDICT_IP_SOURCE, .patches = 1, .patch = {{IP + 8, 0xff}}},
    {"source link-local", VERDICT_IP_SOURCE, .patches = 2, .patch = {{IP + 8, 0xfe}, {IP + 9, 0x80}}},
    {"payload of nothing", VERDICT_TCP_TRUNCATED, .patches = 1, .patch = {{IP + 5, 0}}},
    {"TCP cut in its header", VERDICT_TCP_TRUNCATED, .patches = 1, .patch = {{IP + 5, 19}}},
    {"TCP offset beyond the packet", VERDICT_TCP_OFFSET, .patches = 1, .patch = {{L4 + 12, 0xa0}}},
    {"TCP source port 0", VERDICT_TCP_PORT_ZERO, .patches = 2, .patch = {{L4, 0}, {L4 + 1, 0}}},
    {"UDP cut in its header", VERDICT_UDP_TRUNCATED, .protocol = IPPROTO_UDP, .patches = 1, .patch = {{IP + 5, 7}}},
    {"UDP length beyond IP's", VERDICT_UDP_LENGTH, .protocol = IPPROTO_UDP, .patches = 1, .patch = {{L4 + 5, 25}}},
    {"another port", VERDICT_NO_SERVICE_PORT, .patches = 1, .patch = {{L4 + 3, 81}}},
    {"TCP header in the next buffer", VERDICT_SEGMENTED, .visible = L4 + 10},
    {"payload in the next buffer", VERDICT_SEGMENTED, .visible = L4 + 20},
    {"no next header", VERDICT_PROTOCOL, NEXT(59)},
    {"ESP", VERDICT_PROTOCOL, NEXT(50)},
    {"IPv4's ICMP", VERDICT_PROTOCOL, NEXT(1)},
    {"echo request", VERDICT_ECHO, .patches = 3, .patch = {{IP + 6, 58}, {L4, 128}, {L4 + 1, 0}}},
    {"echo reply", VERDICT_ICMP_TYPE, .patches = 3, .patch = {{IP + 6, 58}, {L4, 129}, {L4 + 1, 0}}},
    {"neighbour solicitation", VERDICT_ICMP_TYPE, .patches = 3, .patch = {{IP + 6, 58}, {L4, 135}, {L4 + 1, 0}}},
    {"ICMPv6 without a whole header", VERDICT_ICMP_TRUNCATED, .patches = 2, .patch = {{IP + 6, 58}, {IP + 5, 7}}},
    {"error that quotes nothing", VERDICT_ICMP_TRUNCATED, .patches = 2, .patch = {{IP + 6, 58}, {L4, 1}}},

    {"hop-by-hop options", VERDICT_SERVICE, NEXT(0), .chain_len = 8, .chain = {OPTIONS(6)}},
    {"destination options", VERDICT_SERVICE, NEXT(60), .chain_len = 8, .chain = {OPTIONS(6)}},
    {"a route at its end", VERDICT_SERVICE, NEXT(43), .chain_len = 8, .chain = {ROUTE(6, 0)}},
    {"authentication", VERDICT_SERVICE, NEXT(51), .chain_len = 12, .chain = {AUTHENTICATION(6)}},
    {"an atomic fragment", VERDICT_SERVICE, NEXT(44), .chain_len = 8, .chain = {FRAGMENT(6, 0, 0)}},
    {"hop-by-hop, destination, route, fragment", VERDICT_SERVICE, NEXT(0), .chain_len = 32,
     .chain = {OPTIONS(60), OPTIONS(43), ROUTE(44, 0), FRAGMENT(6, 0, 0)}},
    {"eight headers", VERDICT_SERVICE, NEXT(60), .chain_len = 64,
     .chain = {OPTIONS(60), OPTIONS(60), OPTIONS(60), OPTIONS(60), OPTIONS(60), OPTIONS(60), OPTIONS(60), OPTIONS(6)}},
    {"nine headers", VERDICT_IP_EXTENSION, NEXT(60), .chain_len = 72,
     .chain = {OPTIONS(60), OPTIONS(60), OPTIONS(60), OPTIONS(60), OPTIONS(60), OPTIONS(60), OPTIONS(60), OPTIONS(60),
	       OPTIONS(6)}},
    {"hop-by-hop not first", VERDICT_IP_EXTENSION, NEXT(60), .chain_len = 16, .chain = {OPTIONS(0), OPTIONS(6)}},
    {"a route that goes on", VERDICT_IP_EXTENSION, NEXT(43), .chain_len = 8, .chain = {ROUTE(6, 1)}},
    {"a header beyond the packet", VERDICT_IP_EXTENSION, NEXT(60), .chain_len = 8, .chain = {6, 30}},
    {"a header without its 8 bytes", VERDICT_IP_EXTENSION, .patches = 2, .patch = {{IP + 6, 60}, {IP + 5, 7}}},
    {"a fragment of a fragment", VERDICT_IP_EXTENSION, NEXT(44), .chain_len = 16,
     .chain = {FRAGMENT(44, 0, 1), FRAGMENT(6, 0, 1)}},
    {"first fragment", VERDICT_FRAGMENT, NEXT(44), .chain_len = 8, .chain = {FRAGMENT(6, 0, 1)}},
    {"later fragment", VERDICT_FRAGMENT, NEXT(44), .chain_len = 8, .chain = {FRAGMENT(6, 4, 1)}},
    {"last fragment", VERDICT_FRAGMENT, NEXT(44), .chain_len = 8, .chain = {FRAGMENT(60, 4, 0)}},
    {"echo behind destination options", VERDICT_ICMP_TYPE, .patches = 3,
     .patch = {{IP + 6, 60}, {L4 + 8, 128}, {L4 + 9, 0}}, .chain_len = 8, .chain = {OPTIONS(58)}},
    {"an extension header in the next buffer", VERDICT_SEGMENTED, NEXT(60), .visible = L4 + 4, .chain_len = 8,
     .chain = {OPTIONS(6)}},
};

static struct service service;
static struct lookup *lookup;

static int set_up(void **state)
{
	struct service *services[] = {&service};

	(void)state;
	service.config = image_config(1, "2001:db8:99::1", 256);
	service.config.vips_count = 2;
	service.config.vips[1] = image_address("10.99.0.1");
	service.config.ports_count = 2;
	service.config.ports[1] = (struct service_port){IPPROTO_UDP, 80};
	lookup = lookup_new(services, 1, NULL, 0);
	return lookup ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	lookup_free(lookup);
	return 0;
}

static void insert_chain(struct frame *frame, const uint8_t *chain, uint8_t len)
{
	uint8_t *ip = frame->bytes + IP;

	frame_insert(frame, L4, chain, len);
	fl_store_be16(ip + 4, (uint16_t)(fl_load_be16(ip + 4) + len));
}

static void every_row_has_its_verdict(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		struct flow flow = frame_flow6(row->protocol ? row->protocol : IPPROTO_TCP);
		struct frame frame = frame_new(&flow, PAYLOAD);
		struct packet packet;

		insert_chain(&frame, row->chain, row->chain_len);
		for (uint16_t p = 0; p < row->patches; p++)
			frame.bytes[row->patch[p].at] = row->patch[p].value;
		if (row->cut)
			frame.len = row->cut;
		packet = frame_classify(lookup, &frame, row->visible ? row->visible : frame.len);
		if (packet.verdict != row->expected)
			fail_msg("%s: is %s, should be %s", row->name, verdict_name(packet.verdict),
				 verdict_name(row->expected));
		if (packet.verdict == VERDICT_SERVICE)
			assert_int_equal(packet.at_l4, L4 + row->chain_len);
	}
}

static void sources_that_no_host_may_have(void **state)
{
	static const char *const sources[] = {"::", "::1", "::ffff:203.0.113.7", "2001:db8:99::1"};
	struct flow flow = frame_flow6(IPPROTO_TCP);

	(void)state;
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		struct frame frame = frame_new(&flow, 0);
		struct fl_address source = image_address(sources[i]);

		memcpy(frame.bytes + IP + 8, source.bytes, 16);
		if (frame_classify(lookup, &frame, frame.len).verdict != VERDICT_IP_SOURCE)
			fail_msg("source %s is taken", sources[i]);
	}
}

/* The table holds an IPv4 VIP as a mapped address; IPv6 packets must not reach it. */
static void a_mapped_destination_is_not_ours(void **state)
{
	struct flow flow = frame_flow6(IPPROTO_TCP);
	struct frame frame = frame_new(&flow, 0);
	struct fl_address mapped = image_address("10.99.0.1");

	(void)state;
	memcpy(frame.bytes + IP + 24, mapped.bytes, 16);
	assert_int_equal(frame_classify(lookup, &frame, frame.len).verdict, VERDICT_NOT_OURS);
}

static void a_service_packet_has_its_key(void **state)
{
	static const uint8_t tags[] = {0x81, 0, 0, 5};
	struct flow flow = frame_flow6(IPPROTO_UDP);
	struct frame frame = frame_new(&flow, PAYLOAD);
	struct packet packet;

	(void)state;
	frame.bytes[IP] = 0x6b;
	frame.bytes[IP + 1] = 0x90;
	frame_insert(&frame, 12, tags, sizeof(tags));
	classify(lookup, mac_word(frame_mac), frame.bytes, frame.len, frame.len, &packet);
	assert_int_equal(packet.verdict, VERDICT_SERVICE);
	assert_ptr_equal(packet.service, &service);
	assert_int_equal(packet.flags, PACKET_IPV6);
	assert_int_equal(packet.at_ip, IP + 4);
	assert_int_equal(packet.ip_len, 40 + 8 + PAYLOAD);
	assert_int_equal(packet.tos, 0xb9);
	assert_ptr_equal(packet.addresses6, frame.bytes + IP + 4 + 8);
	assert_memory_equal(&packet.key[1], "\x9c\x40\x00\x50\x11\0\0", 8);
}

/* The simple parser, for chains whose headers are complete. */
static enum verdict plain(const struct frame *f)
{
	uint32_t end = IP + 40 + fl_load_be16(f->bytes + IP + 4), at = L4, count = 0;
	uint8_t type = f->bytes[IP + 6];

	while (type == 0 || type == 43 || type == 44 || type == 51 || type == 60) {
		uint32_t len;

		if (count == 8 || (type == 0 && count) || at + 8 > end)
			return VERDICT_IP_EXTENSION;
		len = type == 44 ? 8 : type == 51 ? 4U * f->bytes[at + 1] + 8 : 8U * f->bytes[at + 1] + 8;
		if (at + len > end || (type == 43 && f->bytes[at + 3]))
			return VERDICT_IP_EXTENSION;
		if (type == 44 && fl_load_be16(f->bytes + at + 2) >> 3)
			return VERDICT_FRAGMENT;
		if (type == 44 && f->bytes[at + 3] & 1) {
			struct frame rest = *f;

			/* behind a first fragment's header, the chain must be valid and have no second fragment header */
			rest.bytes[at + 3] &= 0xfe;
			for (uint32_t i = at + 8, t = f->bytes[at], n = count + 1;;) {
				if (t == 44)
					return n == 8 || i + 8 > end ? VERDICT_IP_EXTENSION : VERDICT_IP_EXTENSION;
				if (t != 0 && t != 43 && t != 51 && t != 60)
					return VERDICT_FRAGMENT;
				if (n++ == 8 || t == 0 || i + 8 > end || (t == 43 && f->bytes[i + 3]))
					return VERDICT_IP_EXTENSION;
				len = t == 51 ? 4U * f->bytes[i + 1] + 8 : 8U * f->bytes[i + 1] + 8;
				if (i + len > end)
					return VERDICT_IP_EXTENSION;
				t = f->bytes[i];
				i += len;
			}
		}
		type = f->bytes[at];
		at += len;
		count++;
	}
	if (type == 58)
		return end - at < 8 ? VERDICT_ICMP_TRUNCATED : VERDICT_ECHO; /* any that ICMP has: see below */
	if (type == 17) {
		if (end - at < 8)
			return VERDICT_UDP_TRUNCATED;
		if (fl_load_be16(f->bytes + at + 4) < 8 || fl_load_be16(f->bytes + at + 4) > end - at)
			return VERDICT_UDP_LENGTH;
		return fl_load_be16(f->bytes + at + 2) == 80 ? VERDICT_SERVICE : VERDICT_NO_SERVICE_PORT;
	}
	if (type != 6)
		return VERDICT_PROTOCOL;
	if (end - at < 20)
		return VERDICT_TCP_TRUNCATED;
	if (f->bytes[at + 12] >> 4 < 5 || (f->bytes[at + 12] >> 4) * 4U > end - at)
		return VERDICT_TCP_OFFSET;
	if (!fl_load_be16(f->bytes + at))
		return VERDICT_TCP_PORT_ZERO;
	return fl_load_be16(f->bytes + at + 2) == 80 ? VERDICT_SERVICE : VERDICT_NO_SERVICE_PORT;
}

/* A chain of up to ten headers of likely types and lengths in front of TCP or UDP, then some bytes changed. */
static struct frame random_frame(struct chance *chance)
{
	static const uint8_t types[] = {0, 43, 44, 51, 60, 60, 6, 17, 58};
	struct flow flow = frame_flow6(chance_below(chance, 2) ? IPPROTO_TCP : IPPROTO_UDP);
	struct frame frame = frame_new(&flow, chance_below(chance, 40));
	uint32_t headers = chance_below(chance, 4) ? chance_below(chance, 5) : chance_below(chance, 11);

	for (uint32_t i = 0; i < headers; i++) {
		uint8_t type = types[chance_below(chance, 6)], header[24] = {frame.bytes[IP + 6]};
		uint32_t len = type == 44 ? 8 : 8 * (1 + chance_below(chance, 3));

		header[1] = (uint8_t)(type == 51 ? len / 4 - 2 : len / 8 - 1);
		if (type == 44)
			header[1] = 0;
		if (!chance_below(chance, 4))
			header[3] = (uint8_t)chance_next(chance);
		insert_chain(&frame, header, (uint8_t)len);
		frame.bytes[IP + 6] = type;
	}
	for (uint32_t n = chance_below(chance, 4); n; n--)
		frame.bytes[L4 + chance_below(chance, frame.len - L4)] =
		    chance_below(chance, 2) ? types[chance_below(chance, 9)] : (uint8_t)chance_next(chance);
	if (!chance_below(chance, 8)) {
		uint32_t payload = fl_load_be16(frame.bytes + IP + 4);

		fl_store_be16(frame.bytes + IP + 4, (uint16_t)chance_below(chance, payload + 1));
	}
	return frame;
}

static bool is_icmp(enum verdict verdict)
{
	return verdict == VERDICT_ECHO || verdict == VERDICT_ICMP_TYPE || verdict == VERDICT_ICMP_QUOTE ||
	       verdict == VERDICT_ICMP_TRUNCATED;
}

static void random_chains_agree_with_the_simple_parser(void **state)
{
	struct chance chance = {20261120};
	uint32_t seen[VERDICTS_ALL] = {0};

	(void)state;
	for (uint32_t i = 0; i < BENDS; i++) {
		struct frame frame = random_frame(&chance);
		struct packet packet = frame_classify(lookup, &frame, frame.len);
		enum verdict expected = plain(&frame);

		if (packet.verdict != expected && !(is_icmp(packet.verdict) && expected == VERDICT_ECHO))
			fail_msg("seed 20261120, packet %u: is %s, should be %s", i, verdict_name(packet.verdict),
				 verdict_name(expected));
		seen[expected]++;
		if (chance_below(&chance, 8))
			continue;
		/* and cut in the buffer nothing is read beyond it */
		frame_classify(lookup, &frame, chance_below(&chance, frame.len));
	}
	assert_int_not_equal(seen[VERDICT_SERVICE], 0);
	assert_int_not_equal(seen[VERDICT_FRAGMENT], 0);
	assert_int_not_equal(seen[VERDICT_IP_EXTENSION], 0);
	assert_int_not_equal(seen[VERDICT_PROTOCOL], 0);
	assert_int_not_equal(seen[VERDICT_ECHO], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_row_has_its_verdict),
	    cmocka_unit_test(sources_that_no_host_may_have),
	    cmocka_unit_test(a_mapped_destination_is_not_ours),
	    cmocka_unit_test(a_service_packet_has_its_key),
	    cmocka_unit_test(random_chains_agree_with_the_simple_parser),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
