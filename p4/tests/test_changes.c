/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the control plane changes under a running pipeline, in the order that README.md gives: each change is one store,
 * and packets go by the old state until then. And the edges of what a packet may be: its size, its move's window.
 *
 *	test_p4_changes mux.spec
 */
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fairlead/steer.h>

#include "encap/gue.h"
#include "frame.h"
#include "image.h"
#include "rack.h"
#include "steering/othello/arrays.h"
#include "steering/othello/othello.h"
#include "steering/othello/pair.h"

enum {
	BUCKETS = 256,
	NOW = 1700000100,
	WINDOW = 240,
	SINCE = NOW - 10,
	MTU = 1600,
	NEXT_BASE = 8192, /* of a second region */
	NEXT_PLACE = 4096,
	NEXT_CELLS = 4096,           /* of sets of cells */
	SETS = 64,                   /* as many generations may be published while a packet is in the pipeline */
	SET_CELLS = 4,               /* of each array */
	PAYLOAD_MAX = MTU - 44 - 40, /* of a TCP packet without MOVED */
	PAYLOAD_MOVED = PAYLOAD_MAX - 8,
	ROUNDS = 400,
	PER_ROUND = 64,
	GENERATIONS = 200, /* that packets must have seen */
};

static const char *spec;
static struct rack rack;
static struct tables *tables;
static struct service *service;

/* Backend 1 owns all buckets. */
static int open_service(const struct service_config *config, struct othello_pair *pair)
{
	struct delta snapshot = image_snapshot(config->id, 20, BUCKETS, 3);
	struct reason why = {{0}};

	tables = tables_new(1, &image_hops);
	assert_non_null(tables);
	for (uint32_t i = 0; i < BUCKETS; i++)
		image_own(&snapshot, i, 1);
	if (tables_add(tables, config, &service, &why) || tables_load_with(tables, service, &snapshot, pair, &why))
		fail_msg("%s", why.text);
	image_free(&snapshot);
	rack_fill(&rack, tables, NULL, 0);
	rack_now(&rack, NOW);
	return 0;
}

static struct service_config config_of_test(void)
{
	struct service_config config = image_config(9, "10.99.0.1", BUCKETS);

	config.window = WINDOW;
	return config;
}

static int set_up(void **state)
{
	struct service_config config = config_of_test();

	(void)state;
	return open_service(&config, NULL);
}

/* Arrays that name bucket 20 for each connection. */
static int set_up_arrays(void **state)
{
	struct service_config config = config_of_test();
	struct othello_arrays *arrays;
	struct othello_pair *pair;
	struct chance chance = {1};

	(void)state;
	config.steering = &steering_othello;
	arrays = image_arrays(&chance, 1, SET_CELLS, SET_CELLS, config.hash, BUCKETS);
	for (uint32_t i = 0; i < 2 * SET_CELLS; i++)
		((uint16_t *)(uintptr_t)arrays->cells)[i] = i < SET_CELLS ? 20 : 0;
	pair = othello_pair_new(arrays, NULL, false);
	assert_non_null(pair);
	return open_service(&config, pair);
}

static int tear_down(void **state)
{
	(void)state;
	tables_free(tables);
	return 0;
}

static uint32_t line_word(unsigned word)
{
	return rack_slot(service) * (uint32_t)P4_LINE_WORDS + word;
}

static uint32_t base_of_region(void)
{
	return (uint32_t)rack_read(&rack, "services", line_word(P4_LINE_REGION));
}

static void set_rows(uint32_t base, fl_row row)
{
	for (uint32_t i = 0; i < BUCKETS; i++)
		rack_write(&rack, "ring", base + i, row);
}

/* A TCP packet with that payload. */
static void put(uint32_t payload)
{
	struct flow flow = frame_flow(IPPROTO_TCP);
	struct frame frame = frame_new(&flow, payload);
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(rack.pool);

	assert_non_null(mbuf);
	memcpy(rte_pktmbuf_append(mbuf, (uint16_t)frame.len), frame.bytes, frame.len);
	rack_put(&rack, 0, mbuf);
}

/* What comes of one: the port that it left by, and itself. */
static struct rte_mbuf *pass(uint32_t payload, unsigned *out)
{
	struct rte_mbuf *mbuf;

