// SPDX-License-Identifier: Apache-2.0
/* load.h: single decisions as a table, and random sequences against the algorithms of the paper as they are written. */
#include <stdlib.h>
#include <string.h>

#include "load.h"

#include "vectors.h"

enum {
	NOW = 1000,
	ROUNDS = 400,
	STEPS = 4000,
};

struct decision {
	const char *name;
	struct fl_load_setting setting;
	struct fl_load_state before;
	fl_u64 now;
	bool refuses;
};

/* clang-format off */
static const struct decision decisions[] = {
    {"never set", {0}, {0}, NOW, false},
    {"always, however busy", {.until_ns = NOW + 1, .busy = 1000, .threshold = 1}, {0}, NOW, false},
    {"a policy that is none", {.until_ns = NOW + 1, .busy = 1000, .threshold = 1, .policy = FL_LOAD_POLICIES}, {0}, NOW,
     false},
    {"static, one below", {.until_ns = NOW + 1, .busy = 3, .threshold = 4, .policy = FL_LOAD_STATIC}, {0}, NOW, false},
    {"static, at the threshold", {.until_ns = NOW + 1, .busy = 4, .threshold = 4, .policy = FL_LOAD_STATIC}, {0}, NOW,
     true},
    {"static, in the last nanosecond", {.until_ns = NOW + 1, .busy = 9, .threshold = 4, .policy = FL_LOAD_STATIC}, {0},
     NOW, true},
    {"static, expired", {.until_ns = NOW, .busy = 9, .threshold = 4, .policy = FL_LOAD_STATIC}, {0}, NOW, false},
    {"static, one taken since the reading",
     {.until_ns = NOW + 1, .busy = 3, .threshold = 4, .sequence = 7, .policy = FL_LOAD_STATIC},
     {.taken = 11, .unasked = 5, .reading_taken = 15, .sequence = 7}, NOW, true},
    {"static, one taken unasked since the reading",
     {.until_ns = NOW + 1, .busy = 3, .threshold = 4, .sequence = 7, .policy = FL_LOAD_STATIC},
     {.taken = 10, .unasked = 6, .reading_taken = 15, .sequence = 7}, NOW, true},
    {"static, taken before a new reading",
     {.until_ns = NOW + 1, .busy = 3, .threshold = 4, .sequence = 8, .policy = FL_LOAD_STATIC},
     {.taken = 100, .unasked = 5, .reading_taken = 15, .sequence = 7}, NOW, false},
    {"static, passed on since the reading",
     {.until_ns = NOW + 1, .busy = 3, .threshold = 4, .sequence = 7, .policy = FL_LOAD_STATIC},
     {.taken = 15, .passed = 50, .reading_taken = 15, .sequence = 7}, NOW, false},
    {"static, another CPU saw a newer reading",
     {.until_ns = NOW + 1, .busy = 3, .threshold = 4, .sequence = 7, .policy = FL_LOAD_STATIC},
     {.taken = 14, .reading_taken = 15, .sequence = 7}, NOW, false},
    {"static, numbers that have wrapped",
     {.until_ns = NOW + 1, .busy = 3, .threshold = 4, .sequence = 7, .policy = FL_LOAD_STATIC},
     {.taken = 0x100000000, .reading_taken = 0xffffffff, .sequence = 7}, NOW, true},
    {"static, more work than a number of 32 bits holds",
     {.until_ns = NOW + 1, .busy = 0xffffffff, .threshold = 4, .sequence = 7, .policy = FL_LOAD_STATIC},
     {.taken = 9, .sequence = 7}, NOW, true},
    {"static, though dynamic has moved the threshold",
     {.until_ns = NOW + 1, .busy = 4, .threshold = 4, .policy = FL_LOAD_STATIC}, {.threshold = 9}, NOW, true},
    {"dynamic, before it has begun",
     {.until_ns = NOW + 1, .busy = 2, .threshold = 2, .window = 50, .epsilon = 100, .policy = FL_LOAD_DYNAMIC}, {0}, NOW,
     true},
    {"dynamic, moved up before",
     {.until_ns = NOW + 1, .busy = 2, .threshold = 1, .window = 50, .epsilon = 100, .policy = FL_LOAD_DYNAMIC},
     {.threshold = 3, .begun_at = 1}, NOW, false},
    {"dynamic, moved up before from another threshold",
     {.until_ns = NOW + 1, .busy = 2, .threshold = 2, .window = 50, .epsilon = 100, .policy = FL_LOAD_DYNAMIC},
     {.threshold = 3, .begun_at = 1}, NOW, true},
    {"dynamic, expired",
     {.until_ns = NOW, .busy = 2, .threshold = 1, .window = 50, .epsilon = 100, .policy = FL_LOAD_DYNAMIC}, {0}, NOW,
     false},
};

