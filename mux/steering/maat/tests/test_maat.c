/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steering maat in process: where SYNs and what follows them go by loads, filter and settings. That headers are right
 * whatever is first: tests/test_seconds.c.
 */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "packet/burst.h"
#include "packet/transport.h"
#include "service/tables.h"
#include "steering/maat/maat.h"
#include "tests/frame.h"
#include "tests/image.h"

enum { BUCKETS = 1024, BACKENDS = 4, NOW = 1700000100, FLOWS = 2000, ACK = 0x10 };

static struct tables *tables;
static struct service *service;
static struct service_config config;
static uint64_t now_ms;

static int set_up(void **state)
{
	struct delta snapshot = image_snapshot(1, 3, BUCKETS, BACKENDS);
	struct reason why = {{0}};

	(void)state;
	for (uint32_t i = 0; i < BACKENDS; i++)
		snapshot.backends[i].weight = 100;
	tables = tables_new(1, &image_hops);
	config = image_config(1, "10.99.0.1", BUCKETS);
	config.ports[config.ports_count++] = (struct service_port){IPPROTO_UDP, 80};
	config.mptcp = (struct mptcp_ports){20000, 20010};
	config.steering = &steering_maat;
	config.maat = (struct maat_settings){MAAT_PACKETS, 10, 1000, 65536, 3};
	if (tables_add(tables, &config, &service, &why) || tables_load(tables, service, &snapshot, NULL, &why))
		fail_msg("%s", why.text);
	image_free(&snapshot);
	/* counts run modulo 2^32: they begin below their wrap */
	for (uint32_t id = 0; id < MAAT_IDS; id++)
		maat_of(service)->loads->seen[id] = maat_of(service)->counts[id] = UINT32_MAX - 50;
	now_ms = 1000;
	assert_true(tables_tick(tables, now_ms));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	tables_free(tables);
	return 0;
}

static void configure(struct maat_settings settings)
{
	struct reason why = {{0}};

	config.maat = settings;
	if (tables_change(tables, service, &config, &why))
		fail_msg("%s", why.text);
}

static struct flow flow_of(uint16_t port, uint8_t protocol)
{
	struct flow flow = frame_flow(protocol);

	flow.source_port = port;
	return flow;
}

/* Which bucket a packet names first: 1 by the low half of its hash, 2 by the high one; 0: it names one alone. */
static int steer(const struct flow *flow, uint8_t tcp_flags, uint32_t payload)
{
	struct burst burst = {.mac = mac_word(frame_mac), .now = NOW, .count = 1, .lookup = tables_lookup(tables)};
	struct frame frame = frame_new(flow, payload);
	uint64_t hash = service_flow_hash(service, flow);
	uint32_t first = (uint32_t)hash % BUCKETS, second = (uint32_t)(hash >> 32) % BUCKETS;
	const struct packet *packet = &burst.packets[0];

	if (flow->protocol == IPPROTO_TCP)
		frame.bytes[FRAME_AT_L4 + TRANSPORT_AT_TCP_FLAGS] = tcp_flags;
	burst.mbufs[0] = frame_wrap(&frame);
	burst_steer(&burst);
	assert_int_equal(burst.packets[0].verdict, VERDICT_SERVICE);
	frame_unwrap(burst.mbufs[0]);
	if (!burst.seconds)
		return 0;
	assert_int_equal(packet->bucket + packet->second, first + second);
	assert_int_equal(burst.second_first, packet->bucket == second);
	assert_int_equal(burst.second_syns, packet->bucket == second && tcp_flags & TRANSPORT_TCP_SYN);
	return packet->bucket == first ? 1 : 2;
}

static uint16_t owner(uint64_t hash)
{
	return fl_row_current(ring_row(service_ring(service), (uint32_t)hash % BUCKETS));
}

/* A TCP flow whose first bucket is one backend's and whose second bucket another one's. */
static struct flow flow_between(uint16_t first, uint16_t second, uint16_t from)
{
	for (uint16_t port = from; port; port++) {
		struct flow flow = flow_of(port, IPPROTO_TCP);
		uint64_t hash = service_flow_hash(service, &flow);

		if (owner(hash) == first && owner(hash >> 32) == second)
			return flow;
	}
	fail_msg("no flow between backends %u and %u", first, second);
	return flow_of(0, 0);
}

static void wait_ms(uint64_t ms)
{
	now_ms += ms;
	tables_tick(tables, now_ms);
}

/* Gives backend 1 packets of one connection. */
static void load_first(uint32_t packets)
{
	struct flow flow = flow_between(1, 2, 1);

	for (uint32_t i = 0; i < packets; i++)
		steer(&flow, ACK, 100);
	wait_ms(10);
}

