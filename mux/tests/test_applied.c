/* SPDX-License-Identifier: Apache-2.0 */
/* The log of what was applied: bounded, in order, numbered without end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "observe/applied.h"
#include "image.h"
#include "control/serving.h"

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
		uint32_t checksum = 7 * n;

		applied_note(applied, "web", 100 + n, &checksum, n == 1 ? APPLIED_SNAPSHOT : APPLIED_DELTA);
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
	uint32_t checksum = 7;

	(void)state;
	assert_non_null(applied);
	memset(longest, 'x', SERVICE_NAME_MAX);
	longest[SERVICE_NAME_MAX] = 0;
	applied_note(applied, longest, 5, &checksum, APPLIED_SNAPSHOT);
	applied_note(applied, "web", 6, NULL, APPLIED_DELTA);
	assert_string_equal(applied_get(applied, 1)->service, longest);
	assert_int_equal(applied_get(applied, 1)->how, APPLIED_SNAPSHOT);
	assert_true(applied_get(applied, 1)->has_checksum);
	assert_int_equal(applied_get(applied, 1)->checksum, 7);
	assert_false(applied_get(applied, 2)->has_checksum);
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

/* To read all of a large ring for each change would cost more than the change. */
static void the_checksum_is_of_rings_up_to_a_size(void **state)
{
	struct serving_place place = {
	    .tables = tables_new(1, &image_hops), .counters = counters_new(1), .applied = applied_new()};

	(void)state;
	assert_true(place.tables && place.counters && place.applied);
	for (uint32_t times = 1; times <= 2; times++) {
		struct serving serving = {.place = &place, .name = "web"};
		struct service_config config = image_config(1, "10.99.0.1", times * APPLIED_SUMMED_BUCKETS);
		struct delta image = image_snapshot(1, 3, config.buckets, 2);
		struct delta move = image_move(&image, 4, 0, 2, 2, 1, 7);
		const struct applied_entry *entry;
		struct why why;

		assert_int_equal(serving_publish(&serving, &config, &image, &why), 0);
		assert_int_equal(serving_apply(&serving, &move, &why), 0);
		entry = applied_get(place.applied, applied_next(place.applied) - 1);
		assert_int_equal(entry->generation, 4);
		assert_int_equal(entry->has_checksum, times == 1);
		assert_int_equal(entry->checksum, times == 1 ? ring_checksum(serving_ring(&serving)) : 0);
		serving_remove(&serving);
		image_free(&image);
		image_free(&move);
	}
	applied_free(place.applied);
	tables_free(place.tables);
	counters_free(place.counters);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_checksum_is_of_rings_up_to_a_size),
	    cmocka_unit_test(the_latest_are_kept),
	    cmocka_unit_test(an_entry_says_of_which_service_and_how),
	    cmocka_unit_test(each_process_draws_another_boot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
