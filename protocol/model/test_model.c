/* SPDX-License-Identifier: Apache-2.0 */
/* The model does what the protocol says: sequences whose end is known, and what the explorer makes of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "explorer.h"
#include "limit.h"
#include "story.h"

enum { A, B, C };

#define TIME                                                                                                           \
	{                                                                                                              \
		WORLD_TIME, 0                                                                                          \
	}
#define MOVE(to)                                                                                                       \
	{                                                                                                              \
		WORLD_MOVE, to                                                                                         \
	}
#define CATCH_UP                                                                                                       \
	{                                                                                                              \
		WORLD_CATCH_UP, 0                                                                                      \
	}
#define JUMP                                                                                                           \
	{                                                                                                              \
		WORLD_JUMP, 0                                                                                          \
	}
#define PACKET                                                                                                         \
	{                                                                                                              \
		WORLD_PACKET, WORLD_CURRENT                                                                            \
	}
#define BY_LATE                                                                                                        \
	{                                                                                                              \
		WORLD_PACKET, WORLD_LATE                                                                               \
	}
#define OTHER                                                                                                          \
	{                                                                                                              \
		WORLD_OTHER, WORLD_CURRENT                                                                             \
	}
#define NEWS(at)                                                                                                       \
	{                                                                                                              \
		WORLD_NEWS, at                                                                                         \
	}
#define NOTICE(generation, to)                                                                                         \
	{                                                                                                              \
		WORLD_NOTICE, (generation)*WORLD_SERVERS + (to)                                                        \
	}
#define DEATH(of)                                                                                                      \
	{                                                                                                              \
		WORLD_DEATH, of                                                                                        \
	}
#define REMOVE                                                                                                         \
	{                                                                                                              \
		WORLD_REMOVE, 0                                                                                        \
	}
#define REPORT                                                                                                         \
	{                                                                                                              \
		WORLD_REPORT, 0                                                                                        \
	}
#define RELEASE                                                                                                        \
	{                                                                                                              \
		WORLD_RELEASE, 0                                                                                       \
	}
#define SETTLE                                                                                                         \
	{                                                                                                              \
		WORLD_SETTLE, 0                                                                                        \
	}

struct row {
	const char *name;
	enum world_traffic traffic;
	int clock_of_b;
	struct world_step steps[12];
	unsigned count;
	enum world_result result; /* of the last step */
	enum limit limit;
};

