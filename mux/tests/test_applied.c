/* SPDX-License-Identifier: Apache-2.0 */
/* The log of what was applied: bounded, in order, numbered without end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "applied.h"

static void expect(const struct applied *applied, uint64_t first, uint64_t next)
{
	assert_int_equal(applied_first(applied), first);
	assert_int_equal(applied_next(applied), next);
	for (uint64_t n = first; n < next; n++)
		assert_int_equal(applied_get(applied, n)->generation, 100 + n);
}

static void the_latest_are_kept(void **state)
{
	struct applied *applied = applied_new();

	(void)state;
	assert_non_null(applied);
	expect(applied, 1, 1);
	for (uint32_t n = 1; n <= 3 * APPLIED_KEPT; n++) {
		applied_note(applied, "web", 100 + n, 7 * n, n == 1 ? APPLIED_SNAPSHOT : APPLIED_DELTA);
		if (n == 1 || n == APPLIED_KEPT)
			expect(applied, 1, n + 1);
	}
	expect(applied, 2 * APPLIED_KEPT + 1, 3 * APPLIED_KEPT + 1);
	assert_int_equal(applied_get(applied, 3 * APPLIED_KEPT)->checksum, 21 * APPLIED_KEPT);
	applied_free(applied);
}

static void an_entry_says_of_which_service_and_how(void **state)
{
	struct applied *applied = applied_new();
	char longest[SERVICE_NAME_MAX + 1];

	(void)state;
	assert_non_null(applied);
	memset(longest, 'x', SERVICE_NAME_MAX);
	longest[SERVICE_NAME_MAX] = 0;
	applied_note(applied, longest, 5, 6, APPLIED_SNAPSHOT);
	applied_note(applied, "web", 6, 7, APPLIED_DELTA);
	assert_string_equal(applied_get(applied, 1)->service, longest);
	assert_int_equal(applied_get(applied, 1)->how, APPLIED_SNAPSHOT);
	assert_int_equal(applied_get(applied, 2)->how, APPLIED_DELTA);
	assert_true(applied_get(applied, 2)->at_ms >= applied_get(applied, 1)->at_ms);
	applied_free(applied);
}

static void each_process_draws_another_boot(void **state)
{
	struct applied *one = applied_new(), *other = applied_new();

	(void)state;
	assert_non_null(one);
	assert_non_null(other);
	assert_true(applied_boot(one) != applied_boot(other));
	applied_free(one);
	applied_free(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_latest_are_kept),
	    cmocka_unit_test(an_entry_says_of_which_service_and_how),
	    cmocka_unit_test(each_process_draws_another_boot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