	put(payload);
	rack_run(&rack);
	for (*out = 0; *out < RACK_OUTS; (*out)++) {
		mbuf = rack_take(&rack, *out);
		if (mbuf)
			return mbuf;
	}
	return NULL;
}

/* Who gets a packet now, of which generation, and whether it carries a move. */
struct got {
	uint32_t destination, generation, len;
	uint8_t flags;
};

static struct got steer(uint32_t payload)
{
	unsigned out;
	struct rte_mbuf *mbuf = pass(payload, &out);
	const uint8_t *frame;
	struct got got;

	assert_non_null(mbuf);
	assert_int_equal(out, 0);
	frame = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	got = (struct got){.destination = fl_load_be32(frame + ENCAP_AT_IP + 16),
			   .generation = fl_load_be32(frame + GUE_AT_GUE + FL_STEER_AT_GENERATION),
			   .len = mbuf->pkt_len - ENCAP_AT_IP,
			   .flags = frame[GUE_AT_GUE + FL_STEER_AT_FLAGS]};
	rte_pktmbuf_free(mbuf);
	return got;
}

static void refuse(uint32_t payload, unsigned verdict, uint16_t slot)
{
	uint64_t before = rack_count(&rack, slot, verdict);
	unsigned out;
	struct rte_mbuf *mbuf = pass(payload, &out);

	assert_non_null(mbuf);
	assert_int_equal(out, RACK_WIRES);
	rte_pktmbuf_free(mbuf);
	assert_int_equal(rack_count(&rack, slot, verdict), before + 1);
}

/* A delta: rows, then the generation. */
static void test_delta(void **state)
{
	(void)state;
	assert_int_equal(steer(10).destination, 0x0a010015);
	set_rows(base_of_region(), fl_row_make(2, 1, SINCE));
	assert_int_equal(steer(10).destination, 0x0a010016);
	assert_int_equal(steer(10).generation, 20);
	assert_int_equal(steer(10).flags, FL_STEER_MOVED);
	rack_write(&rack, "services", line_word(P4_LINE_GENERATION), 21);
	assert_int_equal(steer(10).generation, 21);
}

/* A snapshot: another region in whole, the service's region by one store, then the generation. */
static void test_snapshot(void **state)
{
	uint32_t base = base_of_region();

	(void)state;
	set_rows(NEXT_BASE, fl_row_make(3, FL_BACKEND_NONE, 0));
	for (uint32_t id = 0; id <= 3; id++)
		rack_write(&rack, "ring", NEXT_BASE + BUCKETS + id, rack_read(&rack, "ring", base + BUCKETS + id));
	assert_int_equal(steer(10).destination, 0x0a010015);
	rack_write(&rack, "services", line_word(P4_LINE_REGION), p4_region(NEXT_BASE, BUCKETS));
	assert_int_equal(steer(10).destination, 0x0a010017);
	assert_int_equal(steer(10).generation, 20);
	rack_write(&rack, "services", line_word(P4_LINE_GENERATION), 30);
	assert_int_equal(steer(10).generation, 30);
	rack_write(&rack, "services", line_word(P4_LINE_GENERATION), 0);
	refuse(10, VERDICT_NO_RING, rack_slot(service));
}

/* A backend's next hop: another place in whole, then its word. */
static void test_place(void **state)
{
	const struct backends *backends = ring_backends(service_ring(service));
	struct backend backend = backends->rows[1];
	uint32_t word = base_of_region() + BUCKETS + 1;
	uint64_t line[P4_LINE_WORDS];

	(void)state;
	fl_store_be32(backend.outer.head + ENCAP_AT_IP + 16, 0x0a010063);
	p4_template(&backend, line);
	for (uint32_t i = 0; i < P4_LINE_WORDS; i++)
		rack_write(&rack, "templates", NEXT_PLACE * P4_LINE_WORDS + i, line[i]);
	rack_write(&rack, "tails", NEXT_PLACE, p4_tail(&backend));
	rack_write(&rack, "lows", NEXT_PLACE, p4_low(&backend));
	assert_int_equal(steer(10).destination, 0x0a010015);
	rack_write(&rack, "ring", word, p4_backend_word(backends, &backend, NEXT_PLACE, 0));
	assert_int_equal(steer(10).destination, 0x0a010063);
	backend.state = BACKEND_NO_NEIGHBOUR;
	rack_write(&rack, "ring", word, p4_backend_word(backends, &backend, NEXT_PLACE, 0));
	refuse(10, VERDICT_NO_NEIGHBOUR, rack_slot(service));
	rack_write(&rack, "ring", word, 0);
	refuse(10, VERDICT_NO_BACKEND, rack_slot(service));
}

