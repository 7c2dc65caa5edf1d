/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the mux's own node is written: after changes, and periodically without any, to compare clocks; and what the
 * comparison makes of the answers (clock_compare.h).
 */
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "control/registration.h"
#include "../fake_zookeeper.h"

static const char path[] = "/fairlead/muxes/mux1";

struct world {
	struct zk_client *zk;
	struct registration *own;
};

static char *render(void *context)
{
	(void)context;
	return zk_copy("{}");
}

static int set_up(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	world->zk = fake_zk_new();
	world->own = registration_new(world->zk, path, render, NULL);
	assert_non_null(world->own);
	*state = world;
	return 0;
}

static int tear_down(void **state)
{
	struct world *world = *state;

	fake_zk_free(world->zk);
	registration_free(world->own);
	free(world);
	return 0;
}

static void run_at(const struct world *world, uint64_t now)
{
	fake_zk_set_now(world->zk, now);
	registration_run(world->own, now);
}

static void answer(const struct world *world, enum fake_kind kind, int64_t written_ms)
{
	const struct zk_reply reply = {.rc = ZOK, .written_ms = written_ms};

	assert_int_equal(fake_zk_count(world->zk), 1);
	assert_int_equal(fake_zk_at(world->zk, 0)->kind, kind);
	assert_string_equal(fake_zk_at(world->zk, 0)->path, path);
	fake_zk_answer(world->zk, 0, &reply);
}

/* The fake's jitter is 0: the second write is due as soon as the node exists. */
static void the_node_is_written_every_half_minute_to_compare_clocks(void **state)
{
	const struct world *world = *state;
	const struct clock_compare *clock = registration_clock(world->own);
	uint64_t now = 0;

	registration_connected(world->own);
	answer(world, FAKE_CREATE, 0);
	assert_false(clock->is_known);
	run_at(world, now);
	answer(world, FAKE_SET, clock_compare_now());
	assert_true(clock->is_known && clock->ahead_ms == 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(registration_deadline(world->own), now + CLOCK_COMPARE_PERIOD_MS);
		run_at(world, now + CLOCK_COMPARE_PERIOD_MS - 1);
		assert_int_equal(fake_zk_count(world->zk), 0);
		now += CLOCK_COMPARE_PERIOD_MS;
		run_at(world, now);
		answer(world, FAKE_SET, clock_compare_now() + 3600000);
		assert_true(clock->ahead_ms <= -3590000 && clock->ahead_ms >= -3600000);
	}
}

/* A change is written at once, and moves the next comparison. */
static void a_change_does_not_wait_for_the_next_comparison(void **state)
{
	const struct world *world = *state;

	registration_connected(world->own);
	answer(world, FAKE_CREATE, 0);
	run_at(world, 0);
	answer(world, FAKE_SET, clock_compare_now());
	fake_zk_set_now(world->zk, 1000);
	registration_changed(world->own, 10);
	registration_changed(world->own, 10);
	run_at(world, 1000);
	registration_changed(world->own, 0); /* while the write is under way: one more */
	run_at(world, 1001);
	answer(world, FAKE_SET, clock_compare_now());
	run_at(world, 1001);
	answer(world, FAKE_SET, clock_compare_now());
	assert_int_equal(registration_deadline(world->own), 1001 + CLOCK_COMPARE_PERIOD_MS);
}

static void the_round_trip_counts_in_favour_of_the_clock(void **state)
{
	static const struct {
		int64_t sent, written, answered;
		bool is_known;
		int64_t ahead;
	} rows[] = {
	    {1000, 1000, 1000, true, 0},
	    {1000, 1200, 1500, true, 0},
	    {1000, 999, 1500, true, 1},
	    {1000, 1501, 1500, true, -1},
	    {5000, 1000, 5500, true, 4000},
	    {5000, 9500, 5500, true, -4000},
	    {1000, 1500, 1000 + CLOCK_COMPARE_TRIP_MS, true, 0},
	    {1000, 1500, 1001 + CLOCK_COMPARE_TRIP_MS, false, 0}, /* too slow */
	    {1000, 1500, 999, false, 0},                          /* the clock was set back meanwhile */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct clock_compare compare = {0};

		clock_compare_sent(&compare, rows[i].sent);
		clock_compare_answered(&compare, rows[i].written, rows[i].answered);
		assert_int_equal(compare.is_known, rows[i].is_known);
		assert_int_equal(compare.ahead_ms, rows[i].ahead);
	}
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    CASE(the_node_is_written_every_half_minute_to_compare_clocks),
	    CASE(a_change_does_not_wait_for_the_next_comparison),
	    cmocka_unit_test(the_round_trip_counts_in_favour_of_the_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