static void a_syn_goes_to_the_less_loaded_owner(void **state)
{
	struct flow towards = flow_between(1, 3, 1000), away = flow_between(3, 1, 1000);
	struct flow same = flow_between(1, 1, 1000), others = flow_between(3, 4, 1000);

	(void)state;
	assert_int_equal(steer(&towards, TRANSPORT_TCP_SYN, 0), 1);
	load_first(100);
	assert_int_equal(steer(&towards, TRANSPORT_TCP_SYN, 0), 2);
	assert_int_equal(steer(&away, TRANSPORT_TCP_SYN, 0), 1);
	assert_int_equal(steer(&same, TRANSPORT_TCP_SYN, 0), 1);
	assert_int_equal(steer(&others, TRANSPORT_TCP_SYN, 0), 1);
	/* what follows goes where the SYN went, whatever loads are then */
	wait_ms(600000);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(steer(&towards, ACK, 10), 2);
		assert_int_equal(steer(&towards, TRANSPORT_TCP_SYN, 0), 2); /* again */
		assert_int_equal(steer(&away, ACK, 10), 1);
	}
	assert_int_equal(steer(&towards, ACK | TRANSPORT_TCP_FIN, 10), 2);
	assert_int_equal(steer(&towards, ACK, 10), 1);
	assert_int_equal(maat_filter_fill(maat_of(service)->filter), 0);
}

static void a_reset_is_forgotten_too(void **state)
{
	struct flow flow = flow_between(1, 3, 1000);

	(void)state;
	load_first(100);
	assert_int_equal(steer(&flow, TRANSPORT_TCP_SYN, 0), 2);
	assert_int_equal(steer(&flow, TRANSPORT_TCP_RST, 0), 2);
	assert_int_equal(steer(&flow, TRANSPORT_TCP_RST, 0), 1);
	assert_int_equal(maat_filter_fill(maat_of(service)->filter), 0);
}

static void only_tcp_has_two(void **state)
{
	struct flow flow = flow_between(1, 3, 1000), datagram = flow_of(flow.source_port, IPPROTO_UDP);

	(void)state;
	load_first(100);
	for (int i = 0; i < 100; i++) {
		datagram.source_port++;
		assert_int_equal(steer(&datagram, 0, 10), 0);
	}
	flow.destination_port = 20002;
	assert_int_equal(steer(&flow, TRANSPORT_TCP_SYN, 0), 0);
}

/* How many of FLOWS new connections go to their second bucket's owner, after some load of backend 1. */
static uint32_t moved_by(struct maat_settings settings, uint32_t packets, uint64_t pause)
{
	uint32_t seconds = 0;

	configure(settings);
	load_first(packets);
	wait_ms(pause);
	for (uint16_t port = 1; port <= FLOWS; port++) {
		struct flow flow = flow_of((uint16_t)(20000 + port), IPPROTO_TCP);

		seconds += steer(&flow, TRANSPORT_TCP_SYN, 0) == 2;
	}
	return seconds;
}

static void delta_and_half_life(void **state)
{
	(void)state;
	/* 3 of 16 pairs of owners have backend 1 first and another one second */
	assert_in_range(moved_by((struct maat_settings){MAAT_PACKETS, 10, 1000, 65536, 3}, 1000, 0), 300, 450);
	tear_down(NULL);
	set_up(NULL);
	/* after 40 half-lives nothing is left of it that counts, of the packets since then either */
	assert_int_equal(moved_by((struct maat_settings){MAAT_PACKETS, 1000, 100, 65536, 3}, 1, 4000) > 450, false);
	tear_down(NULL);
	set_up(NULL);
	assert_int_equal(moved_by((struct maat_settings){MAAT_AGENTS, 10, 1000, 65536, 3}, 1000, 0), 0);
}

static void units(void **state)
{
	struct flow small = flow_between(1, 2, 1), large = flow_between(2, 1, 1), flow = flow_between(1, 2, 30000);

	(void)state;
	/* two packets against one of more bytes */
	configure((struct maat_settings){MAAT_BYTES, 0, 1000, 65536, 3});
	steer(&small, ACK, 0);
	steer(&small, ACK, 0);
	steer(&large, ACK, 1000);
	wait_ms(10);
	assert_int_equal(steer(&flow, TRANSPORT_TCP_SYN, 0), 1);
	configure((struct maat_settings){MAAT_PACKETS, 0, 1000, 65536, 3});
	wait_ms(600000);
	steer(&small, ACK, 0);
	steer(&small, ACK, 0);
	steer(&large, ACK, 1000);
	wait_ms(10);
	assert_int_equal(steer(&flow, TRANSPORT_TCP_SYN, 0), 2);
	steer(&flow, TRANSPORT_TCP_FIN, 0);
	/* connections that were opened lately: those that close again count on, or who opens and closes most would look idle */
	configure((struct maat_settings){MAAT_CONNECTIONS, 0, 60000, 65536, 3});
	wait_ms(10);
	wait_ms(60000000); /* until not even a float remembers it */
	for (int i = 0; i < 100; i++)
		steer(&large, ACK, 0);
	steer(&small, TRANSPORT_TCP_SYN, 0);
	steer(&small, TRANSPORT_TCP_SYN, 0);
	wait_ms(10);
	assert_int_equal(steer(&flow, TRANSPORT_TCP_SYN, 0), 2);
	steer(&flow, TRANSPORT_TCP_RST, 0);
	steer(&small, TRANSPORT_TCP_FIN, 0);
	steer(&small, TRANSPORT_TCP_FIN, 0);
	wait_ms(10);
	assert_int_equal(steer(&flow, TRANSPORT_TCP_SYN, 0), 2);
}

