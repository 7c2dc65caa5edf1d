/* SPDX-License-Identifier: Apache-2.0 */
/* What holds fragments: how many wait and for how long, what a burst can end, and rings between workers. */
#include <netinet/in.h>
#include <stdlib.h>

#include <rte_ring.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "frame.h"
#include "fragments_world.h"
#include "image.h"

static void a_fragment_waits_for_a_limited_time(void **state)
{
	struct mux *mux = world_alone();
	struct flow flow = world_flow(4);

	(void)state;
	world_give_piece(mux, &flow, 4, 1, 1000);
	world_pump(mux, false, 1000 + FRAGMENTS_WAIT_MS - 1);
	assert_int_equal(world.counts[VERDICT_FRAGMENT_ALONE], 0);
	world_pump(mux, false, 1000 + FRAGMENTS_WAIT_MS);
	assert_int_equal(world.counts[VERDICT_FRAGMENT_ALONE], 1);
	/* the first one comes late: those after it are still sent */
	world_give_piece(mux, &flow, 4, 0, 1200);
	world_give_piece(mux, &flow, 4, 2, 1200 + FRAGMENTS_KNOWN_MS - 1);
	assert_int_equal(world.seen_count, 2);
	/* until its entry expires */
	world_give_piece(mux, &flow, 4, 1, 1200 + 2 * FRAGMENTS_KNOWN_MS);
	world_pump(mux, false, 1200 + 3 * FRAGMENTS_KNOWN_MS);
	assert_int_equal(world.seen_count, 2);
	assert_int_equal(world.counts[VERDICT_FRAGMENT_ALONE], 2);
}

/* What was known long ago is not known again: an expiry modulo 2^32 would be in the future once more. */
static void entries_expire_for_good(void **state)
{
	static const uint64_t starts[] = {1000, (1ULL << 31) - 50, (1ULL << 32) - 50};
	struct mux *mux = world_alone();
	struct flow flow = world_flow(4);

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		uint64_t late = starts[i] + (3ULL << 30);

		world_give_piece(mux, &flow, i, 0, starts[i]);
		world_give_piece(mux, &flow, i, 1, starts[i] + FRAGMENTS_WAIT_MS);
		assert_int_equal(world.counts[VERDICT_SERVICE], 2 * (i + 1));
		world_give_piece(mux, &flow, i, 1, late);
		assert_int_equal(world.counts[VERDICT_SERVICE], 2 * (i + 1));
		world_pump(mux, false, late + FRAGMENTS_WAIT_MS - 1);
		assert_int_equal(world.counts[VERDICT_FRAGMENT_ALONE], i);
		world_pump(mux, false, late + FRAGMENTS_WAIT_MS);
		assert_int_equal(world.counts[VERDICT_FRAGMENT_ALONE], i + 1);
	}
}

static void the_number_of_waiting_fragments_is_limited(void **state)
{
	struct mux *mux = world_alone();
	struct flow flow = world_flow(4);

	(void)state;
	for (uint32_t i = 0; i < FRAGMENTS_HELD_EACH + 5; i++)
		world_give_piece(mux, &flow, 4, 1, 1000);
	assert_int_equal(world.counts[VERDICT_FRAGMENT_FULL], 5);
	for (uint32_t id = 100; id < 100 + FRAGMENTS_HELD - FRAGMENTS_HELD_EACH; id++)
		world_give_piece(mux, &flow, id, 1, 1000);
	assert_int_equal(world.counts[VERDICT_FRAGMENT_FULL], 5);
	/* the oldest give way to new ones */
	for (uint32_t id = 1000; id < 1007; id++)
		world_give_piece(mux, &flow, id, 1, 1000);
	assert_int_equal(world.counts[VERDICT_FRAGMENT_FULL], 12);
	world_give_piece(mux, &flow, 4, 0, 1001);
	assert_int_equal(world.seen_count, 1 + FRAGMENTS_HELD_EACH - 7);
	for (uint32_t id = 1000; id < 1007; id++)
		world_give_piece(mux, &flow, id, 0, 1001);
	assert_int_equal(world.seen_count, 1 + FRAGMENTS_HELD_EACH - 7 + 2 * 7);
	world_pump(mux, false, 5000);
	assert_int_equal(world.counts[VERDICT_FRAGMENT_ALONE], FRAGMENTS_HELD - FRAGMENTS_HELD_EACH);
}

/* 20,000 lone later fragments a second from anywhere: datagrams whose fragments are 5 ms out of order still arrive. */
static void a_flood_leaves_room_for_datagrams_out_of_order(void **state)
{
	struct mux *mux = world_alone();
	struct flow genuine = world_flow(4), flood = world_flow(6);
	struct chance chance = {20261128};

	(void)state;
	for (uint64_t ms = 0; ms < 1000; ms++) {
		for (int i = 0; i < 20; i++) {
			fl_store_be32(flood.source.bytes + 12, 11U << 24 | chance_below(&chance, 1 << 24));
			world_give_piece(mux, &flood, chance_below(&chance, 1 << 16), 1, 1000 + ms);
		}
		if (ms % 10 == 0)
			world_give_piece(mux, &genuine, (uint32_t)ms, 1, 1000 + ms);
		if (ms % 10 == 5)
			world_give_piece(mux, &genuine, (uint32_t)ms - 5, 0, 1000 + ms);
	}
	assert_int_equal(world.seen_count, 2 * 100);
	assert_true(world.counts[VERDICT_FRAGMENT_FULL] > 19000);
	world_pump(mux, false, 5000);
}

