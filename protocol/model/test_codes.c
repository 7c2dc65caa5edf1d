/* SPDX-License-Identifier: Apache-2.0 */
/* The model of codes does what the protocol says: sequences whose end is known, and what the explorer makes of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codes.h"
#include "explorer.h"
#include "test_steps.h"

struct row {
	const char *name;
	const char *steps;        /* see letters */
	enum world_result result; /* of the last step */
	enum codes_limit limit;
	bool renewed; /* with a window of 4 ticks, not 2 */
	unsigned without;
};

#define RENEWED .renewed = true

static const struct row rows[] = {
    {"delivered where it was opened", "P0 P0", WORLD_DELIVERED, .limit = 0},
    {"new arrays give another code: passed on to the second bucket's owner", "P0 A1 P0", WORLD_DELIVERED, .limit = 0},
    {"opened by the late mux under the arrays before: found by the second bucket", "A1 P1 P0", WORLD_DELIVERED,
     .limit = 0},
    {"opened under new arrays: the late mux's packet is dropped, not reset", "A1 P0 P1", WORLD_DROPPED, .limit = 0},
    {"delivered by the late mux once it has caught up", "A1 P0 U P0", WORLD_DELIVERED, .limit = 0},
    {"passed on, and chained to the second bucket's owner of before", "P0 A1 M2 P0", WORLD_DELIVERED, .limit = 0},
    {"known, its bucket has moved: new arrays give it another of its server", "M5 T T U P0 M2 R A1 U U D U T T P0",
     WORLD_DELIVERED, .limit = 0},
    {"its bucket has moved, and nothing is renewed: the window", "P0 M1 T T P0", WORLD_BROKEN,
     .limit = CODES_LIMIT_WINDOW},
    {"a late mux's packet that is passed on is stale there, too", "A1 T T M7 U P0 P1", WORLD_DROPPED, .limit = 0},
    {"unknown: its move is renewed", "P0 M1 U T T K0 U T T K0 U T T P0", WORLD_DELIVERED, RENEWED},
    {"unless nothing awaits its report", "P0 M1 U T T T T P0", WORLD_BROKEN, RENEWED, .without = 1 << CODES_RULE_AWAIT},
    {"known, its server owns no bucket: one is kept for it", "P0 M1 R U T T K0 U T T K0 U T T P0", WORLD_DELIVERED,
     RENEWED},
    {"two moves: the last one is renewed, and servers remember the first", "P0 M1 M2 U U T T K0 U T T K0 U T T P0",
     WORLD_DELIVERED, RENEWED},
    {"unless its server, the first, is not awaited", "P0 M1 M2 U U T T T T P0", WORLD_BROKEN, RENEWED,
     .without = 1 << CODES_RULE_LINE},
    {"a new leader awaits it, too, and believes what comes late",
     "P0 M1 U T M2 U T K0 U T L T K0 U T T R K0 U K1 U T T P0", WORLD_DELIVERED, RENEWED},
    {"a new leader that gives up", "P0 M1 U L I T T T T P0", WORLD_BROKEN, .limit = CODES_LIMIT_SILENT, RENEWED},
    {"the server in between is dead", "P0 M1 M2 U U X1 P0", WORLD_DROPPED, RENEWED},
    {"and removed: the ring names the one before it", "P0 M1 M2 U U X1 V2 P0", WORLD_DELIVERED, RENEWED},
    {"the server in between has forgotten the first", "P0 M1 M2 U U F1 P0", WORLD_BROKEN,
     .limit = CODES_LIMIT_FORGOTTEN, RENEWED},
};

/*
 * T time, Mn move (n below 5: bucket 0 to server n, else bucket 1 to n - 5), An arrays, D drop, Kn renew, U catch up, Pn
 * packet by mux n, on another client's SYN, nn news, Nn notice, R report, L leader, I silence, Xn death of server n, Vn
 * its removal, Fn server n forgets, S settle: in the order of enum pair_action, then codes_action.
 */
static const char letters[] = "TMUonNXVFSADKPRLI";

static void test_row(void **state)
{
	const struct row *row = *state;
	const struct codes_setting setting = {.pair.notices = WORLD_NOTICES_AT_ONCE,
					      .pair.servers = 3,
					      .pair.moves = PAIR_MOVES_MAX,
					      .arrays = CODES_ARRAYS_MAX,
					      .leaders = 1,
					      .without = row->without,
					      .pair.window = row->renewed ? 4 : 2,
					      .pair.behind = true,
					      .renewed = row->renewed,
					      .pair.death = true,
					      .pair.forgetting = true,
					      .silence = true};
	struct codes codes;
	int limit;

	assert_int_equal(test_steps(&model_codes, &setting, letters, row->steps, &codes, &limit), row->result);
	assert_int_equal(limit, row->limit);
}

