/* SPDX-License-Identifier: Apache-2.0 */
/* The model of choices does what the protocol says: sequences whose end is known, and what the explorer makes of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "choices.h"
#include "explorer.h"
#include "test_steps.h"

#define WITHOUT(rule) (1U << CHOICES_RULE_##rule)

struct row {
	const char *name;
	const char *steps; /* see letters */
	enum world_result result;
	enum choices_limit limit;
	unsigned without;
};

/*
 * T time, Mn move (n below 5: bucket 0 to server n, else bucket 1 to n - 5), U catch up, on another client's SYN, nn news, Nn
 * notice, Xn death of server n, Vn its removal, Fn server n forgets, S settle, sn SYN, Kn the client takes the SYN-ACK of
 * server n, Pn segment: in the order of enum pair_action, then choices_action. Bits of n for SYN and segment: 1 by the late mux,
 * 2 bucket 1 is first; SYN: 4 busy, 8 cookie.
 */
static const char letters[] = "TMUonNXVFSsKP";

static const struct row rows[] = {
    {"taken by the first bucket's owner", "s0 K0 P0", WORLD_DELIVERED, .limit = 0},
    {"refused by it, and taken by the second one's", "s4 K1 P0", WORLD_DELIVERED, .limit = 0},
    {"unless muxes name the second bucket in SYNs alone", "s4 K1 P0", WORLD_BROKEN, .without = WITHOUT(SECOND)},
    {"opened while everybody is busy", "S", WORLD_IDLE, .limit = 0},
    {"unless the second one's owner refuses, too", "S", WORLD_BROKEN, .without = WITHOUT(ONCE)},
    {"the order of both changes at will", "s2 K1 P0", WORLD_DELIVERED, .limit = 0},
    {"two copies: the one whose SYN-ACK the client took gets its segments", "s4 s0 K1 P0", WORLD_DELIVERED, .limit = 0},
    {"and if it is the other one", "s4 s0 K0 P2", WORLD_DELIVERED, .limit = 0},
    {"unless a copy takes what acknowledges the other one", "s4 s0 K1 P0", WORLD_BROKEN, .without = WITHOUT(ACKS)},
    {"two SYN cookies", "s8 sc K1 P0", WORLD_DELIVERED, .limit = 0},
    {"taken by the late mux: chained to the second one's owner before", "M5 s5 K1 P0", WORLD_DELIVERED, .limit = 0},
    {"unless muxes do not name the second one's move", "M5 s5 K1 P0", WORLD_BROKEN, .without = WITHOUT(MOVED2)},
    {"nor the second bucket, where both have one owner", "M5 s5 K1 P0", WORLD_BROKEN, .without = WITHOUT(SAME)},
    {"the first one's previous owner is the second one's owner", "s4 K1 M5 M2 P0", WORLD_DELIVERED, .limit = 0},
    {"unless it does not go on by the second bucket", "s4 K1 M5 M2 P0", WORLD_BROKEN, .without = WITHOUT(IN_PLACE)},
    {"a late mux's segment is dropped where it is passed on to", "M2 s0 K2 P1", WORLD_DROPPED, .limit = 0},
    {"also if owners that lose nothing are not told", "M2 s0 K2 P1", WORLD_DROPPED, .without = WITHOUT(TOLD)},
    {"or if packets are not marked as late", "M2 s0 K2 P1", WORLD_DROPPED, .without = WITHOUT(LATE)},
    {"not if neither is done", "M2 s0 K2 P1", WORLD_BROKEN, .without = WITHOUT(TOLD) | WITHOUT(LATE)},
    {"the first bucket may move for ever", "s4 K1 M2 T T M0 T T P0", WORLD_DELIVERED, .limit = 0},
    {"the second one for a window", "s4 K1 M7 T P0", WORLD_DELIVERED, .limit = 0},
    {"not longer", "s4 K1 M7 T T P0", WORLD_BROKEN, .limit = CHOICES_LIMIT_WINDOW},
    {"the first one's owner is dead", "s4 K1 X0 P0", WORLD_DROPPED, .limit = 0},
    {"and removed", "s4 K1 X0 V2 P0", WORLD_DELIVERED, .limit = 0},
    {"a dead former owner, which the ring does not name", "s4 K1 M2 M3 X0 P0", WORLD_DROPPED, .limit = 0},
    {"and removed: its successor passes on", "s4 K1 M2 M3 X0 V2 P0", WORLD_DELIVERED, .limit = 0},
    {"unless notices do not name it", "s4 K1 M2 M3 X0 V2 S", WORLD_BROKEN, .without = WITHOUT(NAMED)},
    {"an owner before the dead one, by memory alone", "s0 K0 M1 M2 M3 X1 V2 P0", WORLD_BROKEN,
     .limit = CHOICES_LIMIT_DEAD},
    {"the server in between has forgotten", "s0 K0 M1 M2 F1 P0", WORLD_BROKEN, .limit = CHOICES_LIMIT_FORGOTTEN},
    {"the bucket returns to its previous owner", "s0 K0 M1 M2 M1 P0", WORLD_BROKEN, .limit = CHOICES_LIMIT_RETURN},
    {"three moves of a bucket within a window", "s0 K0 M1 M2 M3 P0", WORLD_DELIVERED, .limit = 0},
    {"four", "s0 K0 M1 M2 M3 M4 P0", WORLD_BROKEN, .limit = CHOICES_LIMIT_FOURTH_MOVE},
};

