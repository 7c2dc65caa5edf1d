/* SPDX-License-Identifier: Apache-2.0 */
/* The filter of steering maat against a list of what it was told; what its sweep forgets; several threads. */
#include <pthread.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "steering/maat/filter.h"
#include "tests/image.h"

enum { FLOWS = 400, THREADS = 4, TURNS = 20000 };

/* What was added and not removed is found, whatever else is added and removed. */
static void it_has_what_was_added(void **state)
{
	static const uint32_t bytes[] = {1024, 4096, 65536}, hashes[] = {1, 2, 3, 8};
	struct chance chance = {20261124};

	(void)state;
	for (size_t n = 0; n < 12; n++) {
		struct maat_filter *filter = maat_filter_new(bytes[n % 3], hashes[n / 3]);
		uint64_t flows[FLOWS];
		bool is_in[FLOWS] = {false};
		uint32_t wrong = 0;

		assert_non_null(filter);
		for (int i = 0; i < FLOWS; i++)
			flows[i] = chance_next(&chance);
		for (int turn = 0; turn < 20 * FLOWS; turn++) {
			uint32_t i = chance_below(&chance, FLOWS);

			if (is_in[i])
				maat_filter_remove(filter, flows[i]);
			else
				maat_filter_add(filter, flows[i]);
			is_in[i] = !is_in[i];
			i = chance_below(&chance, FLOWS);
			if (is_in[i])
				assert_true(maat_filter_has(filter, flows[i]));
			else
				wrong += maat_filter_has(filter, flows[i]);
		}
		if (bytes[n % 3] == 65536)
			assert_true(wrong < 20 * FLOWS / 50);
		for (int i = 0; i < FLOWS; i++)
			if (is_in[i])
				maat_filter_remove(filter, flows[i]);
		assert_int_equal(maat_filter_fill(filter), 0);
		maat_filter_free(filter);
	}
}

/* A full cell stays full: it is unknown how many connections share it. */
static void counts_stay_in_their_cell(void **state)
{
	struct maat_filter *filter = maat_filter_new(1024, 3);

	(void)state;
	maat_filter_remove(filter, 7);
	assert_int_equal(maat_filter_fill(filter), 0);
	for (int i = 0; i < 1000; i++)
		maat_filter_add(filter, 7);
	for (int i = 0; i < 1000; i++)
		maat_filter_remove(filter, 7);
	assert_true(maat_filter_has(filter, 7));
	maat_filter_free(filter);
}

/* Sweeps in steps as the control thread does, for so many rounds; a connection is used in each or in none. */
static bool lives(uint32_t bytes, uint64_t rounds, uint64_t step, bool is_used)
{
	struct maat_filter *filter = maat_filter_new(bytes, 3);
	uint64_t end = 1000 + rounds * MAAT_FILTER_ROUND_MS;
	bool lives;

	maat_filter_add(filter, 99);
	for (uint64_t now = 1000; now <= end; now += step) {
		maat_filter_sweep(filter, now);
		if (is_used && (now - 1000) % (MAAT_FILTER_ROUND_MS / 2) < step)
			maat_filter_has(filter, 99);
	}
	lives = maat_filter_has(filter, 99);
	maat_filter_free(filter);
	return lives;
}

static void the_sweep_forgets_what_is_not_used(void **state)
{
	static const struct {
		uint32_t bytes;
		uint64_t rounds, step;
		bool is_used, lives;
	} rows[] = {
	    {1024, 1, 10, false, true},     {1024, 3, 10, false, false},   {1024, 20, 10, true, true},
	    {1 << 16, 3, 10, false, false}, {1 << 16, 10, 10, true, true}, {1 << 20, 3, 1000, false, false},
	    {1 << 20, 5, 1000, true, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (lives(rows[i].bytes, rows[i].rounds, rows[i].step, rows[i].is_used) != rows[i].lives)
			fail_msg("row %zu", i);
}

static void modes_for_tests(void **state)
{
	struct maat_filter *filter = maat_filter_new(1024, 3);
	uint32_t yes = 0;

	(void)state;
	filter->mode = MAAT_FILTER_OFF;
	maat_filter_add(filter, 5);
	assert_false(maat_filter_has(filter, 5));
	assert_int_equal(maat_filter_fill(filter), 0);
	filter->mode = MAAT_FILTER_RANDOM;
	filter->draws = UINT32_MAX - 5000;
	for (int i = 0; i < 10000; i++)
		yes += maat_filter_has(filter, 5);
	assert_in_range(yes, 4500, 5500);
	maat_filter_free(filter);
}

struct user {
	struct maat_filter *filter;
	uint64_t first;
};

static void *use(void *context)
{
	struct user *user = context;

	for (uint64_t i = 0; i < TURNS; i++) {
		maat_filter_add(user->filter, user->first + i % 64);
		maat_filter_has(user->filter, user->first + i % 64);
		maat_filter_remove(user->filter, user->first + i % 64);
	}
	return NULL;
}

/* Threads that add and remove at the same cells lose no count. */
static void threads_share_it(void **state)
{
	struct maat_filter *filter = maat_filter_new(1024, 8);
	struct user users[THREADS];
	pthread_t threads[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++) {
		users[i] = (struct user){filter, (uint64_t)i / 2};
		assert_int_equal(pthread_create(&threads[i], NULL, use, &users[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(maat_filter_fill(filter), 0);
	maat_filter_free(filter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(it_has_what_was_added),
	    cmocka_unit_test(counts_stay_in_their_cell),
	    cmocka_unit_test(the_sweep_forgets_what_is_not_used),
	    cmocka_unit_test(modes_for_tests),
	    cmocka_unit_test(threads_share_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
