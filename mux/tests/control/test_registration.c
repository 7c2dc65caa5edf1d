/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the mux's own node is written: after changes, and periodically without any, to compare clocks; and what the
 * comparison makes of the answers (clock_compare.h). And what becomes of a mux whose id another one has.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "config/clock.h"
#include "control/member/registration.h"
#include "../fake_tree.h"

static const char entry[] = "/fairlead/muxes/mux1";
static const char path[] = "/fairlead/muxes/mux1/live";

struct world {
	struct tree *tree;
	struct registration *own;
	unsigned may_serve, refused, changed;
};

static char *render(void *context)
{
	(void)context;
	return tree_copy("{}");
}

static bool is_own_place(void *context, const char *text, char *address, size_t size)
{
	(void)context;
	snprintf(address, size, "%s", text);
	return !strcmp(text, "own");
}

static void may_serve(void *context)
{
	struct world *world = context;

	world->may_serve++;
}

static void refused(void *context, const char *address)
{
	struct world *world = context;

	assert_string_equal(address, "other");
	world->refused++;
}

static void changed(void *context)
{
	struct world *world = context;

	world->changed++;
}

static int set_up(void **state)
{
	static const struct registration_calls calls = {render, is_own_place, may_serve, refused, changed};
	struct world *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	world->tree = fake_tree_new();
	world->own = registration_new(world->tree, entry, &calls, world);
	assert_non_null(world->own);
	*state = world;
	return 0;
}

static int tear_down(void **state)
{
	struct world *world = *state;

	fake_tree_free(world->tree);
	registration_free(world->own);
	free(world);
	return 0;
}

static void run_at(const struct world *world, uint64_t now)
{
	fake_tree_set_now(world->tree, now);
	registration_run(world->own, now);
}

static void answer(const struct world *world, enum fake_kind kind, int64_t written_ms)
{
	const struct tree_reply reply = {.result = TREE_OK, .written_ms = written_ms};

	assert_int_equal(fake_tree_count(world->tree), 1);
	assert_int_equal(fake_tree_at(world->tree, 0)->kind, kind);
	assert_string_equal(fake_tree_at(world->tree, 0)->path, path);
	fake_tree_answer(world->tree, 0, &reply);
}

/* The look for the entry. */
static void answer_entry(const struct world *world, enum tree_result result)
{
	const struct tree_reply reply = {.result = result};

	assert_int_equal(fake_tree_count(world->tree), 1);
	assert_int_equal(fake_tree_at(world->tree, 0)->kind, FAKE_EXISTS);
	assert_true(fake_tree_at(world->tree, 0)->watch);
	assert_string_equal(fake_tree_at(world->tree, 0)->path, entry);
	fake_tree_answer(world->tree, 0, &reply);
}

static void connected(const struct world *world)
{
	registration_connected(world->own);
	answer_entry(world, TREE_OK);
}

/* The fake's jitter is 0: the second write is due as soon as the node exists. */
static void the_node_is_written_every_half_minute_to_compare_clocks(void **state)
{
	const struct world *world = *state;
	const struct clock_compare *clock = &world->own->clock;
	uint64_t now = 0;

	connected(world);
	answer(world, FAKE_CREATE, 0);
	assert_false(clock->is_known);
	run_at(world, now);
	answer(world, FAKE_SET, (int64_t)clock_unix_ms());
	assert_true(clock->is_known && clock->ahead_ms == 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(registration_deadline(world->own), now + CLOCK_COMPARE_PERIOD_MS);
		run_at(world, now + CLOCK_COMPARE_PERIOD_MS - 1);
		assert_int_equal(fake_tree_count(world->tree), 0);
		now += CLOCK_COMPARE_PERIOD_MS;
		run_at(world, now);
		answer(world, FAKE_SET, (int64_t)clock_unix_ms() + 3600000);
		assert_true(clock->ahead_ms <= -3590000 && clock->ahead_ms >= -3600000);
	}
}