static const struct row rows[] = {
    {"delivered where it was opened", WORLD_TCP, 0, {PACKET, PACKET}, 2, WORLD_DELIVERED, 0},
    {"chained after a move", WORLD_TCP, 0, {PACKET, MOVE(B), PACKET}, 3, WORLD_DELIVERED, 0},
    {"chained in the window's last tick",
     WORLD_TCP,
     0,
     {PACKET, MOVE(B), TIME, TIME, TIME, PACKET},
     6,
     WORLD_DELIVERED,
     0},
    {"reset after the window",
     WORLD_TCP,
     0,
     {PACKET, MOVE(B), TIME, TIME, TIME, TIME, PACKET},
     7,
     WORLD_BROKEN,
     LIMIT_WINDOW},
    {"chained twice: the middle owner has seen its move",
     WORLD_TCP,
     0,
     {PACKET, MOVE(B), OTHER, MOVE(C), PACKET},
     5,
     WORLD_DELIVERED,
     0},
    {"reset by a middle owner without a packet and without its notice",
     WORLD_TCP,
     0,
     {PACKET, MOVE(B), MOVE(C), PACKET},
     4,
     WORLD_BROKEN,
     LIMIT_NOTICE},
    {"chained twice: the middle owner has got its notice",
     WORLD_TCP,
     0,
     {PACKET, MOVE(B), MOVE(C), NOTICE(2, B), PACKET},
     5,
     WORLD_DELIVERED,
     0},
    {"a drained server drops a late mux's packet once it has news",
     WORLD_TCP,
     0,
     {MOVE(B), PACKET, NEWS(A), BY_LATE},
     4,
     WORLD_DROPPED,
     0},
    {"a drained, silent server resets a late mux's packet",
     WORLD_TCP,
     0,
     {MOVE(B), PACKET, BY_LATE},
     3,
     WORLD_BROKEN,
     LIMIT_NOTICE},
    {"a drained, silent server that got its notice drops it",
     WORLD_TCP,
     0,
     {MOVE(B), NOTICE(1, A), PACKET, BY_LATE},
     4,
     WORLD_DROPPED,
     0},
    {"an owner of two moves ago gets the notice of the second move, too",
     WORLD_TCP,
     0,
     {MOVE(B), NOTICE(1, A), MOVE(C), PACKET, CATCH_UP, NOTICE(2, A), NOTICE(2, B), BY_LATE},
     8,
     WORLD_DROPPED,
     0},
    {"back to the previous owner: two servers ask each other",
     WORLD_TCP,
     0,
     {PACKET, MOVE(B), OTHER, MOVE(C), OTHER, MOVE(B), PACKET},
     7,
     WORLD_BROKEN,
     LIMIT_RETURN},
    {"the late mux is right once it has caught up",
     WORLD_TCP,
     0,
     {MOVE(B), PACKET, CATCH_UP, PACKET},
     4,
     WORLD_DELIVERED,
     0},
    {"a slow clock obeys a fresh move", WORLD_TCP, -1, {PACKET, MOVE(B), PACKET}, 3, WORLD_DELIVERED, 0},
    {"a slow clock remembers a fresh move as one of now",
     WORLD_TCP,
     -1,
     {PACKET, MOVE(B), OTHER, MOVE(C), PACKET},
     5,
     WORLD_DELIVERED,
     0},
    {"a fast clock leaves the window to the mux",
     WORLD_TCP,
     1,
     {PACKET, MOVE(B), TIME, TIME, TIME, PACKET},
     6,
     WORLD_DELIVERED,
     0},
    {"a fast clock forgets no move early",
     WORLD_TCP,
     1,
     {PACKET, MOVE(B), OTHER, TIME, TIME, TIME, MOVE(C), NOTICE(2, B), PACKET},
     9,
     WORLD_DELIVERED,
     0},
    {"by a fast clock the window of datagrams ends early",
     WORLD_DATAGRAMS,
     1,
     {PACKET, MOVE(B), TIME, TIME, TIME, PACKET},
     6,
     WORLD_BROKEN,
     LIMIT_CLOCK},
    {"a dead server's bucket goes back",
     WORLD_TCP,
     0,
     {PACKET, MOVE(B), DEATH(B), REMOVE, PACKET},
     5,
     WORLD_DELIVERED,
     0},
    {"and to the owner before that by memory",
     WORLD_TCP,
     0,
     {PACKET, MOVE(B), OTHER, MOVE(C), DEATH(C), REMOVE, PACKET},
     7,
     WORLD_DELIVERED,
     0},
    {"a dead server in the middle: the ring names the owner before it",
     WORLD_TCP,
     0,
     {PACKET, MOVE(B), MOVE(C), DEATH(B), REMOVE, PACKET},
     6,
     WORLD_DELIVERED,
     0},
    {"a dead server that the middle owner remembers",
     WORLD_DATAGRAMS,
     0,
     {MOVE(B), MOVE(C), NOTICE(2, B), DEATH(A), SETTLE},
     5,
     WORLD_BROKEN,
     LIMIT_DEAD},
    {"a new flow after the previous owner's death is served at once",
     WORLD_DATAGRAMS,
     0,
     {MOVE(B), OTHER, DEATH(A), REMOVE, PACKET},
     5,
     WORLD_DELIVERED,
     0},
    {"a datagram by a late mux is not stale",
     WORLD_DATAGRAMS,
     0,
     {MOVE(B), NOTICE(1, A), BY_LATE},
     3,
     WORLD_DELIVERED,
     0},
    {"a datagram follows its flow", WORLD_DATAGRAMS, 0, {PACKET, MOVE(B), PACKET}, 3, WORLD_DELIVERED, 0},
    {"a flow that began by chaining, and its bucket returns",
     WORLD_DATAGRAMS,
     0,
     {MOVE(B), TIME, TIME, TIME, PACKET, TIME, MOVE(A), PACKET},
     8,
     WORLD_BROKEN,
     LIMIT_DATAGRAM},
    {"a stateless datagram has another server with each move",
     WORLD_STATELESS,
     0,
     {PACKET, MOVE(B), PACKET, MOVE(C), BY_LATE, DEATH(C), PACKET, REMOVE, PACKET},
     9,
     WORLD_DELIVERED,
     0},
    {"all settle: delivered in the end", WORLD_TCP, 0, {MOVE(B), PACKET, NEWS(A), BY_LATE, SETTLE}, 5, WORLD_IDLE, 0},
};

