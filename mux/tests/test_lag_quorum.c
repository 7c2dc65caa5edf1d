/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who withdraws a service as behind: rows of the decision, then every placement of up to five muxes at up to five
 * generations, each with every order in which the muxes decide.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>

#include "control/withdrawal/lag_quorum.h"

enum { MUXES_MAX = 5 };

/* What another mux reports: its generation; announced unless said otherwise. */
#define AT(n)                                                                                                          \
	{                                                                                                              \
		.generation = n, .announces = true                                                                     \
	}
#define BEHIND(n)                                                                                                      \
	{                                                                                                              \
		.generation = n, .is_behind = true                                                                     \
	}
#define STOPPING(n)                                                                                                    \
	{                                                                                                              \
		.generation = n                                                                                        \
	}

static void rows(void **state)
{
	static const struct {
		const char *name;
		uint32_t generation;
		struct lag_view others[MUXES_MAX - 1];
		bool withdraws;
	} rows[] = {
	    {"alone", 5, {{0}}, false},
	    {"two, the other one is ahead", 5, {AT(6)}, true},
	    {"two, both at the same", 5, {AT(5)}, false},
	    {"two, the other one is behind", 5, {AT(4)}, false},
	    {"one lags among three", 5, {AT(6), AT(7)}, true},
	    {"a canary among three", 5, {AT(6), AT(5)}, false},
	    {"a canary among three, the third is already withdrawn", 5, {AT(6), BEHIND(5)}, false},
	    {"a canary among three, the third lags more and is withdrawn", 5, {AT(6), BEHIND(4)}, false},
	    {"a canary among three, the third stops", 5, {AT(6), STOPPING(5)}, true},
	    {"half of four are ahead", 5, {AT(6), AT(6), AT(5)}, true},
	    {"a quarter of four is ahead", 5, {AT(6), AT(5), AT(5)}, false},
	    {"two of five are ahead", 5, {AT(6), AT(6), AT(5), AT(5)}, false},
	    {"three of five are ahead", 5, {AT(6), AT(9), AT(7), AT(5)}, true},
	    {"what does not announce is not ahead", 5, {STOPPING(9), STOPPING(8)}, false},
	    {"nor what withdrew", 5, {BEHIND(9), BEHIND(8)}, false},
	    {"what has no ring does not count", 5, {AT(0), AT(0), AT(6)}, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct lag_quorum quorum;

		lag_quorum_start(&quorum);
		for (int n = 0; n < MUXES_MAX - 1; n++)
			lag_quorum_add(&quorum, &rows[i].others[n], rows[i].generation);
		if (lag_quorum_withdraws(&quorum) != rows[i].withdraws)
			fail_msg("%s: %u of %u ahead, withdraws %d", rows[i].name, quorum.ahead, quorum.muxes,
				 lag_quorum_withdraws(&quorum));
	}
}

/* Muxes that see each other as they are. */
struct world {
	unsigned count;
	uint32_t generation[MUXES_MAX];
	bool is_behind[MUXES_MAX]; /* withdrawn */
};

static bool decides(const struct world *world, unsigned self)
{
	struct lag_quorum quorum;

	lag_quorum_start(&quorum);
	for (unsigned i = 0; i < world->count; i++) {
		struct lag_view view = {.generation = world->generation[i],
					.announces = !world->is_behind[i],
					.is_behind = world->is_behind[i]};

		if (i != self)
			lag_quorum_add(&quorum, &view, world->generation[self]);
	}
	return lag_quorum_withdraws(&quorum);
}

static unsigned announcing(const struct world *world)
{
	unsigned count = 0;

	for (unsigned i = 0; i < world->count; i++)
		count += !world->is_behind[i];
	return count;
}

static unsigned ahead_of(const struct world *world, unsigned self)
{
	unsigned count = 0;

	for (unsigned i = 0; i < world->count; i++)
		count += world->generation[i] > world->generation[self];
	return count;
}

static void fail_in(const struct world *world, const char *what)
{
	print_error("generation (withdrawn):");
	for (unsigned i = 0; i < world->count; i++)
		print_error(" %u (%d)", world->generation[i], world->is_behind[i]);
	fail_msg("%s", what);
}

/* What holds after each single decision, regardless of which muxes have decided so far. */
static void check_always(const struct world *world)
{
	unsigned left = 0;

	if (2 * announcing(world) < world->count)
		fail_in(world, "more than half are withdrawn");
	for (unsigned i = 0; i < world->count; i++)
		left += !world->is_behind[i] && !ahead_of(world, i);
	if (!left)
		fail_in(world, "no mux with the highest generation announces");
}

/* What holds once no decision changes anything: a mux is withdrawn exactly if at least half are ahead of it. */
static void check_settled(const struct world *world)
{
	for (unsigned i = 0; i < world->count; i++) {
		unsigned ahead = ahead_of(world, i);

		if (world->is_behind[i] != (ahead && 2 * ahead >= world->count))
			fail_in(world, "not the muxes that at least half are ahead of");
	}
}

static uint64_t visited;

/* Every order of decisions from here on; each one that changes something is a step. */
static void explore(struct world *world, bool from_nothing)
{
	bool settled = true;

	visited++;
	if (from_nothing)
		check_always(world);
	for (unsigned i = 0; i < world->count; i++) {
		bool withdraws = decides(world, i);

		if (withdraws == world->is_behind[i])
			continue;
		settled = false;
		world->is_behind[i] = withdraws;
		explore(world, from_nothing);
		world->is_behind[i] = !withdraws;
	}
	if (settled)
		check_settled(world);
}

/* All placements; generations 1..count suffice, as only their order counts. */
static void place(struct world *world, unsigned at, void (*each)(struct world *))
{
	if (at == MUXES_MAX || at == world->count) { /* the compiler does not know that count is at most that */
		each(world);
		return;
	}
	for (uint32_t generation = 1; generation <= world->count; generation++) {
		world->generation[at] = generation;
		place(world, at + 1, each);
	}
}

static void from_all_announcing(struct world *world)
{
	explore(world, true);
}

/* Any muxes are withdrawn, as after others were started, stopped or caught up: it still settles, at the same. */
static void from_anything(struct world *world)
{
	for (unsigned set = 0; set < 1U << world->count; set++) {
		struct world one = *world;

		for (unsigned i = 0; i < one.count; i++)
			one.is_behind[i] = set >> i & 1;
		explore(&one, false);
	}
}

static void every_order(void **state)
{
	(void)state;
	for (unsigned count = 1; count <= MUXES_MAX; count++) {
		struct world world = {.count = count};

		place(&world, 0, from_all_announcing);
	}
	assert_true(visited > 10000);
}

static void from_every_state(void **state)
{
	(void)state;
	for (unsigned count = 1; count < MUXES_MAX; count++) {
		struct world world = {.count = count};

		place(&world, 0, from_anything);
	}
}

/* Muxes decide by what they saw before the others decided: even if all decide at once, at least half stay. */
static void at_once(struct world *world)
{
	struct world next = *world;

	for (unsigned i = 0; i < world->count; i++)
		next.is_behind[i] = decides(world, i);
	check_always(&next);
	check_settled(&next);
}

static void all_at_once(void **state)
{
	(void)state;
	for (unsigned count = 1; count <= MUXES_MAX; count++) {
		struct world world = {.count = count};

		place(&world, 0, at_once);
	}
}

/* The two cases that the rule is for. */
static void lagging_ones_and_canaries(void **state)
{
	(void)state;
	for (unsigned count = 2; count <= MUXES_MAX; count++) {
		struct world lags = {.count = count}, canary = {.count = count};

		for (unsigned i = 0; i < count; i++) {
			lags.generation[i] = i ? 2 : 1;
			canary.generation[i] = i ? 1 : 2;
		}
		for (unsigned i = 0; i < count; i++) {
			assert_int_equal(decides(&lags, i), i == 0);
			assert_int_equal(decides(&canary, i), count == 2 && i == 1);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rows),
	    cmocka_unit_test(every_order),
	    cmocka_unit_test(from_every_state),
	    cmocka_unit_test(all_at_once),
	    cmocka_unit_test(lagging_ones_and_canaries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