/* From the wire, as one of a burst: what is ready is only taken after all of it. */
static void take_piece(struct mux *mux, const struct flow *flow, uint32_t id, uint32_t piece)
{
	const struct lookup *lookup = tables_lookup(mux->tables);
	struct frame frame = world_cut(flow, id, piece * PIECE);
	struct rte_mbuf *mbuf = frame_wrap(&frame);
	const uint8_t *bytes = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	struct packet packet;

	classify(lookup, mac_word(bytes), bytes, mbuf->data_len, mbuf->pkt_len, &packet);
	assert_int_equal(packet.verdict, VERDICT_FRAGMENT);
	fragments_take(mux->fragments, lookup, mbuf, &packet, 1000);
}

/* A burst makes everything ready that can wait, again and again: each fragment comes out once. */
static void a_burst_that_ends_all_waiting_loses_none(void **state)
{
	const uint32_t datagrams = FRAGMENTS_HELD / FRAGMENTS_HELD_EACH;
	struct mux *mux = world_alone();
	struct flow flow = world_flow(4);
	uint32_t id = 0;

	(void)state;
	for (int round = 0; round < 10; round++, id += BURST_MAX) {
		uint32_t out[BURST_MAX] = {0};

		world.seen_count = 0;
		for (uint32_t i = 0; i < FRAGMENTS_HELD; i++)
			world_give_piece(mux, &flow, id + i % datagrams, 1, 1000);
		assert_int_equal(world.seen_count, 0);
		for (uint32_t i = 0; i < BURST_MAX; i++)
			take_piece(mux, &flow, id + i, 0);
		world_pump(mux, false, 1000);
		assert_int_equal(world.seen_count, FRAGMENTS_HELD + BURST_MAX);
		for (uint32_t i = 0; i < world.seen_count; i++)
			out[world.seen[i].id - id]++;
		for (uint32_t i = 0; i < BURST_MAX; i++)
			assert_int_equal(out[i], i < datagrams ? 1 + FRAGMENTS_HELD_EACH : 1);
	}
}

/* Two workers of one mux: each hands over what is the other's, through rings whose counters wrap meanwhile. */
static void workers_hand_over(void **state)
{
	struct rte_ring *rings[2] = {world_ring(), world_ring()};
	struct mux two[2] = {*world_alone(), *world_alone()};
	uint32_t given = 0;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		two[i].fragments = fragments_new(i, 2, rings);
		assert_non_null(two[i].fragments);
	}
	for (uint32_t d = 1; d <= 8 * DATAGRAMS; d++) {
		struct flow flow = world_flow(d);

		for (uint32_t piece = 0; piece < world_pieces(&flow); piece++, given++)
			world_give_piece(&two[(d + piece) % 2], &flow, d, piece, 1000);
		for (int i = 0; i < 2; i++)
			world_pump(&two[i], false, 1000);
		assert_int_equal(world.counts[VERDICT_SERVICE], given);
		world.seen_count = 0;
	}
	assert_in_range(rings[0]->prod.head, FRAGMENTS_RING, 3 * DATAGRAMS * 8);
	assert_in_range(rings[1]->prod.head, FRAGMENTS_RING, 3 * DATAGRAMS * 8);
	/* more than a ring takes: the rest is dropped */
	for (uint32_t i = 0; i < 4 * FRAGMENTS_RING; i++) {
		struct flow flow = world_flow(2);

		world_give_piece(&two[0], &flow, i, 1, 2000);
	}
	assert_int_equal(rte_ring_count(rings[1]), rte_ring_get_capacity(rings[1]));
	assert_true(world.counts[VERDICT_FRAGMENT_FULL] > FRAGMENTS_RING / 2);
	for (int i = 0; i < 2; i++) {
		for (int bursts = 0; bursts < FRAGMENTS_RING / BURST_MAX; bursts++)
			world_pump(&two[i], false, 2000);
		world_pump(&two[i], false, 2000 + FRAGMENTS_WAIT_MS);
		fragments_free(two[i].fragments);
	}
	free(rings[0]);
	free(rings[1]);
}

/* Far more datagrams than entries: the oldest are evicted, and fragments that wait for them are dropped. */
static void many_datagrams_evict_the_oldest(void **state)
{
	struct mux *mux = world_alone();
	uint32_t given = 0, out = 0;

	(void)state;
	for (uint32_t id = 1; id < 10 * FRAGMENTS_ENTRIES; id++, given++) {
		struct flow flow = world_flow(5);

		world_give_piece(mux, &flow, id, id & 1, 1000 + id / 1000);
		world.seen_count = 0;
	}
	world_pump(mux, false, 100000);
	for (enum verdict v = 0; v < VERDICTS_ALL; v++)
		out += world.counts[v];
	assert_int_equal(out, given);
	assert_int_not_equal(world.counts[VERDICT_FRAGMENT_FULL], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(a_fragment_waits_for_a_limited_time, world_set_up, world_tear_down),
	    cmocka_unit_test_setup_teardown(entries_expire_for_good, world_set_up, world_tear_down),
	    cmocka_unit_test_setup_teardown(the_number_of_waiting_fragments_is_limited, world_set_up, world_tear_down),
	    cmocka_unit_test_setup_teardown(a_flood_leaves_room_for_datagrams_out_of_order, world_set_up,
					    world_tear_down),
	    cmocka_unit_test_setup_teardown(a_burst_that_ends_all_waiting_loses_none, world_set_up, world_tear_down),
	    cmocka_unit_test_setup_teardown(workers_hand_over, world_set_up, world_tear_down),
	    cmocka_unit_test_setup_teardown(many_datagrams_evict_the_oldest, world_set_up, world_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