/* What breaks, by setting: only what a limit covers, with all rules; something else without any one of them. */
static void test_settings(void **state)
{
	static const struct {
		struct codes_setting setting;
		bool broken[CODES_LIMITS];
	} cases[] = {
	    {{.pair.window = 2, .pair.moves = 1}, {[CODES_LIMIT_WINDOW] = true}},
	    {{.pair.window = 2, .pair.moves = 1, .pair.notices = WORLD_NOTICES_LATE},
	     {[CODES_LIMIT_WINDOW] = true, [CODES_LIMIT_NOTICE] = true}},
	    {{.pair.window = 5, .pair.moves = 1, .timely = true, .pair.rooted = true}, {false}},
	    {{.pair.window = 4, .pair.moves = 1, .renewed = true, .pair.rooted = true}, {false}},
	    {{.pair.window = 2, .pair.moves = 1, .without = 1 << CODES_RULE_SECOND},
	     {[CODES_LIMIT_NONE] = true, [CODES_LIMIT_WINDOW] = true}},
	    {{.pair.window = 2, .without = 1 << CODES_RULE_SETTLE}, {[CODES_LIMIT_NONE] = true}},
	    {{.pair.window = 4, .pair.moves = 1, .renewed = true, .without = 1 << CODES_RULE_AWAIT},
	     {[CODES_LIMIT_NONE] = true}},
	    {{.pair.window = 4, .pair.moves = 1, .renewed = true, .without = 1 << CODES_RULE_MUXES},
	     {[CODES_LIMIT_NONE] = true}},
	    {{.pair.window = 4,
	      .pair.moves = 1,
	      .renewed = true,
	      .pair.rooted = true,
	      .without = 1 << CODES_RULE_NEEDED},
	     {[CODES_LIMIT_NONE] = true}},
	    {{.pair.window = 4,
	      .pair.moves = 1,
	      .renewed = true,
	      .pair.rooted = true,
	      .without = 1 << CODES_RULE_BEFORE},
	     {[CODES_LIMIT_NONE] = true}},
	    {{.pair.window = 4, .pair.moves = 3, .renewed = true, .without = 1 << CODES_RULE_CHAINS},
	     {[CODES_LIMIT_NONE] = true}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct codes_setting setting = cases[i].setting;
		struct tally tally = {.is_search =
					  cases[i].broken[CODES_LIMIT_NONE] && !cases[i].broken[CODES_LIMIT_WINDOW]};

		if (setting.pair.notices == WORLD_NOTICES_OFF)
			setting.pair.notices = WORLD_NOTICES_AT_ONCE;
		setting.pair.servers = 3;
		setting.arrays = setting.pair.moves <= 1;
		setting.pair.behind = setting.pair.moves < 3;
		assert_true(explore(&model_codes, &setting, &tally));
		assert_true(tally.delivered > 0);
		for (int limit = 0; limit < CODES_LIMITS; limit++)
			assert_int_equal(tally.broken[limit] > 0, cases[i].broken[limit]);
		tally_free(&tally);
	}
}

/* Arrays that come too early lose a connection; two sets are needed for it. */
static void test_rule(void **state)
{
	struct codes_setting setting = {.pair.notices = WORLD_NOTICES_AT_ONCE,
					.pair.servers = 3,
					.arrays = 2,
					.without = 1 << CODES_RULE_WAIT,
					.pair.window = 2,
					.pair.behind = true};
	struct tally tally = {0};

	(void)state;
	assert_true(explore(&model_codes, &setting, &tally));
	assert_string_equal(tally.shortest[CODES_LIMIT_NONE],
			    "server A owns bucket 0, B bucket 1; the window is 20 s\n"
			    "new arrays give the connection bucket 1\n"
			    "new arrays give the connection bucket 1\n"
			    "a packet of the connection comes by the late mux: delivered at A\n"
			    "a packet of the connection comes by a current mux: broken\n");
	tally_free(&tally);
}

int main(void)
{
	enum { ROWS = sizeof(rows) / sizeof(*rows) };
	struct CMUnitTest tests[ROWS + 2];
	size_t n = 0;

	for (size_t i = 0; i < ROWS; i++)
		tests[n++] = (struct CMUnitTest){rows[i].name, test_row, NULL, NULL, (void *)&rows[i]};
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_settings);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_rule);
	return _cmocka_run_group_tests("codes", tests, n, NULL, NULL);
}