/* Ends of a window: this SYN is the window's last. */
static const struct window {
	const char *name;
	fl_u32 window, epsilon, threshold;
	fl_u64 taken, passed; /* in the window, before this SYN */
	fl_u32 after;
} windows[] = {
    {"nothing taken", 50, 100, 3, 0, 49, 4},
    {"just below the lower edge", 50, 100, 3, 19, 30, 4},
    {"at the lower edge", 50, 100, 3, 20, 29, 3},
    {"half", 50, 100, 3, 25, 24, 3},
    {"at the upper edge", 50, 100, 3, 30, 19, 3},
    {"just above the upper edge", 50, 100, 3, 31, 18, 2},
    {"all taken", 50, 100, 3, 49, 0, 2},
    {"all taken, the threshold is the least", 50, 100, 1, 49, 0, 1},
    {"one offer short of a window", 50, 100, 3, 0, 48, 3},
    {"a larger window", 1000, 100, 3, 0, 49, 3},
    {"no epsilon, half", 50, 0, 3, 25, 24, 3},
    {"no epsilon, one less", 50, 0, 3, 24, 25, 4},
    {"the largest epsilon, one taken", 1000, 499, 3, 1, 998, 3},
    {"the largest epsilon, none taken", 1000, 499, 3, 0, 999, 4},
};
/* clang-format on */

static void decide(void **state)
{
	const struct decision *row = *state;
	struct fl_load_state load = row->before;

	assert_int_equal(fl_load_refuses(&row->setting, &load, row->now), row->refuses);
	assert_int_equal(load.taken + load.passed + load.unasked,
			 row->before.taken + row->before.passed + row->before.unasked);
}

static void end_window(void **state)
{
	const struct window *row = *state;
	struct fl_load_setting setting = {.until_ns = NOW + 1,
					  .threshold = row->threshold,
					  .window = row->window,
					  .epsilon = row->epsilon,
					  .policy = FL_LOAD_DYNAMIC};
	/* Not the first window. */
	struct fl_load_state load = {
	    .taken = 1000 + row->taken, .passed = 2000 + row->passed, .window_taken = 1000, .window_offers = 3000};

	fl_load_refuses(&setting, &load, NOW);
	assert_int_equal(fl_load_threshold(&setting, &load), row->after);
}

/* Algorithms 1 and 2 with the paper's variables, except for the least threshold. */
struct oracle {
	bool is_dynamic;
	long window, attempt, accepted;
	long epsilon; /* thousandths, since the edges of the window must be exact */
	long c, work; /* at the reading and since */
};

static bool oracle_accepts(struct oracle *oracle)
{
	bool accepts;

	if (oracle->is_dynamic && ++oracle->attempt == oracle->window) {
		long balance = 1000 * oracle->accepted - 500 * oracle->window;

		if (balance < -oracle->epsilon * oracle->window)
			oracle->c++;
		else if (balance > oracle->epsilon * oracle->window && oracle->c > 1)
			oracle->c--;
		oracle->attempt = 0;
		oracle->accepted = 0;
	}
	accepts = oracle->work < oracle->c;
	oracle->accepted += accepts;
	return accepts;
}

/* One SYN that is offered; sometimes a refused one turns out to be of a connection that is here. */
static void offer(struct oracle *oracle, const struct fl_load_setting *setting, struct fl_load_state *load)
{
	bool accepts = oracle_accepts(oracle);

	assert_int_equal(fl_load_refuses(setting, load, NOW), !accepts);
	if (accepts) {
		oracle->work++;
		fl_load_count_taken(load);
	} else if (rand() % 8) {
		fl_load_count_passed(load);
	} else {
		oracle->attempt--;
	}
	if (oracle->is_dynamic)
		assert_int_equal(fl_load_threshold(setting, load), oracle->c);
}

static void steps_run(struct oracle *oracle, struct fl_load_setting *setting, struct fl_load_state *load)
{
	fl_u32 busy_max = 1 + (fl_u32)rand() % 64;
	int step;

	for (step = 0; step < STEPS; step++) {
		switch (rand() % 8) {
		case 0:
			setting->busy = (fl_u32)rand() % busy_max;
			setting->sequence++;
			oracle->work = setting->busy;
			break;
		case 1:
			fl_load_count_unasked(setting, load);
			oracle->work++;
			break;
		default:
			offer(oracle, setting, load);
		}
	}
}

/* Where the numbers of a service begin: at 0, and so that each passes 32 bits, or the half of them, on the way. */
static const struct start {
	const char *name;
	fl_u64 each; /* of what is counted */
	fl_u32 sequence;
} starts[] = {
    {"random offers as the paper's algorithms decide them", 0, 0},
    {"the same while each number passes 32 bits", 0x100000000 - STEPS / 4, 0U - 50},
    {"the same while their sums do", 0x80000000 - STEPS / 4, 0U - 50},
    {"the same while their sums pass the half", 0x40000000 - STEPS / 4, 0x80000000 - 50},
};