/* Up to the MTU, with and without a move. */
static void test_sizes(void **state)
{
	(void)state;
	assert_int_equal(steer(PAYLOAD_MAX).len, MTU);
	refuse(PAYLOAD_MAX + 1, VERDICT_TOO_BIG, rack_slot(service));
	set_rows(base_of_region(), fl_row_make(2, 1, SINCE));
	assert_int_equal(steer(PAYLOAD_MOVED).len, MTU);
	refuse(PAYLOAD_MOVED + 1, VERDICT_TOO_BIG, rack_slot(service));
}

/* Packets carry a move until the window's last second. */
static void test_window(void **state)
{
	(void)state;
	set_rows(base_of_region(), fl_row_make(2, 1, SINCE));
	rack_now(&rack, SINCE + WINDOW - 1);
	assert_int_equal(steer(10).flags, FL_STEER_MOVED);
	rack_now(&rack, SINCE + WINDOW);
	assert_int_equal(steer(10).flags, 0);
	rack_write(&rack, "services", line_word(P4_LINE_MOVED_SECONDS), FL_ROW_HELD);
	assert_int_equal(steer(10).flags, FL_STEER_MOVED);
	set_rows(base_of_region(), fl_row_make(2, 1, 0xffffffff));
	assert_int_equal(steer(10).flags, FL_STEER_MOVED);
	set_rows(base_of_region(), fl_row_make(2, 9, SINCE)); /* no such backend */
	assert_int_equal(steer(10).flags, 0);
}

/* Changes the ring under packets: a delta in each generation, every eighth one a new region. */
static void *change(void *stop)
{
	uint32_t base = base_of_region();

	for (uint32_t generation = 21; !__atomic_load_n((bool *)stop, __ATOMIC_RELAXED); generation++) {
		if (generation % 8 == 0) {
			base = base == NEXT_BASE ? 2 * NEXT_BASE : NEXT_BASE;
			for (uint32_t id = 0; id <= 3; id++)
				rack_write(&rack, "ring", base + BUCKETS + id, rack_read(&rack, "ring", BUCKETS + id));
		}
		set_rows(base, fl_row_make(2, 1, generation));
		if (generation % 8 == 0)
			rack_write(&rack, "services", line_word(P4_LINE_REGION), p4_region(base, BUCKETS));
		rack_write(&rack, "services", line_word(P4_LINE_GENERATION), generation);
	}
	return NULL;
}