/* A change is written at once, and moves the next comparison. */
static void a_change_does_not_wait_for_the_next_comparison(void **state)
{
	const struct world *world = *state;

	connected(world);
	answer(world, FAKE_CREATE, 0);
	run_at(world, 0);
	answer(world, FAKE_SET, (int64_t)clock_unix_ms());
	fake_tree_set_now(world->tree, 1000);
	registration_changed(world->own, 10);
	registration_changed(world->own, 10);
	run_at(world, 1000);
	registration_changed(world->own, 0); /* while the write is under way: one more */
	run_at(world, 1001);
	answer(world, FAKE_SET, (int64_t)clock_unix_ms());
	run_at(world, 1001);
	answer(world, FAKE_SET, (int64_t)clock_unix_ms());
	assert_int_equal(registration_deadline(world->own), 1001 + CLOCK_COMPARE_PERIOD_MS);
}

enum { OTHER_SESSION = 99, WAIT_MS = REGISTRATION_SESSIONS * TREE_SESSION_MS };

/* The node exists; its text. */
static void answer_taken(const struct world *world, const char *text)
{
	const struct tree_reply exists = {.result = TREE_EXISTS};
	const struct tree_reply node = {
	    .result = TREE_OK, .owner = OTHER_SESSION, .data = (const uint8_t *)text, .len = strlen(text)};

	assert_int_equal(fake_tree_count(world->tree), 1);
	assert_int_equal(fake_tree_at(world->tree, 0)->kind, FAKE_CREATE);
	fake_tree_answer(world->tree, 0, &exists);
	assert_int_equal(fake_tree_at(world->tree, 0)->kind, FAKE_GET);
	assert_true(fake_tree_at(world->tree, 0)->watch);
	fake_tree_answer(world->tree, 0, &node);
}

static void a_mux_with_the_id_of_a_live_one_is_refused(void **state)
{
	const struct world *world = *state;

	connected(world);
	answer_taken(world, "other");
	assert_int_equal(registration_deadline(world->own), WAIT_MS);
	run_at(world, WAIT_MS - 1);
	assert_int_equal(fake_tree_count(world->tree), 0);
	run_at(world, WAIT_MS);
	answer_entry(world, TREE_OK);
	answer_taken(world, "other");
	assert_int_equal(world->refused, 1);
	assert_int_equal(world->may_serve, 0);
	registration_watched(world->own, path); /* it writes its node: no second refusal */
	answer_taken(world, "other");
	assert_int_equal(world->refused, 1);
}

static void a_mux_with_the_id_of_a_dead_one_waits_for_its_session(void **state)
{
	const struct world *world = *state;

	connected(world);
	answer_taken(world, "other");
	fake_tree_set_now(world->tree, 5000);
	registration_watched(world->own, path);
	answer(world, FAKE_CREATE, 0);
	assert_true(world->own->may_serve);
	run_at(world, 2 * WAIT_MS);
	answer(world, FAKE_SET, (int64_t)clock_unix_ms());
	assert_int_equal(world->may_serve, 1);
	assert_int_equal(world->refused, 0);
}

/* A session may outlive its mux by the time that ZooKeeper was away. */
static void the_wait_begins_anew_with_a_connection(void **state)
{
	const struct world *world = *state;

	connected(world);
	answer_taken(world, "other");
	fake_tree_set_now(world->tree, WAIT_MS - 1);
	connected(world);
	answer_taken(world, "other");
	run_at(world, WAIT_MS + 1);
	if (fake_tree_count(world->tree)) { /* the look that was due is no harm */
		answer_entry(world, TREE_OK);
		answer_taken(world, "other");
	}
	assert_int_equal(world->refused, 0);
	assert_int_equal(registration_deadline(world->own), 2 * WAIT_MS - 1);
}

