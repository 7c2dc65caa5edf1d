/* SPDX-License-Identifier: Apache-2.0 */
/* The log of what was applied: bounded, in order, numbered without end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "control/change_log.h"
#include "image.h"
#include "control/published_service.h"

static void expect(const struct change_log *changes, uint64_t first, uint64_t next)
{
	assert_int_equal(change_log_first(changes), first);
	assert_int_equal(change_log_next(changes), next);
	for (uint64_t n = first; n < next; n++)
		assert_int_equal(change_log_get(changes, n)->generation, 100 + n);
}

static void the_latest_are_kept(void **state)
{
	struct change_log *changes = change_log_new();

	(void)state;
	assert_non_null(changes);
	expect(changes, 1, 1);
	for (uint32_t n = 1; n <= 3 * CHANGE_LOG_KEPT; n++) {
		uint32_t checksum = 7 * n;

		change_log_note(changes, "web", 100 + n, &checksum, n == 1 ? CHANGE_LOG_SNAPSHOT : CHANGE_LOG_DELTA);
		if (n == 1 || n == CHANGE_LOG_KEPT)
			expect(changes, 1, n + 1);
	}
	expect(changes, 2 * CHANGE_LOG_KEPT + 1, 3 * CHANGE_LOG_KEPT + 1);
	assert_int_equal(change_log_get(changes, 3 * CHANGE_LOG_KEPT)->checksum, 21 * CHANGE_LOG_KEPT);
	change_log_free(changes);
}

static void an_entry_says_of_which_service_and_how(void **state)
{
	struct change_log *changes = change_log_new();
	char longest[SERVICE_NAME_MAX + 1];
	uint32_t checksum = 7;

	(void)state;
	assert_non_null(changes);
	memset(longest, 'x', SERVICE_NAME_MAX);
	longest[SERVICE_NAME_MAX] = 0;
	change_log_note(changes, longest, 5, &checksum, CHANGE_LOG_SNAPSHOT);
	change_log_note(changes, "web", 6, NULL, CHANGE_LOG_DELTA);
	assert_string_equal(change_log_get(changes, 1)->service, longest);
	assert_int_equal(change_log_get(changes, 1)->how, CHANGE_LOG_SNAPSHOT);
	assert_true(change_log_get(changes, 1)->has_checksum);
	assert_int_equal(change_log_get(changes, 1)->checksum, 7);
	assert_false(change_log_get(changes, 2)->has_checksum);
	assert_int_equal(change_log_get(changes, 2)->how, CHANGE_LOG_DELTA);
	assert_true(change_log_get(changes, 2)->at_ms >= change_log_get(changes, 1)->at_ms);
	change_log_free(changes);
}

static void each_process_draws_another_boot(void **state)
{
	struct change_log *one = change_log_new(), *other = change_log_new();

	(void)state;
	assert_non_null(one);
	assert_non_null(other);
	assert_true(change_log_boot(one) != change_log_boot(other));
	change_log_free(one);
	change_log_free(other);
}

/* Reading all of a large ring for each change would cost more than the change. */
static void only_rings_up_to_a_size_get_a_checksum(void **state)
{
	struct published_place place = {
	    .tables = tables_new(1, &image_hops), .counters = counters_new(1), .changes = change_log_new()};

	(void)state;
	assert_true(place.tables && place.counters && place.changes);
	for (uint32_t times = 1; times <= 2; times++) {
		struct published_service published = {.place = &place, .name = "web"};
		struct service_config config = image_config(1, "10.99.0.1", times * CHANGE_LOG_SUMMED_BUCKETS);
		struct delta image = image_snapshot(1, 3, config.buckets, 2);
		struct delta move = image_move(&image, 4, 0, 2, 2, 1, 7);
		const struct change_log_entry *entry;
		struct reason why;

		assert_int_equal(published_load(&published, &config, &image, NULL, &why), 0);
		assert_int_equal(published_apply(&published, &move, NULL, &why), 0);
		entry = change_log_get(place.changes, change_log_next(place.changes) - 1);
		assert_int_equal(entry->generation, 4);
		assert_int_equal(entry->has_checksum, times == 1);
		assert_int_equal(entry->checksum, times == 1 ? ring_checksum(published_ring(&published)) : 0);
		/* what GET /rings shows */
		assert_int_equal(published.has_checksum, entry->has_checksum);
		assert_int_equal(published.checksum, entry->checksum);
		published_remove(&published);
		image_free(&image);
		image_free(&move);
	}
	change_log_free(place.changes);
	tables_free(place.tables);
	counters_free(place.counters);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(only_rings_up_to_a_size_get_a_checksum),
	    cmocka_unit_test(the_latest_are_kept),
	    cmocka_unit_test(an_entry_says_of_which_service_and_how),
	    cmocka_unit_test(each_process_draws_another_boot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
