/* SPDX-License-Identifier: Apache-2.0 */
/* ICMP errors of both families go where the connection's packets go, regardless of how much they quote. */
#include <netinet/in.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "packet/answer.h"
#include "flow/hash.h"
#include "packet/icmp.h"
#include "service/lookup.h"
#include "frame.h"
#include "image.h"

enum { FIRST = 20000, LAST = 20999 };

/* An error for the flow's server, quoting `quoted` bytes of what the server has sent. */
struct error {
	struct flow flow; /* the client's, towards the VIP */
	const char *from; /* who reports it */
	uint8_t type;
	uint32_t quoted; /* bytes behind the quoted IP header */
};

struct row {
	const char *name;
	enum verdict expected;
	uint8_t protocol;
	bool ipv6;
	uint8_t type;
	uint16_t quoted;
	uint16_t server_port;
	int at; /* the byte of the quoted packet that is set to value; -1: none */
	uint8_t value;
};

static const struct row rows[] = {
    {"unreachable, 8 bytes of TCP", VERDICT_SERVICE, 6, false, 3, 8, 80, -1, 0},
    {"time exceeded, all of TCP's header", VERDICT_SERVICE, 6, false, 11, 20, 80, -1, 0},
    {"parameter problem, UDP", VERDICT_SERVICE, 17, false, 12, 8, 80, -1, 0},
    {"by a port of ids", VERDICT_SERVICE, 6, false, 3, 8, FIRST + 7, -1, 0},
    {"a first fragment is quoted", VERDICT_SERVICE, 6, false, 3, 8, 80, 6, 0x20},
    {"7 bytes", VERDICT_ICMP_TRUNCATED, 6, false, 3, 7, 80, -1, 0},
    {"source quench", VERDICT_ICMP_TYPE, 6, false, 4, 8, 80, -1, 0},
    {"a later fragment is quoted", VERDICT_ICMP_QUOTE, 6, false, 3, 8, 80, 7, 8},
    {"not from the VIP", VERDICT_ICMP_QUOTE, 6, false, 3, 8, 80, 15, 9},
    {"not from a service's port", VERDICT_ICMP_QUOTE, 6, false, 3, 8, 81, -1, 0},
    {"another protocol", VERDICT_ICMP_QUOTE, 6, false, 3, 8, 80, 9, 47},
    {"ihl 4", VERDICT_ICMP_QUOTE, 6, false, 3, 8, 80, 0, 0x44},
    {"IPv6 in ICMP", VERDICT_ICMP_QUOTE, 6, false, 3, 20, 80, 0, 0x65},
    {"options beyond the quote", VERDICT_ICMP_TRUNCATED, 6, false, 3, 8, 80, 0, 0x4f},

    {"v6 unreachable, 8 bytes of TCP", VERDICT_SERVICE, 6, true, 1, 8, 80, -1, 0},
    {"v6 too big, all of TCP's header", VERDICT_SERVICE, 6, true, 2, 20, 80, -1, 0},
    {"v6 time exceeded, UDP", VERDICT_SERVICE, 17, true, 3, 8, 80, -1, 0},
    {"v6 an unassigned error type", VERDICT_SERVICE, 17, true, 99, 8, 80, -1, 0},
    {"v6 by a port of ids", VERDICT_SERVICE, 6, true, 1, 8, FIRST + 7, -1, 0},
    {"v6 7 bytes", VERDICT_ICMP_TRUNCATED, 6, true, 1, 7, 80, -1, 0},
    {"v6 not from the VIP", VERDICT_ICMP_QUOTE, 6, true, 1, 8, 80, 23, 9},
    {"v6 not from a service's port", VERDICT_ICMP_QUOTE, 6, true, 1, 8, 81, -1, 0},
    {"v6 IPv4 in ICMPv6", VERDICT_ICMP_QUOTE, 6, true, 1, 8, 80, 0, 0x45},
    {"v6 ESP", VERDICT_ICMP_QUOTE, 6, true, 1, 8, 80, 6, 50},
};

