/* SPDX-License-Identifier: Apache-2.0 */
/* The model does what the protocol says, and its search visits what a naive one does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../search.h"

enum { STATES_MAX = 4000, WAY_MAX = 256 };

static struct setting usual;

static int remember_setting(void **state)
{
	(void)state;
	usual = setting;
	return 0;
}

static int restore_setting(void **state)
{
	(void)state;
	setting = usual;
	return 0;
}

/* ---- the search against a naive one ---- */

static const struct {
	const char *name;
	struct setting setting;
} worlds[] = {
    {"a move", {.moves = 1}},
    {"a hold", {.moves = 2, .servers = 3, .hold = true, .withdraw = true}},
    {"a window", {.moves = 1, .close_ = true}},
    {"a report that does not wait", {.moves = 1, .hold = true, .rules = 1ULL << R_MUXES}},
    {"unknown is reset", {.moves = 1, .rules = 1ULL << R_STALE}},
    {"a packet under way", {.moves = 1, .flight = 1}},
    {"a death", {.moves = 0, .death = true, .servers = 3}},
    {"a restart", {.moves = 1, .restart = true}},
    {"older rings", {.moves = 1, .hold = true, .older = true, .withdraw = true}},
    {"a deaf mux", {.moves = 1, .hold = true, .older = true, .deaf = true}},
    {"a deaf mux, lossy notices", {.moves = 1, .hold = true, .older = true, .deaf = true, .notices = LOSSY}},
    {"a deaf mux, a restart", {.moves = 1, .muxes = 1, .hold = true, .older = true, .deaf = true, .restart = true}},
    {"lossy notices", {.moves = 1, .notices = LOSSY}},
    {"two buckets", {.moves = 2, .buckets = 2, .maat = true}},
    {"arrays", {.moves = 0, .buckets = 2, .arrays = 1}},
    {"datagrams", {.moves = 1, .traffic = UDP_OPEN, .close_ = true}},
};

static void set(const struct setting *wanted)
{
	setting = *wanted;
	setting.servers = wanted->servers ? wanted->servers : 2;
	setting.muxes = wanted->muxes ? wanted->muxes : 2;
	setting.buckets = wanted->buckets ? wanted->buckets : 1;
	setting.notices = wanted->notices ? wanted->notices : ALL;
	setting.K = wanted->K ? wanted->K : 4;
	setting.jump = true;
	setting.reduce = true;
	setting.rules = usual.rules & ~wanted->rules;
	setting.gib = 0.01;
	setting.seconds = 60;
}

static bool is_new(const struct state *states, unsigned n, const struct state *state)
{
	for (unsigned i = 0; i < n; i++)
		if (!memcmp(&states[i], state, sizeof(*state)))
			return false;
	return true;
}

/* Every state, compared whole with every other; nothing is renamed, sorted or packed. */
static void explore_naively(struct tally *tally)
{
	struct state *states = calloc(STATES_MAX, sizeof(*states));
	unsigned n = 1;

	assert_non_null(states);
	states[0] = state_first();
	for (unsigned i = 0; i < n; i++) {
		struct step steps[STEPS_MAX];
		unsigned of = steps_of(&states[i], steps);
		enum cause cause;

		for (unsigned s = 0; s < of; s++) {
			struct state to = states[i];
			enum result result = steps_take(&to, steps[s], &cause);

			tally->steps++;
			tally->broken[cause] += result == BROKEN;
			if (result == BROKEN || result == ENDED)
				continue;
			state_cut(&to);
			if (!is_new(states, n, &to))
				continue;
			assert_in_range(n, 1, STATES_MAX - 1);
			states[n++] = to;
		}
		if (steps_settle(states[i], &cause) == BROKEN)
			tally->broken[cause]++;
	}
	tally->states = n;
	free(states);
}

static void search_is_as_a_naive_one(void **state)
{
	unsigned broken = 0;

	(void)state;
	for (size_t w = 0; w < sizeof(worlds) / sizeof(worlds[0]); w++) {
		struct tally naive = {0}, plain = {0}, canonical = {0};

		set(&worlds[w].setting);
		setting.plain = true;
		explore_naively(&naive);
		assert_true(search_all(&plain));
		setting.plain = false;
		assert_true(search_all(&canonical));
		print_message("# %s: %u states, %u canonical\n", worlds[w].name, (unsigned)naive.states,
			      (unsigned)canonical.states);
		assert_int_equal(plain.states, naive.states);
		assert_int_equal(plain.steps, naive.steps);
		assert_true(canonical.states < naive.states);
		for (int c = 0; c < CAUSES; c++) {
			assert_int_equal(plain.broken[c], naive.broken[c]);
			assert_int_equal(canonical.broken[c] > 0, naive.broken[c] > 0);
			broken += naive.broken[c] > 0;
		}
	}
	assert_in_range(broken, 3, 1000); /* some of them do break */
}