/* The muxes that tell a server are both behind: one late mux stands for them. */
static const struct row late_rows[] = {
    {"a late mux tells the middle owner, generation by generation",
     WORLD_TCP,
     0,
     {PACKET, MOVE(B), MOVE(C), CATCH_UP, CATCH_UP, PACKET},
     6,
     WORLD_DELIVERED,
     0},
    {"a late mux has not told it yet",
     WORLD_TCP,
     0,
     {PACKET, MOVE(B), MOVE(C), CATCH_UP, PACKET},
     5,
     WORLD_BROKEN,
     LIMIT_NOTICE},
    {"a late mux that jumps over the move cannot tell it",
     WORLD_TCP,
     0,
     {PACKET, MOVE(B), MOVE(C), JUMP, PACKET},
     5,
     WORLD_BROKEN,
     LIMIT_NOTICE},
};

/* The service has a hold. */
static const struct row held_rows[] = {
    {"chained after the window",
     WORLD_TCP,
     0,
     {PACKET, MOVE(B), TIME, TIME, TIME, TIME, PACKET},
     7,
     WORLD_DELIVERED,
     0},
    {"chained twice after the window: the middle owner has seen its move",
     WORLD_TCP,
     0,
     {PACKET, MOVE(B), OTHER, TIME, TIME, TIME, TIME, MOVE(C), PACKET},
     9,
     WORLD_DELIVERED,
     0},
    {"chained twice after the window: the middle owner has got its notice",
     WORLD_TCP,
     0,
     {PACKET, MOVE(B), TIME, TIME, TIME, TIME, MOVE(C), NOTICE(2, B), PACKET},
     9,
     WORLD_DELIVERED,
     0},
    {"chained twice after the window: the middle owner has got neither",
     WORLD_TCP,
     0,
     {PACKET, MOVE(B), TIME, TIME, TIME, TIME, MOVE(C), PACKET},
     8,
     WORLD_BROKEN,
     LIMIT_NOTICE},
    {"reset after the hold's end",
     WORLD_TCP,
     0,
     {PACKET, MOVE(B), TIME, TIME, TIME, TIME, TIME, TIME, TIME, RELEASE, PACKET},
     11,
     WORLD_BROKEN,
     LIMIT_HOLD},
    {"released after a report: the new owner's connections go on",
     WORLD_TCP,
     0,
     {MOVE(B), PACKET, TIME, TIME, TIME, TIME, CATCH_UP, REPORT, RELEASE, PACKET},
     10,
     WORLD_DELIVERED,
     0},
    {"a new connection races with the release: it is the new owner's",
     WORLD_TCP,
     0,
     {MOVE(B), TIME, TIME, TIME, TIME, CATCH_UP, REPORT, PACKET, RELEASE, PACKET},
     10,
     WORLD_DELIVERED,
     0},
    {"a mux that is late by a window opens one at the former owner, whose report comes after",
     WORLD_TCP,
     0,
     {MOVE(B), TIME, TIME, TIME, TIME, BY_LATE, CATCH_UP, PACKET},
     8,
     WORLD_DELIVERED,
     0},
    {"a mux that is late by the release still chains",
     WORLD_TCP,
     0,
     {MOVE(B), PACKET, TIME, TIME, TIME, TIME, CATCH_UP, REPORT, RELEASE, BY_LATE},
     10,
     WORLD_DELIVERED,
     0},
    {"a datagram is chained for the window only",
     WORLD_DATAGRAMS,
     0,
     {PACKET, MOVE(B), TIME, TIME, TIME, TIME, PACKET},
     7,
     WORLD_BROKEN,
     LIMIT_WINDOW},
    {"a new flow is the new owner's after the window",
     WORLD_DATAGRAMS,
     0,
     {MOVE(B), TIME, TIME, TIME, TIME, PACKET, TIME, PACKET},
     8,
     WORLD_DELIVERED,
     0},
    {"a held bucket's owner dies: the bucket goes back",
     WORLD_TCP,
     0,
     {PACKET, MOVE(B), TIME, TIME, TIME, TIME, DEATH(B), REMOVE, PACKET},
     9,
     WORLD_DELIVERED,
     0},
};

static void play(const struct row *row, enum world_notices notices, bool hold)
{
	struct world_setting setting = {
	    .traffic = row->traffic,
	    .notices = notices,
	    .hold = hold,
	    .moves = WORLD_MOVES_MAX,
	    .behind = true,
	    .death = true,
	    .clock_ticks = {0, row->clock_of_b},
	};
	struct world world = world_first(), before = world;
	enum world_result result = WORLD_IDLE;

	for (unsigned i = 0; i < row->count; i++) {
		struct world_step steps[WORLD_STEPS_MAX];
		unsigned n = world_steps(&setting, &world, steps), s = 0;

		while (s < n && memcmp(&steps[s], &row->steps[i], sizeof(steps[s])) != 0)
			s++;
		assert_true(s < n); /* it is a step that the explorer takes, too */
		before = world;
		result = world_take(&setting, &world, row->steps[i]);
	}
	assert_int_equal(result, row->result);
	if (result == WORLD_BROKEN)
		assert_int_equal(limit_of(&setting, &before, row->steps[row->count - 1]), row->limit);
}