static void test_row(void **state)
{
	const struct row *row = *state;
	const struct choices_setting setting = {.pair.notices = WORLD_NOTICES_AT_ONCE,
						.pair.servers = PAIR_SERVERS,
						.pair.moves = PAIR_MOVES_MAX,
						.pair.window = 2,
						.pair.behind = true,
						.pair.death = true,
						.pair.forgetting = true,
						.method = CHOICES_BOTH,
						.cookies = true,
						.pair.unnamed = row->without & WITHOUT(NAMED),
						.without = row->without};
	struct choices choices;
	int limit;

	assert_int_equal(test_steps(&model_choices, &setting, letters, row->steps, &choices, &limit), row->result);
	assert_int_equal(limit, row->limit);
}

/* A busy server takes a SYN again that it answered, unless it did so by a SYN cookie. */
static void test_copies(void **state)
{
	static const struct {
		const char *steps;
		uint8_t half_open, cookies; /* a bit for each server */
	} cases[] = {{"s0 s4", 1, 0}, {"s8 s4", 2, 1}, {"s4 s0", 3, 0}, {"s0 s8", 1, 0}, {"s0 s4 K0", 0, 0}};
	const struct choices_setting setting = {
	    .pair.servers = 3, .pair.window = 2, .method = CHOICES_HUNT, .cookies = true};
	struct choices choices;
	int limit;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		test_steps(&model_choices, &setting, letters, cases[i].steps, &choices, &limit);
		assert_int_equal(choices.half_open, cases[i].half_open);
		assert_int_equal(choices.cookies, cases[i].cookies);
	}
}

