/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the control plane changes under a running pipeline, in the order that README.md gives: each change is one store,
 * and packets go by the old state until then. And the edges of what a packet may be: its size, and its list.
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

#include "encap/gue.h"
#include "frame.h"
#include "image.h"
#include "rack.h"
#include "ring/lists.h"
#include "steering/othello/arrays.h"
#include "steering/othello/othello.h"
#include "steering/othello/pair.h"

enum {
	BUCKETS = 256,
	MTU = 1600,
	NEXT_BASE = 8192, /* of a second region */
	NEXT_PLACE = 4096,
	NEXT_CELLS = 4096,           /* of sets of cells */
	SETS = 64,                   /* as many generations may be published while a packet is in the pipeline */
	SET_CELLS = 4,               /* of each array */
	LISTS = 256,                 /* of the generations that packets may go by */
	PAYLOAD_MAX = MTU - 40 - 40, /* of a TCP packet without a list */
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
	if (tables_add(tables, config, &service, &why) || tables_load(tables, service, &snapshot, pair, &why))
		fail_msg("%s", why.text);
	image_free(&snapshot);
	rack_fill(&rack, tables, NULL, 0);
	return 0;
}

static struct service_config config_of_test(void)
{
	return image_config(9, "10.99.0.1", BUCKETS);
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
		image_set_cell(arrays, i, i < SET_CELLS ? 20 : 0);
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

/* A row with so many former owners, of IPv4, at that place; the last one's address is `last`. */
static fl_row list_row(uint16_t owner, uint32_t count, uint32_t place, uint32_t last)
{
	rack_write(&rack, "lists", place + LISTS_WORDS - 1, last);
	return (fl_row)place << 32 | (fl_row)count << 28 | (fl_row)count << 16 | owner;
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

/* Who gets a packet now, of which generation, and how many candidates it carries. */
struct got {
	uint32_t destination, generation, len;
	uint8_t candidates;
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
			   .generation = fl_load_be32(frame + GUE_AT_GUE + FL_LIST_AT_GENERATION),
			   .len = mbuf->pkt_len - ENCAP_AT_IP,
			   .candidates = frame[GUE_AT_GUE + FL_LIST_AT_FLAGS] >> 4};
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
	set_rows(base_of_region(), list_row(2, 1, 0, 0x0a010015));
	assert_int_equal(steer(10).destination, 0x0a010016);
	assert_int_equal(steer(10).generation, 20);
	assert_int_equal(steer(10).candidates, 1);
	rack_write(&rack, "services", line_word(P4_LINE_GENERATION), 21);
	assert_int_equal(steer(10).generation, 21);
}

/* A snapshot: another region in whole, the service's region by one store, then the generation. */
static void test_snapshot(void **state)
{
	uint32_t base = base_of_region();

	(void)state;
	set_rows(NEXT_BASE, 3);
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
	assert_int_equal(steer(10).destination, 0x0a010015);
	rack_write(&rack, "ring", word, p4_backend_word(backends, &backend, NEXT_PLACE, 0));
	assert_int_equal(steer(10).destination, 0x0a010063);
	backend.state = BACKEND_NO_NEIGHBOUR;
	rack_write(&rack, "ring", word, p4_backend_word(backends, &backend, NEXT_PLACE, 0));
	refuse(10, VERDICT_NO_NEIGHBOUR, rack_slot(service));
	rack_write(&rack, "ring", word, 0);
	refuse(10, VERDICT_NO_BACKEND, rack_slot(service));
}

/* Up to the MTU, with lists of all lengths. */
static void test_sizes(void **state)
{
	(void)state;
	for (uint32_t count = 0; count <= FL_LIST_MAX; count++) {
		uint32_t most = PAYLOAD_MAX - count * LISTS_IPV4_LEN;
		struct got got;

		set_rows(base_of_region(), list_row(2, count, 0, 0x0a010015));
		got = steer(most);
		assert_int_equal(got.len, MTU);
		assert_int_equal(got.candidates, count);
		refuse(most + 1, VERDICT_TOO_BIG, rack_slot(service));
	}
}

/* A list that the register has no room for is the usual path's. */
static void test_no_room(void **state)
{
	fl_row last = list_row(2, 1, P4_LISTS_WORDS - LISTS_WORDS, 0x0a010015), beyond = last + ((fl_row)1 << 32);

	(void)state;
	assert_int_equal(p4_row(last, 3), last);
	set_rows(base_of_region(), p4_row(last, 3));
	assert_int_equal(steer(10).candidates, 1);
	set_rows(base_of_region(), p4_row(beyond, 3));
	refuse(10, P4_VERDICT_REFERRED, rack_slot(service));
	assert_int_equal(p4_row(last, 2), FL_BACKEND_NONE);
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
		set_rows(base, list_row(2, 1, generation % LISTS * LISTS_WORDS, generation));
		if (generation % 8 == 0)
			rack_write(&rack, "services", line_word(P4_LINE_REGION), p4_region(base, BUCKETS));
		rack_write(&rack, "services", line_word(P4_LINE_GENERATION), generation);
	}
	return NULL;
}

/* No packet has a generation that is newer than its row, whose former owner is here the generation. */
static void test_order(void **state)
{
	uint32_t first = 0, last = 0, newer = 0, row = 0;
	bool stop = false;
	pthread_t thread;

	(void)state;
	set_rows(base_of_region(), list_row(2, 1, 20 * LISTS_WORDS, 20));
	assert_int_equal(base_of_region(), 0);
	assert_int_equal(pthread_create(&thread, NULL, change, &stop), 0);
	for (uint32_t rounds = 0; !newer && (rounds < ROUNDS || last - first < GENERATIONS); rounds++) {
		struct rte_mbuf *mbuf;

		for (uint32_t i = 0; i < PER_ROUND; i++)
			put(10);
		rack_run(&rack);
		while ((mbuf = rack_take(&rack, 0))) {
			const uint8_t *gue = rte_pktmbuf_mtod(mbuf, const uint8_t *) + GUE_AT_GUE;
			uint32_t generation = fl_load_be32(gue + FL_LIST_AT_GENERATION);
			uint32_t of_row = fl_load_be32(gue + FL_LIST_AT_CANDIDATES);

			if (generation > of_row) {
				newer = generation;
				row = of_row;
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

/* No packet has a generation that is newer than the arrays that gave its bucket, which is its row's former owner. */
static void test_arrays(void **state)
{
	struct shared shared = {.seen = 20};
	uint32_t newer = 0, older = 0;
	pthread_t thread;

	(void)state;
	for (uint32_t i = 0; i < BUCKETS; i++)
		rack_write(&rack, "ring", base_of_region() + i, list_row(1, 1, i * LISTS_WORDS, i));
	assert_int_equal(pthread_create(&thread, NULL, change_arrays, &shared), 0);
	for (uint32_t i = 0; !newer && (i < ROUNDS * PER_ROUND || shared.seen < 20 + GENERATIONS); i++) {
		struct rte_mbuf *mbuf;

		put(10);
		rack_run(&rack);
		while ((mbuf = rack_take(&rack, 0))) {
			const uint8_t *gue = rte_pktmbuf_mtod(mbuf, const uint8_t *) + GUE_AT_GUE;
			uint32_t generation = fl_load_be32(gue + FL_LIST_AT_GENERATION);
			uint32_t arrays = fl_load_be32(gue + FL_LIST_AT_CANDIDATES);

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
	    cmocka_unit_test_setup_teardown(test_no_room, set_up, tear_down),
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