static void test_row(void **state)
{
	play(*state, WORLD_NOTICES_LOSSY, false);
}

static void test_late_row(void **state)
{
	play(*state, WORLD_NOTICES_LATE, false);
}

static void test_held_row(void **state)
{
	play(*state, WORLD_NOTICES_LOSSY, true);
}

/* One move, right clocks, current muxes: only the window breaks a connection, and the shortest way is this one. */
static void test_one_move(void **state)
{
	struct world_setting setting = {.moves = 1};
	struct tally tally = {0};

	(void)state;
	assert_true(explore(&model_world, &setting, &tally));
	assert_true(tally.delivered > 0);
	for (int limit = 0; limit < LIMITS; limit++)
		assert_int_equal(tally.broken[limit] > 0, limit == LIMIT_WINDOW);
	assert_string_equal(tally.shortest[LIMIT_WINDOW],
			    "server A owns the bucket; TCP\n"
			    "a packet of the connection comes by a current mux: delivered at A\n"
			    "the bucket moves to B\n"
			    "10 s pass\n10 s pass\n10 s pass\n10 s pass\n"
			    "a packet of the connection comes by a current mux: broken\n");
	tally_free(&tally);
}

/* Two moves and a late mux: without notices some connections break that nothing excuses; with them none does. */
static void test_notices(void **state)
{
	static const enum world_notices notices[] = {WORLD_NOTICES_OFF, WORLD_NOTICES_LOSSY, WORLD_NOTICES_AT_ONCE,
						     WORLD_NOTICES_LATE};
	static const enum limit beside_window[] = {LIMIT_NONE, LIMIT_NOTICE, LIMIT_WINDOW, LIMIT_NOTICE};

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct world_setting setting = {.notices = notices[i], .moves = 2, .behind = true};
		struct tally tally = {0};

		assert_true(explore(&model_world, &setting, &tally));
		for (int limit = 0; limit < LIMITS; limit++)
			assert_int_equal(tally.broken[limit] > 0,
					 limit == LIMIT_WINDOW || limit == (int)beside_window[i]);
		tally_free(&tally);
	}
}

static bool is_possible(const struct world_setting *setting, const struct world *world, struct world_step step)
{
	struct world_step steps[WORLD_STEPS_MAX];
	unsigned n = world_steps(setting, world, steps);

	for (unsigned i = 0; i < n; i++)
		if (!memcmp(&steps[i], &step, sizeof(step)))
			return true;
	return false;
}

/*
 * From how many ticks after a move on its report counts although a mux lacks it, and until when that mux opens connections
 * at the former owner. Without the wait some break that nothing excuses.
 */
static void test_absence(void **state)
{
	static const struct {
		enum world_absence absence;
		int reports_from, opens_until;
	} cases[] = {
	    {WORLD_PRESENT, WORLD_AGE_MAX + 1, WORLD_AGE_MAX},
	    {WORLD_ABSENT, WORLD_QUIET, WORLD_QUIET - 1},
	    {WORLD_LOST, WORLD_QUIET, WORLD_AGE_MAX},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct world_setting setting = {.notices = WORLD_NOTICES_AT_ONCE,
						.moves = 1,
						.hold = true,
						.behind = true,
						.absence = cases[i].absence};
		struct world world = world_first();
		struct tally tally = {0};

		world_take(&setting, &world, (struct world_step)MOVE(B));
		for (int age = 0; age <= WORLD_AGE_MAX; age++) {
			assert_int_equal(is_possible(&setting, &world, (struct world_step)REPORT),
					 age >= cases[i].reports_from);
			assert_int_equal(is_possible(&setting, &world, (struct world_step)BY_LATE),
					 age <= cases[i].opens_until);
			world_take(&setting, &world, (struct world_step)TIME);
		}
		assert_true(explore(&model_world, &setting, &tally));
		assert_int_equal(tally.broken[LIMIT_NONE], 0);
		tally_free(&tally);
		tally = (struct tally){0};
		setting.hasty = true;
		assert_true(explore(&model_world, &setting, &tally));
		assert_int_equal(tally.broken[LIMIT_NONE] > 0, setting.absence != WORLD_LOST);
		tally_free(&tally);
	}
}