static struct service service;
static struct lookup *lookup;

static int set_up(void **state)
{
	struct service *services[] = {&service};

	(void)state;
	service.config = image_config(1, "10.99.0.1", 256);
	service.config.vips_count = 4;
	service.config.vips[1] = image_address("2001:db8:99::1");
	service.config.vips[2] = image_address("10.99.0.2");
	service.config.vips[3] = image_address("2001:db8:99::2");
	service.config.ports_count = 2;
	service.config.ports[1] = (struct service_port){IPPROTO_UDP, 80};
	service.config.mptcp = (struct mptcp_ports){FIRST, LAST};
	service.key = service.config.key;
	service.hash = FL_HASH_SIPHASH;
	service.affinity = AFFINITY_CONNECTION;
	lookup = lookup_new(services, 1, NULL, 0);
	return lookup ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	lookup_free(lookup);
	return 0;
}

static struct flow reverse(const struct flow *flow)
{
	return (struct flow){.source = flow->destination,
			     .destination = flow->source,
			     .source_port = flow->destination_port,
			     .destination_port = flow->source_port,
			     .protocol = flow->protocol};
}

/* The frame of an error: what the server sent, quoted, behind an ICMP header, to the VIP. */
static struct frame error_frame(const struct error *error, int at, uint8_t value)
{
	bool ipv6 = !fl_address_is_ipv4(&error->flow.destination);
	uint32_t ip_len = ipv6 ? 40 : 20;
	struct flow sent = reverse(&error->flow), reported = error->flow;
	struct frame quote = frame_new(&sent, 40), frame;
	uint8_t icmp[8] = {error->type};

	if (at >= 0)
		quote.bytes[FRAME_AT_IP + at] = value;
	reported.source = image_address(error->from);
	reported.protocol = IPPROTO_UDP;
	frame = frame_new(&reported, 0);
	frame.len = FRAME_AT_IP + ip_len;
	frame_insert(&frame, frame.len, icmp, sizeof(icmp));
	frame_insert(&frame, frame.len, quote.bytes + FRAME_AT_IP, ip_len + error->quoted);
	if (ipv6) {
		frame.bytes[FRAME_AT_IP + 6] = IPPROTO_ICMPV6;
		fl_store_be16(frame.bytes + FRAME_AT_IP + 4, (uint16_t)(8 + ip_len + error->quoted));
	} else {
		frame.bytes[FRAME_AT_IP + 9] = IPPROTO_ICMP;
		fl_store_be16(frame.bytes + FRAME_AT_IP + 2, (uint16_t)(28 + ip_len + error->quoted));
		frame_fix_checksum(&frame);
	}
	return frame;
}

/* The hash that a packet of the flow itself has. */
static void check_hash(const struct packet *packet, const struct flow *flow)
{
	uint64_t wanted = service_flow_hash(&service, flow);

	assert_true(packet->flags & PACKET_QUOTE);
	if (packet->flags & PACKET_HASHED)
		assert_int_equal(packet->hash, wanted);
	else
		assert_int_equal(flow_hash_ipv4(&service, packet->key), wanted);
	assert_int_equal(!!(packet->flags & PACKET_BY_ID), flow->destination_port >= FIRST);
	if (packet->flags & PACKET_BY_ID)
		assert_int_equal(packet->bucket, flow->destination_port - FIRST);
}

static void every_row_has_its_verdict(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		struct error error = {.flow = row->ipv6 ? frame_flow6(row->protocol) : frame_flow(row->protocol),
				      .from = row->ipv6 ? "2001:db8:8::1" : "198.51.100.1",
				      .type = row->type,
				      .quoted = row->quoted};
		struct frame frame;
		struct packet packet;

		error.flow.destination_port = row->server_port;
		frame = error_frame(&error, row->at, row->value);
		packet = frame_classify(lookup, &frame, frame.len);
		if (packet.verdict != row->expected)
			fail_msg("%s: is %s, should be %s", row->name, verdict_name(packet.verdict),
				 verdict_name(row->expected));
		if (packet.verdict == VERDICT_SERVICE)
			check_hash(&packet, &error.flow);
	}
}

