// SPDX-License-Identifier: Apache-2.0
/*
 * Floods of packets that no server knows (flood.h): which of them are dropped, and that nothing else is. How many are
 * is tested with a clock in server/tests/test_flood.c.
 */
#include <stdio.h>

#include "list_form.h"

enum {
	MANY = 200, /* two of them come within a second, at one processor */
	NOW = 5,
};

static const struct list_form *form;

/* Begins a packet of which so many candidates are left: all three are as the mux has sent it. */
static void begin(struct packet *packet, fl_u8 left)
{
	struct fl_list list = rig_list(RIG_IPV4);
	static const char *const servers[] = {"10.1.0.21", "10.1.0.23", "10.1.0.24"};

	for (list.count = 0; list.count < 3; list.count++)
		list.candidate[list.count] = packet_address(servers[list.count]);
	list.left = left;
	list.generation = NOW;
	rig_begin(packet, &list);
}

static enum fl_counter segment(fl_u8 left, const struct packet_tcp *tcp)
{
	struct packet packet;

	begin(&packet, left);
	packet_add_tcp(&packet, tcp);
	packet_finish_outer(&packet);
	return form->send(&packet);
}

static enum fl_counter datagram(fl_u8 left, const struct packet_flow *flow)
{
	struct packet packet;

	begin(&packet, left);
	packet_add_udp(&packet, flow, 8);
	packet_finish_outer(&packet);
	return form->send(&packet);
}

/* An ICMP error about what the service sent in this connection. */
static enum fl_counter error(fl_u8 left, const struct packet_tcp *tcp, bool quotes_datagram)
{
	struct fl_address router = packet_address("10.1.0.1");
	struct packet_tcp sent = {.flow = packet_reverse(&tcp->flow), .flags = tcp->flags};
	struct packet packet, quoted = {.len = 0};

	begin(&packet, left);
	if (quotes_datagram)
		packet_add_udp(&quoted, &sent.flow, 8);
	else
		packet_add_tcp(&quoted, &sent);
	packet_add_icmp_error(&packet, &router, &quoted);
	packet_finish_outer(&packet);
	return form->send(&packet);
}

static void rate_set(fl_u32 rate)
{
	struct config config = rig_config();

	config.program.flood_rate = rate;
	form->set(&config);
	form->generation_set(NOW);
}

/* Sends what another server has sent here until it is dropped as a flood. */
static bool is_flooded(void)
{
	enum fl_counter counter = FL_COUNTER_CHAIN;
	int i;

	for (i = 0; i < MANY && counter == FL_COUNTER_CHAIN; i++)
		counter = segment(2, &rig_packets(RIG_IPV4)->unknown);
	return counter == FL_COUNTER_DROP_FLOOD;
}

static void flooded(void **state)
{
	const struct rig_packets *packets = rig_packets(RIG_IPV4);
	int i;

	(void)state;
	rate_set(1);
	assert_true(is_flooded());
	for (i = 0; i < MANY; i++) {
		assert_int_equal(segment(3, &packets->unknown), FL_COUNTER_CHAIN);
		assert_int_equal(segment(2, &packets->established), FL_COUNTER_DELIVER_LOCAL_SOCKET);
		assert_int_equal(segment(0, &packets->unknown), FL_COUNTER_DELIVER_UNKNOWN);
	}
	assert_true(is_flooded());
	assert_int_equal(segment(2, &packets->cookie_ack), FL_COUNTER_DELIVER_COOKIE_ACK);
	assert_int_equal(segment(2, &packets->syn), FL_COUNTER_DELIVER_SYN);
	assert_int_equal(datagram(3, &packets->udp_unconnected), FL_COUNTER_CHAIN);
	assert_int_equal(datagram(0, &packets->udp_unconnected), FL_COUNTER_DELIVER_NO_RESET);
}

/* They count and are dropped as what they quote. */
static void errors(void **state)
{
	const struct rig_packets *packets = rig_packets(RIG_IPV4);
	int i, sent_on = 0;

	(void)state;
	rate_set(1);
	for (i = 0; i < MANY; i++)
		sent_on += error(2, &packets->unknown, false) == FL_COUNTER_CHAIN;
	assert_in_range(sent_on, 0, MANY / 2);
	assert_true(is_flooded());
	for (i = 0; i < MANY; i++) {
		assert_int_equal(error(2, &packets->established, false), FL_COUNTER_DELIVER_LOCAL_SOCKET);
		assert_int_equal(error(3, &packets->unknown, false), FL_COUNTER_CHAIN);
		assert_int_equal(error(0, &packets->unknown, false), FL_COUNTER_DELIVER_UNKNOWN);
		assert_int_equal(error(2, &packets->unknown, true), FL_COUNTER_CHAIN);
	}
	assert_true(is_flooded());
	assert_int_equal(error(2, &packets->unknown, false), FL_COUNTER_DROP_FLOOD);
}

/* A service's own are as many as a flood, also where no socket is theirs. */
static void datagrams(void **state)
{
	const struct rig_packets *packets = rig_packets(RIG_IPV4);
	struct packet_flow to_none = packets->udp_unconnected;
	int i;

	(void)state;
	to_none.destination_port++;
	rate_set(1);
	assert_true(is_flooded());
	assert_int_equal(datagram(0, &to_none), FL_COUNTER_DELIVER_UNKNOWN);
	for (i = 0; i < MANY; i++) {
		assert_int_equal(datagram(2, &packets->udp_unconnected), FL_COUNTER_CHAIN);
		assert_int_equal(datagram(2, &to_none), FL_COUNTER_CHAIN);
	}
}

static void without_a_bound(void **state)
{
	(void)state;
	rate_set(0);
	assert_false(is_flooded());
	assert_int_equal(error(2, &rig_packets(RIG_IPV4)->unknown, false), FL_COUNTER_CHAIN);
}

static void below_the_default(void **state)
{
	(void)state;
	rate_set(FL_SERVER_FLOOD_RATE_DEFAULT);
	assert_false(is_flooded());
}

int list_flood_run(const struct list_form *of)
{
	static const struct {
		const char *name;
		CMUnitTestFunction run;
	} cases[] = {
	    {"what a server has sent here is dropped, and nothing else", flooded},
	    {"ICMP errors are as what they quote", errors},
	    {"datagrams never are", datagrams},
	    {"without a bound nothing is", without_a_bound},
	    {"nor below the default one", below_the_default},
	};
	struct vectors_tests tests = {NULL, 0};
	char group[64];
	size_t i;

	form = of;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		vectors_add_plain(&tests, cases[i].name, cases[i].run, NULL);
	snprintf(group, sizeof(group), "floods at %s", form->name);
	return vectors_run(group, &tests);
}