static void an_earlier_process_of_the_mux_is_served_beside_for_ever(void **state)
{
	const struct world *world = *state;

	connected(world);
	answer_taken(world, "own");
	assert_int_equal(world->may_serve, 1);
	run_at(world, 2 * WAIT_MS);
	assert_int_equal(fake_tree_count(world->tree), 0);
	registration_watched(world->own, path);
	answer(world, FAKE_CREATE, 0);
	assert_int_equal(world->may_serve, 1);
	assert_int_equal(world->refused, 0);
}

/* One that was cut off while another took its id. */
static void a_mux_that_had_the_node_is_not_refused(void **state)
{
	const struct world *world = *state;

	connected(world);
	answer(world, FAKE_CREATE, 0);
	run_at(world, 0);
	answer(world, FAKE_SET, (int64_t)clock_unix_ms());
	connected(world);
	answer_taken(world, "other");
	run_at(world, 2 * WAIT_MS);
	while (fake_tree_count(world->tree)) {
		if (fake_tree_at(world->tree, 0)->kind == FAKE_EXISTS)
			answer_entry(world, TREE_OK);
		answer_taken(world, "other");
	}
	assert_int_equal(world->refused, 0);
}

/* What fails is asked again; a login that is not this mux's is no more allowed to serve than no answer. */
static void who_else_has_the_id_is_asked_until_it_is_known(void **state)
{
	static const enum tree_result rows[] = {TREE_FAILED, TREE_LOGIN_REFUSED, TREE_DENIED};
	const struct world *world = *state;
	uint64_t now = 0;

	connected(world);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct tree_reply reply = {.result = rows[i]};

		assert_int_equal(fake_tree_at(world->tree, 0)->kind, FAKE_CREATE);
		fake_tree_answer(world->tree, 0, &reply);
		assert_int_equal(fake_tree_count(world->tree), 0);
		assert_int_equal(world->own->state, rows[i] == TREE_DENIED ? REGISTRATION_DENIED : REGISTRATION_ADDED);
		now += REGISTRATION_RETRY_MS;
		run_at(world, now);
		answer_entry(world, TREE_OK);
	}
	assert_false(world->own->may_serve);
	answer(world, FAKE_CREATE, 0);
	assert_true(world->own->may_serve);
	assert_int_equal(world->own->state, REGISTRATION_ADDED);
}

/* Servers differ in whether a look for the entry needs a right. */
static void without_a_right_to_look_it_is_denied(void **state)
{
	const struct world *world = *state;

	registration_connected(world->own);
	answer_entry(world, TREE_DENIED);
	assert_int_equal(world->own->state, REGISTRATION_DENIED);
	assert_false(world->own->may_serve);
	run_at(world, REGISTRATION_RETRY_MS);
	answer_entry(world, TREE_OK);
	answer(world, FAKE_CREATE, 0);
	assert_int_equal(world->own->state, REGISTRATION_ADDED);
}

static void a_mux_that_is_not_added_waits_until_it_is(void **state)
{
	const struct world *world = *state;

	registration_connected(world->own);
	answer_entry(world, TREE_MISSING);
	assert_int_equal(world->own->state, REGISTRATION_NOT_ADDED);
	assert_int_equal(world->changed, 1);
	assert_true(registration_deadline(world->own) == UINT64_MAX); /* the watch fires */
	registration_changed(world->own, 0);
	run_at(world, WAIT_MS);
	assert_int_equal(fake_tree_count(world->tree), 0);
	assert_false(world->own->may_serve);
	registration_watched(world->own, entry);
	answer_entry(world, TREE_OK);
	answer(world, FAKE_CREATE, 0);
	assert_true(world->own->may_serve);
	assert_int_equal(world->own->state, REGISTRATION_ADDED);
	assert_int_equal(world->changed, 2);
}