static void packed_and_canonical_states_stay_as_they_are(void **state)
{
	(void)state;
	for (size_t w = 0; w < sizeof(worlds) / sizeof(worlds[0]); w++) {
		struct tally tally = {0};

		set(&worlds[w].setting);
		assert_true(search_all(&tally));
		for (uint64_t i = 0; i < tally.states; i++) {
			struct state visited;

			search_unpack(search_node(i) + 4, &visited);
			assert_true(search_is(&visited, search_node(i) + 4));
		}
	}
}

static void search_says_that_memory_ran_out(void **state)
{
	struct tally tally = {0};

	(void)state;
	set(&worlds[1].setting);
	setting.gib = 1e-6;
	assert_false(search_all(&tally));
	assert_in_range(tally.states, 1, 1000);
}

/* ---- sequences ---- */

#define WITHOUT(rule) (1ULL << (rule))
#define S_MOVE(s)                                                                                                      \
	{                                                                                                              \
		A_MOVE, s                                                                                              \
	}
#define S_APPLY(m)                                                                                                     \
	{                                                                                                              \
		A_APPLY, m                                                                                             \
	}
#define S_SEND(m)                                                                                                      \
	{                                                                                                              \
		A_SEND, m                                                                                              \
	}
#define S_TAKE(s)                                                                                                      \
	{                                                                                                              \
		A_TAKE, s                                                                                              \
	}

enum { LAST_IMPOSSIBLE = SENT + 1 };

static const struct row {
	const char *name;
	struct step steps[12];
	int result; /* of the last step */
	struct setting setting;
	enum cause cause;
} rows[] = {
    {"opened and delivered", {S_SEND(0), S_TAKE(0), S_SEND(0)}, DELIVERED, {0}, 0},
    {"the list leads to the owner before", {S_SEND(0), S_TAKE(0), S_MOVE(1), S_APPLY(0), S_SEND(0)}, DELIVERED, {0}, 0},
    {"and to the one before that",
     {S_SEND(0), S_TAKE(0), S_MOVE(1), S_MOVE(2), {A_JUMP, 0}, S_SEND(0)},
     DELIVERED,
     {0},
     0},
    {"unless it has one owner before alone",
     {S_SEND(0), S_TAKE(0), S_MOVE(1), S_MOVE(2), {A_JUMP, 0}, S_SEND(0)},
     BROKEN,
     {.rules = WITHOUT(R_LIST)},
     C_NONE},
    {"a late mux's packet is dropped", {S_MOVE(1), S_APPLY(0), S_SEND(0), S_TAKE(1), S_SEND(1)}, DROPPED, {0}, 0},
    {"unless no server was told",
     {S_MOVE(1), S_APPLY(0), S_SEND(0), S_TAKE(1), S_SEND(1)},
     BROKEN,
     {.notices = LOSSY},
     C_NOTICE},
    {"or stale packets are reset",
     {S_MOVE(1), S_APPLY(0), S_SEND(0), S_TAKE(1), S_SEND(1)},
     BROKEN,
     {.rules = WITHOUT(R_STALE)},
     C_NONE},
    {"a candidate that cannot be sent to is skipped, and the packet dropped",
     {S_SEND(0), S_TAKE(0), S_MOVE(1), S_APPLY(0), {A_SEND, SKIP << 3}},
     DROPPED,
     {.skip = true},
     0},
    {"unless that makes nothing late",
     {S_SEND(0), S_TAKE(0), S_MOVE(1), S_APPLY(0), {A_SEND, SKIP << 3}},
     BROKEN,
     {.skip = true, .rules = WITHOUT(R_SKIP)},
     C_NONE},
    {"the window is over",
     {S_SEND(0), S_TAKE(0), S_MOVE(1), {A_CLOSE, 0}, {A_JUMP, 0}, S_SEND(0)},
     BROKEN,
     {.close_ = true},
     C_WINDOW},
    {"no report while a mux lacks the loss",
     {S_MOVE(1), S_APPLY(0), {A_REPORT, 0}},
     LAST_IMPOSSIBLE,
     {.hold = true},
     0},
    {"a report once all have it", {S_MOVE(1), S_APPLY(0), S_APPLY(1), {A_REPORT, 0}}, IDLE, {.hold = true}, 0},
    {"no report of a server that has the connection",
     {S_SEND(0), S_TAKE(0), S_MOVE(1), S_APPLY(0), S_APPLY(1), {A_REPORT, 0}},
     LAST_IMPOSSIBLE,
     {.hold = true},
     0},
    {"a full list refuses a new server", {S_MOVE(1), S_MOVE(2)}, LAST_IMPOSSIBLE, {.K = 2}, 0},
    {"not one that is on it", {S_MOVE(1), S_MOVE(0)}, IDLE, {.K = 2}, 0},
    {"a new datagram goes to the oldest owner",
     {S_MOVE(1), S_APPLY(0), S_SEND(0), {A_CLOSE, 0}, S_APPLY(0), S_SEND(0)},
     BROKEN,
     {.traffic = UDP_OPEN, .close_ = true},
     C_WINDOW},
    {"the dead server's connection ends", {S_SEND(0), S_TAKE(0), {A_DEATH, 0}, S_SEND(0)}, ENDED, {.death = true}, 0},
    {"a server that has just started resets nothing",
     {S_MOVE(1), S_APPLY(0), S_SEND(0), S_TAKE(1), {A_RESTART, 0}, S_SEND(1)},
     DROPPED,
     {.restart = true},
     0},
    {"it is quiet as long as a mux is behind",
     {S_MOVE(1), S_APPLY(0), {A_RESTART, 0}, {A_CALM, 0}},
     LAST_IMPOSSIBLE,
     {.restart = true},
     0},
};