/* Only a forged packet comes from a VIP, and the answer would go to a mux. */
static void an_echo_request_from_a_vip_is_not_answered(void **state)
{
	(void)state;
	for (int ipv6 = 0; ipv6 <= 1; ipv6++) {
		struct flow flow = ipv6 ? frame_flow6(IPPROTO_ICMPV6) : frame_flow(IPPROTO_ICMP);

		for (int forged = 0; forged <= 1; forged++) {
			struct frame frame;
			uint8_t *icmp;

			if (forged)
				flow.source = image_address(ipv6 ? "2001:db8:99::2" : "10.99.0.2");
			frame = frame_new(&flow, 8);
			icmp = frame.bytes + (ipv6 ? FRAME_AT_L46 : FRAME_AT_L4);
			icmp[0] = ipv6 ? ICMPV6_ECHO_REQUEST : ICMP_ECHO_REQUEST;
			icmp[1] = 0;
			assert_int_equal(frame_classify(lookup, &frame, frame.len).verdict,
					 forged ? VERDICT_IP_SOURCE : VERDICT_ECHO);
		}
	}
}

/* A burst at once, then one for each millisecond that has passed; a long pause allows no larger burst. */
static void answers_have_a_limit(void **state)
{
	static const uint64_t pauses[] = {123456, 1, 0, 10, ANSWER_BURST - 1, 1000000};
	static const uint32_t passing[] = {ANSWER_BURST, 1, 0, 10, ANSWER_BURST - 1, ANSWER_BURST};
	struct limiter limiter = {0};
	uint64_t now_ms = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(pauses) / sizeof(pauses[0]); i++) {
		uint32_t passed = 0;

		now_ms += pauses[i];
		for (int asked = 0; asked < 3 * ANSWER_BURST; asked++)
			passed += limiter_pass(&limiter, now_ms);
		assert_int_equal(passed, passing[i]);
	}
}

static void errors_have_the_hash_of_their_flow(void **state)
{
	struct chance chance = {20261120};

	(void)state;
	for (int i = 0; i < 20000; i++) {
		bool ipv6 = i & 1;
		uint8_t protocol = chance_below(&chance, 2) ? IPPROTO_TCP : IPPROTO_UDP;
		struct error error = {.flow = ipv6 ? frame_flow6(protocol) : frame_flow(protocol),
				      .from = ipv6 ? "2001:db8:8::1" : "198.51.100.1",
				      .type = ipv6 ? 1 : 3,
				      .quoted = 8 + chance_below(&chance, 12)};
		struct frame frame;
		struct packet packet;

		error.flow.source.bytes[15] = (uint8_t)chance_next(&chance);
		error.flow.source.bytes[14] = (uint8_t)chance_next(&chance);
		error.flow.source_port = (uint16_t)chance_next(&chance);
		service.affinity = chance_below(&chance, 2) ? AFFINITY_CONNECTION : AFFINITY_CLIENT;
		service.hash = chance_below(&chance, 2) ? FL_HASH_SIPHASH : FL_HASH_CRC32;
		frame = error_frame(&error, -1, 0);
		packet = frame_classify(lookup, &frame, frame.len);
		assert_int_equal(packet.verdict, VERDICT_SERVICE);
		check_hash(&packet, &error.flow);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_row_has_its_verdict),
	    cmocka_unit_test(an_echo_request_from_a_vip_is_not_answered),
	    cmocka_unit_test(answers_have_a_limit),
	    cmocka_unit_test(errors_have_the_hash_of_their_flow),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