/* By its watch, or since its node is gone when it is written. */
static void a_mux_that_is_removed_says_so(void **state)
{
	const struct world *world = *state;
	const struct tree_reply none = {.result = TREE_MISSING};

	for (unsigned i = 0; i < 2; i++) {
		connected(world);
		answer(world, FAKE_CREATE, 0);
		assert_int_equal(world->own->state, REGISTRATION_ADDED);
		if (i) {
			run_at(world, 0);
			fake_tree_answer(world->tree, 0, &none);
		} else {
			registration_watched(world->own, entry);
		}
		answer_entry(world, TREE_MISSING);
		assert_int_equal(world->own->state, REGISTRATION_NOT_ADDED);
		assert_false(registration_is_registered(world->own));
		assert_int_equal(world->changed, 2 + 2 * i);
		assert_int_equal(fake_tree_count(world->tree), 0);
	}
}

/* One of the two went while the other was on its way. */
static void an_entry_that_vanishes_is_looked_for_again(void **state)
{
	const struct world *world = *state;
	const struct tree_reply none = {.result = TREE_MISSING};

	connected(world);
	registration_watched(world->own, entry);
	registration_watched(world->own, entry);
	assert_int_equal(fake_tree_count(world->tree), 2); /* the creation, and one look */
	fake_tree_answer(world->tree, 0, &none);
	answer_entry(world, TREE_OK);
	answer_entry(world, TREE_MISSING);
	assert_int_equal(world->own->state, REGISTRATION_NOT_ADDED);
	assert_false(world->own->may_serve);
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
		clock_compare_answered(&compare, rows[i].written, rows[i].answered, 0);
		assert_int_equal(compare.is_known, rows[i].is_known);
		assert_int_equal(compare.ahead_ms, rows[i].ahead);
	}
}

/* What windows end by, whatever the wall clock says. */
static void zookeepers_time_goes_on_and_never_back(void **state)
{
	static const struct {
		uint64_t at_ms;
		int64_t written_ms; /* 0: no answer then */
		uint32_t seconds;
	} rows[] = {
	    {5000, 0, 0},   /* nothing is known */
	    {900000, 0, 0}, /* however long that takes */
	    {1000000, 1700000000000, 1699999997},
	    {1000999, 0, 1699999997},
	    {1001000, 0, 1699999998},
	    {2001000, 0, 1700000998},             /* without an answer for long */
	    {2002000, 1700001000000, 1700000998}, /* the answer took 2 s */
	    {2003000, 0, 1700000998},
	    {2004000, 0, 1700000999},
	    {2005000, 1700005000000, 1700004997}, /* another server leads */
	    {2006000, 1700001004000, 1700004997}, /* which was wrong */
	    {6001000, 0, 1700004997},
	    {6002000, 0, 1700004997},
	    {6003000, 0, 1700004998},
	    {6004000, 1700000, 1700004998},
	    {9999000, INT64_MAX / 2, 1700004998},
	};
	struct clock_compare compare = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].written_ms)
			clock_compare_answered(&compare, rows[i].written_ms, 0, rows[i].at_ms);
		if (clock_compare_seconds(&compare, rows[i].at_ms) != rows[i].seconds)
			fail_msg("row %zu: %u, not %u", i, compare.seconds, rows[i].seconds);
	}
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    CASE(the_node_is_written_every_half_minute_to_compare_clocks),
	    cmocka_unit_test(zookeepers_time_goes_on_and_never_back),
	    CASE(a_change_does_not_wait_for_the_next_comparison),
	    CASE(a_mux_with_the_id_of_a_live_one_is_refused),
	    CASE(a_mux_with_the_id_of_a_dead_one_waits_for_its_session),
	    CASE(the_wait_begins_anew_with_a_connection),
	    CASE(an_earlier_process_of_the_mux_is_served_beside_for_ever),
	    CASE(a_mux_that_had_the_node_is_not_refused),
	    CASE(who_else_has_the_id_is_asked_until_it_is_known),
	    CASE(without_a_right_to_look_it_is_denied),
	    CASE(a_mux_that_is_not_added_waits_until_it_is),
	    CASE(a_mux_that_is_removed_says_so),
	    CASE(an_entry_that_vanishes_is_looked_for_again),
	    cmocka_unit_test(the_round_trip_counts_in_favour_of_the_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