static bool is_possible(const struct state *state, struct step step)
{
	struct step steps[STEPS_MAX];
	unsigned n = steps_of(state, steps);

	for (unsigned i = 0; i < n; i++)
		if (steps[i].action == step.action && steps[i].arg == step.arg)
			return true;
	return false;
}

static void each_sequence(void **state)
{
	(void)state;
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		const struct row *row = &rows[r];
		enum cause cause = C_NONE;
		struct state now;
		int result = IDLE;

		print_message("# %s\n", row->name);
		set(&row->setting);
		setting.servers = 3;
		setting.moves = 4;
		now = state_first();
		for (unsigned i = 0; i == 0 || row->steps[i].action || row->steps[i].arg; i++) {
			assert_int_not_equal(result, LAST_IMPOSSIBLE);
			result = is_possible(&now, row->steps[i]) ? (int)steps_take(&now, row->steps[i], &cause)
								  : LAST_IMPOSSIBLE;
		}
		assert_int_equal(result, row->result);
		assert_int_equal(cause, row->cause);
	}
}

/* ---- random walks ---- */

static void walk_finds_what_breaks(void **state)
{
	struct step way[WAY_MAX];
	struct tally tally = {0};
	enum result result = IDLE;
	struct state now;
	enum cause cause;
	unsigned n;

	(void)state;
	set(&(struct setting){.moves = 3, .servers = 4, .hold = true, .walk = 2e6, .seed = 7});
	assert_int_equal(search_walk(&tally, way, WAY_MAX), 0);
	assert_true(tally.packets[DROPPED] > 0 && tally.packets[DELIVERED] > 0);
	setting.rules &= ~WITHOUT(R_FRESH);
	n = search_walk(&tally, way, WAY_MAX);
	assert_in_range(n, 5, WAY_MAX);
	now = state_first();
	for (unsigned i = 0; i < n; i++) {
		assert_int_not_equal(result, BROKEN);
		result = steps_take(&now, way[i], &cause);
		state_cut(&now);
	}
	assert_int_equal(result, BROKEN);
	assert_int_equal(cause, C_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(search_is_as_a_naive_one, remember_setting, restore_setting),
	    cmocka_unit_test_setup_teardown(packed_and_canonical_states_stay_as_they_are, remember_setting,
					    restore_setting),
	    cmocka_unit_test_setup_teardown(search_says_that_memory_ran_out, remember_setting, restore_setting),
	    cmocka_unit_test_setup_teardown(each_sequence, remember_setting, restore_setting),
	    cmocka_unit_test_setup_teardown(walk_finds_what_breaks, remember_setting, restore_setting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