/* No packet has a generation that is newer than its row, whose `since` says here of which it is. */
static void test_order(void **state)
{
	uint32_t first = 0, last = 0, newer = 0, row = 0;
	bool stop = false;
	pthread_t thread;

	(void)state;
	rack_write(&rack, "services", line_word(P4_LINE_MOVED_SECONDS), FL_ROW_HELD);
	set_rows(base_of_region(), fl_row_make(2, 1, 20));
	assert_int_equal(base_of_region(), 0);
	assert_int_equal(pthread_create(&thread, NULL, change, &stop), 0);
	for (uint32_t rounds = 0; !newer && (rounds < ROUNDS || last - first < GENERATIONS); rounds++) {
		struct rte_mbuf *mbuf;

		for (uint32_t i = 0; i < PER_ROUND; i++)
			put(10);
		rack_run(&rack);
		while ((mbuf = rack_take(&rack, 0))) {
			const uint8_t *gue = rte_pktmbuf_mtod(mbuf, const uint8_t *) + GUE_AT_GUE;
			uint32_t generation = fl_load_be32(gue + FL_STEER_AT_GENERATION);
			uint32_t since = fl_load_be32(gue + FL_STEER_AT_SINCE);

			if (generation > since) {
				newer = generation;
				row = since;
			}
			first = first ? first : generation;
			last = generation;
			rte_pktmbuf_free(mbuf);
		}
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	assert_int_equal(pthread_join(thread, NULL), 0);
	if (newer)
		fail_msg("a packet of generation %u went by a row of %u", newer, row);
}

struct shared {
	bool stop;     /* atomic */
	uint32_t seen; /* atomic; a generation that a packet had */
};

/* Changes arrays under packets: a set of its own in each generation, whose number is the bucket of all connections. */
static void *change_arrays(void *context)
{
	struct shared *shared = context;
	uint32_t first = (uint32_t)rack_read(&rack, "services", line_word(P4_LINE_SETS));

	for (uint32_t generation = 21; !__atomic_load_n(&shared->stop, __ATOMIC_RELAXED); generation++) {
		uint64_t codes = generation % BUCKETS * UINT64_C(0x0001000100010001);
		uint32_t set = NEXT_CELLS + generation % SETS * (P4_SET_HEAD + 2);

		while (generation > __atomic_load_n(&shared->seen, __ATOMIC_RELAXED) + SETS)
			if (__atomic_load_n(&shared->stop, __ATOMIC_RELAXED))
				return NULL;
		for (uint32_t i = 0; i < P4_SET_HEAD; i++)
			rack_write(&rack, "cells", set + i, rack_read(&rack, "cells", first + i));
		rack_write(&rack, "cells", set + P4_SET_HEAD, codes);
		rack_write(&rack, "cells", set + P4_SET_HEAD + 1, 0);
		rack_write(&rack, "services", line_word(P4_LINE_SETS), p4_sets(set, P4_SET_NONE));
		rack_write(&rack, "services", line_word(P4_LINE_GENERATION), generation);
	}
	return NULL;
}

/* No packet has a generation that is newer than the arrays that gave its bucket. */
static void test_arrays(void **state)
{
	struct shared shared = {.seen = 20};
	uint32_t newer = 0, older = 0;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, change_arrays, &shared), 0);
	for (uint32_t i = 0; !newer && (i < ROUNDS * PER_ROUND || shared.seen < 20 + GENERATIONS); i++) {
		struct rte_mbuf *mbuf;

		put(10);
		rack_run(&rack);
		while ((mbuf = rack_take(&rack, 0))) {
			const uint8_t *gue = rte_pktmbuf_mtod(mbuf, const uint8_t *) + GUE_AT_GUE;
			uint32_t generation = fl_load_be32(gue + FL_STEER_AT_GENERATION);
			uint32_t arrays = fl_load_be32(gue + FL_STEER_AT_BUCKET);

			if ((arrays - generation) % BUCKETS >= BUCKETS / 2) {
				newer = generation;
				older = arrays;
			}
			__atomic_store_n(&shared.seen, generation, __ATOMIC_RELAXED);
			rte_pktmbuf_free(mbuf);
		}
	}
	__atomic_store_n(&shared.stop, true, __ATOMIC_RELAXED);
	assert_int_equal(pthread_join(thread, NULL), 0);
	if (newer)
		fail_msg("a packet of generation %u went by arrays of bucket %u", newer, older);
}

/* What is refused can be dropped instead. */
static void test_dispositions(void **state)
{
	unsigned out;

	(void)state;
	set_rows(base_of_region(), 0);
	refuse(10, VERDICT_NO_BACKEND, rack_slot(service));
	rack_write(&rack, "dispositions", VERDICT_NO_BACKEND, 1);
	assert_null(pass(10, &out));
	assert_int_equal(rack_count(&rack, rack_slot(service), VERDICT_NO_BACKEND), 2);
	rack_write(&rack, "dispositions", VERDICT_NO_BACKEND, 0);
	refuse(10, VERDICT_NO_BACKEND, rack_slot(service));
}

/* Once the VIP has left the tables, its packets are the kernel's. */
static void test_removed(void **state)
{
	struct tables *none = tables_new(1, &image_hops);

	(void)state;
	assert_non_null(none);
	steer(10);
	rack_fill(&rack, none, NULL, 0);
	refuse(10, VERDICT_NOT_OURS, 0);
	tables_free(none);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_delta, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_snapshot, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_place, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_sizes, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_window, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_order, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_arrays, set_up_arrays, tear_down),
	    cmocka_unit_test_setup_teardown(test_dispositions, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_removed, set_up, tear_down),
	};
	int failed;

	spec = argc > 1 ? argv[1] : "mux.spec";
	rack_environment();
	rack_open(&rack, spec);
	failed = cmocka_run_group_tests_name("p4 changes", tests, NULL, NULL);
	rack_close(&rack);
	return failed;
}