/* The same of a server that is drained and switched off once it is empty: what a late mux opens there first, breaks. */
static void test_drain(void **state)
{
	static const struct world_step steps[] = {MOVE(B), {WORLD_EMPTY, A}, BY_LATE};
	struct world_setting setting = {
	    .notices = WORLD_NOTICES_AT_ONCE, .moves = 1, .drain = true, .behind = true, .hasty = true};
	struct world_step off = {WORLD_OFF, 0};
	struct world world = world_first();

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		assert_true(is_possible(&setting, &world, steps[i]));
		world_take(&setting, &world, steps[i]);
	}
	assert_int_equal(limit_of(&setting, &world, off), LIMIT_NONE);
	assert_int_equal(world_take(&setting, &world, off), WORLD_BROKEN);
	setting.hasty = false;
	for (int absence = WORLD_PRESENT; absence < WORLD_ABSENCES; absence++) {
		setting.absence = (enum world_absence)absence;
		world = world_first();
		world_take(&setting, &world, (struct world_step)MOVE(B));
		for (int age = 0; age <= WORLD_AGE_MAX; age++) {
			assert_int_equal(is_possible(&setting, &world, steps[1]),
					 absence != WORLD_PRESENT && age >= WORLD_QUIET);
			world_take(&setting, &world, (struct world_step)TIME);
		}
	}
}

/* A mux that hears neither ZooKeeper nor other muxes opens connections at former owners for ever. */
static void test_lost(void **state)
{
	static const struct world_step steps[] = {MOVE(B), TIME,   TIME,    TIME,    TIME,     TIME,
						  TIME,    REPORT, BY_LATE, RELEASE, CATCH_UP, CATCH_UP};
	struct world_setting setting = {
	    .notices = WORLD_NOTICES_AT_ONCE, .moves = 1, .hold = true, .behind = true, .absence = WORLD_LOST};
	struct world world = world_first(), before;

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		assert_true(is_possible(&setting, &world, steps[i]));
		world_take(&setting, &world, steps[i]);
	}
	before = world;
	assert_int_equal(world_take(&setting, &world, (struct world_step)PACKET), WORLD_BROKEN);
	assert_int_equal(limit_of(&setting, &before, (struct world_step)PACKET), LIMIT_HOLD);
}

/* A new owner answers stateless datagrams at once, and all others when the window is over. */
static void test_stateless(void **state)
{
	static const struct {
		enum world_traffic traffic;
		bool has_waited;
		uint8_t answers;
	} cases[] = {{WORLD_DATAGRAMS, false, A}, {WORLD_DATAGRAMS, true, B}, {WORLD_STATELESS, false, B}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct world_setting setting = {.traffic = cases[i].traffic, .moves = 1};
		struct world world = world_first();

		world_take(&setting, &world, (struct world_step)MOVE(B));
		for (int ticks = 0; cases[i].has_waited && ticks < WORLD_WINDOW; ticks++)
			world_take(&setting, &world, (struct world_step)TIME);
		assert_int_equal(world_take(&setting, &world, (struct world_step)PACKET), WORLD_DELIVERED);
		assert_int_equal(world.home, cases[i].answers);
	}
}

int main(void)
{
	enum {
		ROWS = sizeof(rows) / sizeof(*rows),
		LATE_ROWS = sizeof(late_rows) / sizeof(*late_rows),
		HELD_ROWS = sizeof(held_rows) / sizeof(*held_rows)
	};
	struct CMUnitTest tests[ROWS + LATE_ROWS + HELD_ROWS + 6];
	size_t n = 0;

	for (size_t i = 0; i < ROWS; i++)
		tests[n++] = (struct CMUnitTest){rows[i].name, test_row, NULL, NULL, (void *)&rows[i]};
	for (size_t i = 0; i < LATE_ROWS; i++)
		tests[n++] = (struct CMUnitTest){late_rows[i].name, test_late_row, NULL, NULL, (void *)&late_rows[i]};
	for (size_t i = 0; i < HELD_ROWS; i++)
		tests[n++] = (struct CMUnitTest){held_rows[i].name, test_held_row, NULL, NULL, (void *)&held_rows[i]};
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_one_move);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_notices);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_absence);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_drain);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_lost);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_stateless);
	return _cmocka_run_group_tests("model", tests, n, NULL, NULL);
}
