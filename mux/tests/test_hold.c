/* SPDX-License-Identifier: Apache-2.0 */
/* With a hold, packets name the previous owner for as long as the row does; without one, for the window. */
#include <netinet/in.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "encap/gue.h"
#include "packet/burst.h"
#include "service/tables.h"
#include "frame.h"
#include "image.h"

enum { BUCKETS = 1024, BACKENDS = 9, FLOWS = 500, NOW = 1700000100, HOLD = 3600, WINDOW = 240 };

/* Seconds since each bucket's move; those of 0 have never moved. */
static const uint32_t ages[] = {0, 1, WINDOW - 1, WINDOW, HOLD, HOLD + 1000};

enum { AGES = sizeof(ages) / sizeof(ages[0]) };

static struct service_config config_of(uint32_t hold)
{
	struct service_config config = image_config(3, "10.99.0.1", BUCKETS);

	config.ports_count = 2;
	config.ports[1] = (struct service_port){IPPROTO_UDP, 80};
	config.window = WINDOW;
	config.hold = hold;
	return config;
}

static struct tables *serve(struct service **service)
{
	struct delta snapshot = image_snapshot(3, 9, BUCKETS, BACKENDS);
	struct service_config config = config_of(0);
	struct tables *tables = tables_new(1, &image_hops);
	struct reason why = {{0}};

	for (uint32_t i = 0; i < BUCKETS; i++) {
		image_was(&snapshot, i, i % AGES ? (uint16_t)(1 + (i + 2) % BACKENDS) : 0, NOW - ages[i % AGES]);
	}
	if (tables_add(tables, &config, service, &why) || tables_load(tables, *service, &snapshot, &why))
		fail_msg("%s", why.text);
	image_free(&snapshot);
	return tables;
}

/* The steer header of the frame as it leaves. */
static struct fl_steer steer(const struct tables *tables, const struct frame *frame)
{
	struct burst burst = {.lookup = tables_lookup(tables), .mac = mac_word(frame_mac), .now = NOW, .count = 1};
	struct rte_mbuf *mbuf = frame_wrap(frame);
	struct fl_steer header;
	const uint8_t *out;

	burst.mbufs[0] = mbuf;
	burst_steer(&burst);
	assert_int_equal(burst.packets[0].verdict, VERDICT_SERVICE);
	out = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	assert_int_equal(fl_steer_parse(out + GUE_AT_GUE, out + mbuf->data_len, &header), FL_STEER_OK);
	frame_unwrap(mbuf);
	return header;
}

/* Checks the packet of a flow; returns whether it carries a move that a window would have ended. */
static bool check(const struct tables *tables, const struct service *service, const struct flow *flow, uint32_t hold)
{
	struct frame frame = frame_new(flow, 33);
	struct explanation why;
	struct fl_steer header = steer(tables, &frame);
	uint32_t age;
	bool moved;

	assert_int_equal(service_explain(service, flow, NOW, &why), 0);
	assert_int_equal(header.bucket, why.first.bucket);
	age = ages[why.first.bucket % AGES];
	moved = age && (hold || age < WINDOW);
	assert_int_equal(why.first.moved, moved);
	assert_int_equal(header.flags, moved ? FL_STEER_MOVED : 0);
	if (moved) {
		assert_int_equal(header.since, NOW - age);
		assert_memory_equal(&header.previous, &why.first.previous_address, sizeof(header.previous));
	}
	return moved && age >= WINDOW;
}

/* Nothing but the configuration changes: off, on, on for longer, and off. */
static void it_changes_at_once(void **state)
{
	static const uint32_t holds[] = {0, 1, HOLD, 0};
	struct service *service;
	struct tables *tables = serve(&service);
	struct reason why = {{0}};

	(void)state;
	for (size_t i = 0; i < sizeof(holds) / sizeof(holds[0]); i++) {
		struct service_config config = config_of(holds[i]);
		uint32_t held = 0;

		assert_int_equal(tables_change(tables, service, &config, &why), 0);
		for (uint16_t port = 1; port <= FLOWS; port++) {
			struct flow flow = frame_flow(port % 2 ? IPPROTO_TCP : IPPROTO_UDP);

			flow.source_port = port;
			flow.destination_port = 80;
			held += check(tables, service, &flow, holds[i]);
		}
		assert_true(holds[i] ? held > FLOWS / 4 : held == 0);
	}
	tables_free(tables);
}

/* A release: the bucket stays where it is, and its row names no previous owner any more. */
static void a_release_ends_it(void **state)
{
	struct service_config config = config_of(HOLD);
	struct service *service;
	struct tables *tables = serve(&service);
	struct flow flow = frame_flow(IPPROTO_TCP);
	struct reason why = {{0}};
	struct explanation before, after;
	struct frame frame;
	struct delta base = {.service = 3, .generation = 9, .buckets = BUCKETS}, release;

	(void)state;
	assert_int_equal(tables_change(tables, service, &config, &why), 0);
	flow.destination_port = 80;
	do {
		flow.source_port++;
		assert_int_equal(service_explain(service, &flow, NOW, &before), 0);
	} while (ages[before.first.bucket % AGES] < WINDOW);
	frame = frame_new(&flow, 33);
	assert_int_equal(steer(tables, &frame).flags, FL_STEER_MOVED);
	release = image_move(&base, 10, before.first.bucket, 1, before.first.current, NOW);
	assert_int_equal(tables_apply(tables, service, &release, &why), 0);
	assert_int_equal(service_explain(service, &flow, NOW, &after), 0);
	assert_int_equal(after.first.current, before.first.current);
	assert_false(after.first.moved);
	assert_int_equal(steer(tables, &frame).flags, 0);
	image_free(&release);
	tables_free(tables);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(it_changes_at_once),
	    cmocka_unit_test(a_release_ends_it),
	};

	return cmocka_run_group_tests_name("hold", tests, NULL, NULL);
}