static void random_offers(void **state)
{
	const struct start *start = *state;
	unsigned int seed = 1;
	int round;

	print_message("# seed %u\n", seed);
	srand(seed);
	for (round = 0; round < ROUNDS; round++) {
		struct fl_load_setting setting = {.until_ns = NOW + 1,
						  .threshold = 1 + (fl_u32)rand() % 8,
						  .window = 10 + (fl_u32)rand() % 100,
						  .epsilon = (fl_u32)rand() % FL_LOAD_HALF,
						  .sequence = start->sequence,
						  .policy = rand() % 2 ? FL_LOAD_DYNAMIC : FL_LOAD_STATIC};
		struct oracle oracle = {.is_dynamic = setting.policy == FL_LOAD_DYNAMIC,
					.window = setting.window,
					.epsilon = setting.epsilon,
					.c = setting.threshold};
		struct fl_load_state load = {.taken = start->each,
					     .passed = start->each,
					     .unasked = start->each,
					     .window_offers = 2 * start->each,
					     .window_taken = start->each,
					     .reading_taken = (fl_u32)(2 * start->each),
					     .sequence = setting.sequence};

		steps_run(&oracle, &setting, &load);
	}
}

static void refuse(const struct fl_load_setting *setting, struct fl_load_state *load)
{
	assert_true(fl_load_refuses(setting, load, NOW));
	fl_load_count_passed(load);
}

/* What dynamic has learned ends with its setting's threshold, and where it was not the policy meanwhile. */
static void begins_anew(void **state)
{
	struct fl_load_setting setting = {
	    .until_ns = NOW + 1, .busy = 9, .threshold = 1, .window = 1, .epsilon = 100, .policy = FL_LOAD_DYNAMIC};
	static const enum fl_load_policy others[] = {FL_LOAD_ALWAYS, FL_LOAD_STATIC};
	struct fl_load_state load = {0};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		refuse(&setting, &load);
		assert_int_equal(fl_load_threshold(&setting, &load), 2);
		setting.policy = others[i];
		fl_load_refuses(&setting, &load, NOW);
		setting.policy = FL_LOAD_DYNAMIC;
		assert_int_equal(fl_load_threshold(&setting, &load), 1);
	}
	refuse(&setting, &load);
	setting.policy = FL_LOAD_STATIC;
	fl_load_count_unasked(&setting, &load);
	setting.policy = FL_LOAD_DYNAMIC;
	assert_int_equal(fl_load_threshold(&setting, &load), 1);
	refuse(&setting, &load);
	assert_int_equal(fl_load_threshold(&setting, &load), 2);
	setting.threshold = 5;
	assert_int_equal(fl_load_threshold(&setting, &load), 5);
	refuse(&setting, &load);
	assert_int_equal(fl_load_threshold(&setting, &load), 6);
}

/* Under more work than it can have, dynamic takes about half. */
static void settles_at_half(void **state)
{
	struct fl_load_setting setting = {
	    .until_ns = NOW + 1, .threshold = 1, .window = 50, .epsilon = 100, .policy = FL_LOAD_DYNAMIC};
	struct fl_load_state load = {0};
	int i;

	(void)state;
	srand(1);
	for (i = 0; i < 100000; i++) {
		setting.busy = (fl_u32)rand() % 100;
		setting.sequence++;
		if (i == 50000)
			load.taken = load.passed = load.window_offers = load.window_taken = load.unasked = 0;
		if (fl_load_refuses(&setting, &load, NOW))
			fl_load_count_passed(&load);
		else
			fl_load_count_taken(&load);
	}
	assert_int_equal(fl_load_offered(&load), 50000);
	assert_in_range(load.taken, 22000, 28000);
	assert_in_range(load.threshold, 40, 60);
}

int main(void)
{
	struct vectors_tests tests = {NULL, 0};
	size_t i;

	for (i = 0; i < sizeof(decisions) / sizeof(decisions[0]); i++)
		vectors_add_plain(&tests, decisions[i].name, decide, (void *)(uintptr_t)&decisions[i]);
	for (i = 0; i < sizeof(windows) / sizeof(windows[0]); i++)
		vectors_add_plain(&tests, windows[i].name, end_window, (void *)(uintptr_t)&windows[i]);
	for (i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		vectors_add_plain(&tests, starts[i].name, random_offers, (void *)(uintptr_t)&starts[i]);
	vectors_add_plain(&tests, "dynamic begins anew", begins_anew, NULL);
	vectors_add_plain(&tests, "dynamic settles at half", settles_at_half, NULL);
	return vectors_run("load", &tests);
}
