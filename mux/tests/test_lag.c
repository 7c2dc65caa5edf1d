/* SPDX-License-Identifier: Apache-2.0 */
/* Lag: what is served and committed over time, and the lag reported. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "control/service/lag.h"

struct moment {
	uint32_t at_s;
	uint32_t generation, latest;
	uint32_t lag, seconds; /* reported at this moment */
	bool beyond;
};

static void play(const struct moment *moments, size_t count, struct lag_limits limits)
{
	struct lag lag = {0};

	for (size_t i = 0; i < count; i++) {
		const struct moment *m = &moments[i];

		lag_note(&lag, m->generation, m->latest, m->at_s * 1000);
		if (lag_generations(&lag) != m->lag || lag_ms(&lag, m->at_s * 1000) != m->seconds * 1000ULL ||
		    lag_is_beyond(&lag, &limits, m->at_s * 1000) != m->beyond)
			fail_msg("moment %zu (at %u s, %u of %u): %u generations, %lu ms, beyond %d", i, m->at_s,
				 m->generation, m->latest, lag_generations(&lag),
				 (unsigned long)lag_ms(&lag, m->at_s * 1000),
				 lag_is_beyond(&lag, &limits, m->at_s * 1000));
	}
}

static void a_ring_that_stops(void **state)
{
	static const struct moment moments[] = {
	    {100, 5, 5, 0, 0, false}, {110, 5, 6, 1, 0, false},   {140, 5, 7, 2, 30, false},  {170, 5, 7, 2, 60, false},
	    {171, 5, 7, 2, 61, true}, {180, 5, 90, 85, 70, true}, {181, 90, 90, 0, 0, false},
	};

	(void)state;
	play(moments, sizeof(moments) / sizeof(moments[0]), (struct lag_limits){.seconds = 60});
}

static void a_ring_that_follows_with_a_delay(void **state)
{
	/* ten a second, each applied 30 s later: the lag never exceeds that */
	struct lag lag = {0};

	(void)state;
	for (uint32_t s = 0; s < 600; s++) {
		uint32_t latest = 1000 + 10 * s, generation = latest - 300;

		lag_note(&lag, generation, latest, s * 1000);
		assert_int_equal(lag_generations(&lag), 300);
		assert_true(lag_ms(&lag, s * 1000) <= 30000);
	}
}

static void by_generations(void **state)
{
	static const struct moment moments[] = {
	    {1, 5, 5, 0, 0, false},
	    {2, 5, 15, 10, 0, false},
	    {3, 5, 16, 11, 1, true},
	    {4, 6, 16, 10, 2, false},
	};

	(void)state;
	play(moments, sizeof(moments) / sizeof(moments[0]), (struct lag_limits){.generations = 10});
}

static void what_does_not_serve_is_not_beyond(void **state)
{
	static const struct moment moments[] = {
	    {1, 0, 0, 0, 0, false}, /* nothing is known */
	    {2, 0, 900, 900, 0, false},   {900, 0, 900, 900, 898, false},
	    {901, 900, 900, 0, 0, false}, {902, 900, 7, 0, 0, false}, /* another service of the same name */
	};

	(void)state;
	play(moments, sizeof(moments) / sizeof(moments[0]), (struct lag_limits){.seconds = 1, .generations = 1});
}

static void no_limits(void **state)
{
	static const struct moment moments[] = {{1, 5, 6, 1, 0, false}, {100000, 5, 900000, 899995, 99999, false}};

	(void)state;
	play(moments, sizeof(moments) / sizeof(moments[0]), (struct lag_limits){0});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_ring_that_stops), cmocka_unit_test(a_ring_that_follows_with_a_delay),
	    cmocka_unit_test(by_generations),    cmocka_unit_test(what_does_not_serve_is_not_beyond),
	    cmocka_unit_test(no_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