static void reports(void **state)
{
	static float loads[MAAT_IDS];
	struct flow flow = flow_between(1, 2, 1000), other = flow_between(1, 3, 1000);

	(void)state;
	for (uint32_t id = 0; id < MAAT_IDS; id++)
		loads[id] = -1;
	loads[1] = 5;
	loads[2] = 1;
	configure((struct maat_settings){MAAT_AGENTS, 10, 1000, 65536, 3});
	maat_loads_report(maat_of(service)->loads, loads, now_ms);
	wait_ms(10);
	assert_int_equal(steer(&flow, TRANSPORT_TCP_SYN, 0), 2);
	assert_int_equal(steer(&other, TRANSPORT_TCP_SYN, 0), 1); /* backend 3 is unknown */
	steer(&flow, TRANSPORT_TCP_FIN, 0);
	wait_ms(MAAT_REPORTED_MS - 20);
	assert_int_equal(steer(&flow, TRANSPORT_TCP_SYN, 0), 2);
	steer(&flow, TRANSPORT_TCP_FIN, 0);
	wait_ms(20);
	assert_int_equal(steer(&flow, TRANSPORT_TCP_SYN, 0), 1); /* too old */
}

static void loads_are_over_weight(void **state)
{
	struct delta weigh = {.service = 1, .generation = 4, .base = 3, .buckets = BUCKETS, .committed = NOW};
	struct fl_delta_backend *list = service_ring(service)->backends->list, heavy = list[0];
	struct flow flow = flow_between(1, 2, 1000), back = flow_between(2, 1, 1000);
	struct reason why = {{0}};

	(void)state;
	load_first(100);
	for (int i = 0; i < 90; i++)
		steer(&back, ACK, 0);
	wait_ms(10);
	assert_int_equal(steer(&flow, TRANSPORT_TCP_SYN, 0), 2);
	steer(&flow, TRANSPORT_TCP_FIN, 0);
	heavy.weight = (uint16_t)(2 * heavy.weight);
	weigh.backends = &heavy;
	weigh.backends_count = 1;
	if (tables_apply(tables, service, &weigh, NULL, &why))
		fail_msg("%s", why.text);
	wait_ms(10);
	assert_int_equal(steer(&flow, TRANSPORT_TCP_SYN, 0), 1);
	assert_int_equal(steer(&back, TRANSPORT_TCP_SYN, 0), 2);
}

static void settings_change_under_connections(void **state)
{
	struct flow flow = flow_between(1, 2, 1000), next = flow_between(1, 2, 3000);
	const struct maat *before = maat_of(service);
	const struct maat_loads *loads = before->loads;

	(void)state;
	load_first(100);
	assert_int_equal(steer(&flow, TRANSPORT_TCP_SYN, 0), 2);
	/* another delta: the filter stays */
	configure((struct maat_settings){MAAT_PACKETS, 20, 1000, 65536, 3});
	assert_int_equal(steer(&flow, ACK, 0), 2);
	assert_int_equal(steer(&next, TRANSPORT_TCP_SYN, 0), 2);
	/* another filter: empty, but loads stay */
	configure((struct maat_settings){MAAT_PACKETS, 20, 1000, 4096, 2});
	assert_int_equal(steer(&flow, ACK, 0), 1);
	assert_ptr_equal(maat_of(service)->loads, loads);
	next = flow_between(1, 2, 5000);
	assert_int_equal(steer(&next, TRANSPORT_TCP_SYN, 0), 2);
	maat_set_mode(service, MAAT_FILTER_OFF);
	assert_int_equal(steer(&next, ACK, 0), 1);
	configure((struct maat_settings){MAAT_PACKETS, 20, 1000, 8192, 2});
	assert_int_equal(steer(&next, TRANSPORT_TCP_SYN, 0), 2);
	assert_int_equal(steer(&next, ACK, 0), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(a_syn_goes_to_the_less_loaded_owner, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(a_reset_is_forgotten_too, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(only_tcp_has_two, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(delta_and_half_life, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(units, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(reports, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(loads_are_over_weight, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(settings_change_under_connections, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