/* What breaks, by setting: only what a limit covers, with all rules; something else without any one of them. */
static void test_settings(void **state)
{
	static const struct {
		struct choices_setting setting;
		bool broken[CHOICES_LIMITS];
	} cases[] = {
	    {{.pair.moves = 1}, {[CHOICES_LIMIT_WINDOW] = true}},
	    {{.pair.moves = 1, .method = CHOICES_MAAT}, {[CHOICES_LIMIT_WINDOW] = true}},
	    {{.pair.moves = 1, .method = CHOICES_BOTH, .cookies = true}, {[CHOICES_LIMIT_WINDOW] = true}},
	    {{.pair.moves = 1, .method = CHOICES_BOTH, .same = true, .cookies = true}, {false}},
	    {{.pair.moves = 1, .method = CHOICES_BOTH, .pair.notices = WORLD_NOTICES_LATE},
	     {[CHOICES_LIMIT_WINDOW] = true, [CHOICES_LIMIT_NOTICE] = true}},
	    {{.pair.moves = 1, .method = CHOICES_BOTH, .pair.notices = WORLD_NOTICES_LOSSY},
	     {[CHOICES_LIMIT_WINDOW] = true, [CHOICES_LIMIT_NOTICE] = true}},
	    {{.pair.moves = 2, .pair.mux_ticks = {0, -1}}, {[CHOICES_LIMIT_WINDOW] = true}},
	    {{.pair.moves = 2, .pair.mux_ticks = {0, -1}, .without = WITHOUT(TOLD)}, {[CHOICES_LIMIT_WINDOW] = true}},
	    {{.pair.moves = 2, .pair.mux_ticks = {0, -1}, .without = WITHOUT(LATE)}, {[CHOICES_LIMIT_NONE] = true}},
	    {{.pair.moves = 1, .pair.hold = true, .method = CHOICES_BOTH}, {false}},
	    {{.pair.moves = 1, .pair.hold = true, .without = WITHOUT(MUXES)}, {[CHOICES_LIMIT_NONE] = true}},
	    {{.pair.moves = 1, .pair.hold = true, .method = CHOICES_MAAT, .without = WITHOUT(MUXES)},
	     {[CHOICES_LIMIT_NONE] = true}},
	    {{.pair.moves = 1, .pair.hold = true, .without = WITHOUT(REPORTS)}, {[CHOICES_LIMIT_NONE] = true}},
	    {{.pair.moves = 1, .pair.hold = true, .method = CHOICES_MAAT, .without = WITHOUT(REPORTS)},
	     {[CHOICES_LIMIT_NONE] = true}},
	    {{.pair.moves = 1, .without = WITHOUT(SECOND)}, {[CHOICES_LIMIT_NONE] = true}},
	    {{.pair.moves = 1, .without = WITHOUT(SAME)}, {[CHOICES_LIMIT_NONE] = true}},
	    {{.pair.moves = 1, .without = WITHOUT(MOVED2)}, {[CHOICES_LIMIT_NONE] = true}},
	    {{.pair.moves = 1, .without = WITHOUT(IN_PLACE)}, {[CHOICES_LIMIT_NONE] = true}},
	    {{.pair.moves = 0, .without = WITHOUT(ONCE)}, {[CHOICES_LIMIT_NONE] = true}},
	    {{.pair.moves = 0, .without = WITHOUT(ACKS)}, {[CHOICES_LIMIT_NONE] = true}},
	    {{.pair.moves = 1, .without = WITHOUT(TOLD)}, {[CHOICES_LIMIT_WINDOW] = true}},
	    {{.pair.moves = 1, .without = WITHOUT(LATE)}, {[CHOICES_LIMIT_WINDOW] = true}},
	    {{.pair.moves = 1, .without = WITHOUT(TOLD) | WITHOUT(LATE)}, {[CHOICES_LIMIT_NONE] = true}},
	    {{.pair.moves = 0, .method = CHOICES_MAAT, .without = WITHOUT(SECOND)}, {[CHOICES_LIMIT_NONE] = true}},
	    {{.pair.moves = 1, .method = CHOICES_MAAT, .without = WITHOUT(SAME)}, {[CHOICES_LIMIT_NONE] = true}},
	    {{.pair.moves = 1, .method = CHOICES_MAAT, .without = WITHOUT(MOVED2)}, {[CHOICES_LIMIT_NONE] = true}},
	    {{.pair.moves = 1, .method = CHOICES_MAAT, .without = WITHOUT(IN_PLACE)}, {[CHOICES_LIMIT_NONE] = true}},
	    {{.pair.moves = 0, .method = CHOICES_MAAT, .without = WITHOUT(ACKS)}, {[CHOICES_LIMIT_NONE] = true}},
	    {{.pair.moves = 1, .method = CHOICES_MAAT, .without = WITHOUT(TOLD) | WITHOUT(LATE)},
	     {[CHOICES_LIMIT_NONE] = true}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct choices_setting setting = cases[i].setting;
		struct tally tally = {.is_search = cases[i].broken[CHOICES_LIMIT_NONE]};

		if (setting.pair.notices == WORLD_NOTICES_OFF)
			setting.pair.notices = WORLD_NOTICES_AT_ONCE;
		setting.pair.servers = 3;
		setting.pair.window = 2;
		setting.pair.behind = true;
		assert_true(explore(&model_choices, &setting, &tally));
		for (int limit = 0; limit < CHOICES_LIMITS && !tally.is_search; limit++)
			assert_int_equal(tally.broken[limit] > 0, cases[i].broken[limit]);
		assert_int_equal(tally.broken[CHOICES_LIMIT_NONE] > 0, cases[i].broken[CHOICES_LIMIT_NONE]);
		tally_free(&tally);
	}
}

/* Why packets are marked as late: a server that knows the late mux's segment to be stale passes it on to one that does not. */
static void test_story(void **state)
{
	struct choices_setting setting = {.pair.notices = WORLD_NOTICES_AT_ONCE,
					  .pair.servers = 3,
					  .pair.moves = 1,
					  .pair.window = 2,
					  .pair.behind = true,
					  .method = CHOICES_HUNT,
					  .without = WITHOUT(TOLD) | WITHOUT(LATE)};
	struct tally tally = {.is_search = true};

	(void)state;
	assert_true(explore(&model_choices, &setting, &tally));
	assert_string_equal(tally.shortest[CHOICES_LIMIT_NONE],
			    "server A owns bucket 0, B bucket 1; the window is 20 s\n"
			    "bucket 0 moves to C\n"
			    "the client's SYN comes by a current mux, bucket 0 first: delivered at C\n"
			    "the client takes the SYN-ACK of C\n"
			    "a segment of the connection comes by the late mux, bucket 0 first: broken at B\n");
	tally_free(&tally);
}

int main(void)
{
	enum { ROWS = sizeof(rows) / sizeof(*rows) };
	struct CMUnitTest tests[ROWS + 3];
	size_t n = 0;

	for (size_t i = 0; i < ROWS; i++)
		tests[n++] = (struct CMUnitTest){rows[i].name, test_row, NULL, NULL, (void *)&rows[i]};
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_copies);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_settings);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_story);
	return _cmocka_run_group_tests("choices", tests, n, NULL, NULL);
}
