/* SPDX-License-Identifier: Apache-2.0 */
/* The log of what was applied: bounded, in order, numbered without end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "control/service/change_log.h"
#include "image.h"
#include "control/service/published_service.h"

static void expect(const struct change_log *changes, uint64_t first, uint64_t next)
{
	assert_int_equal(change_log_first(changes), first);
	assert_int_equal(changes->next, next);
	for (uint64_t n = first; n < next; n++)
		assert_int_equal(changes->entries[n % CHANGE_LOG_KEPT].generation, 100 + n);
}

static void expect_sum(const struct change_log *changes, uint64_t number, uint32_t generation, uint64_t sum)
{
	assert_int_equal(changes->entries[number % CHANGE_LOG_KEPT].generation, generation);
	assert_int_equal(changes->entries[number % CHANGE_LOG_KEPT].sum, sum);
}

static void the_latest_are_kept(void **state)
{
	struct change_log *changes = change_log_new();

	(void)state;
	assert_non_null(changes);
	expect(changes, 1, 1);
	for (uint32_t n = 1; n <= 3 * CHANGE_LOG_KEPT; n++) {
		change_log_note(changes, "web", 100 + n, 7 * n, n == 1 ? CHANGE_LOG_SNAPSHOT : CHANGE_LOG_DELTA);
		if (n == 1 || n == CHANGE_LOG_KEPT)
			expect(changes, 1, n + 1);
	}
	expect(changes, 2 * CHANGE_LOG_KEPT + 1, 3 * CHANGE_LOG_KEPT + 1);
	assert_int_equal(changes->entries[3 * CHANGE_LOG_KEPT % CHANGE_LOG_KEPT].sum, 21 * CHANGE_LOG_KEPT);
	free(changes);
}

static void an_entry_says_of_which_service_and_how(void **state)
{
	struct change_log *changes = change_log_new();
	char longest[SERVICE_NAME_MAX + 1];

	(void)state;
	assert_non_null(changes);
	memset(longest, 'x', SERVICE_NAME_MAX);
	longest[SERVICE_NAME_MAX] = 0;
	change_log_note(changes, longest, 5, 7ULL << 40, CHANGE_LOG_SNAPSHOT);
	change_log_note(changes, "web", 6, 0, CHANGE_LOG_DELTA);
	assert_string_equal(changes->entries[1 % CHANGE_LOG_KEPT].service, longest);
	assert_int_equal(changes->entries[1 % CHANGE_LOG_KEPT].how, CHANGE_LOG_SNAPSHOT);
	assert_int_equal(changes->entries[1 % CHANGE_LOG_KEPT].sum, 7ULL << 40);
	assert_int_equal(changes->entries[2 % CHANGE_LOG_KEPT].how, CHANGE_LOG_DELTA);
	assert_true(changes->entries[2 % CHANGE_LOG_KEPT].at_ms >= changes->entries[1 % CHANGE_LOG_KEPT].at_ms);
	free(changes);
}

static void each_process_draws_another_boot(void **state)
{
	struct change_log *one = change_log_new(), *other = change_log_new();

	(void)state;
	assert_non_null(one);
	assert_non_null(other);
	assert_true(one->boot != other->boot);
	free(one);
	free(other);
}

static void what_is_published_and_applied_is_noted_with_its_sum(void **state)
{
	struct published_place place = {
	    .tables = tables_new(1, &image_hops), .counters = counters_new(1), .changes = change_log_new()};
	struct published_service published = {.place = &place, .name = "web"};
	struct service_config config = image_config(1, "10.99.0.1", 256);
	struct delta image = image_snapshot(1, 3, config.buckets, 2);
	struct delta move = image_move(&image, 4, 0, 2, 2, 7);
	struct reason why;

	(void)state;
	assert_true(place.tables && place.counters && place.changes);
	assert_int_equal(published_load(&published, &config, &image, NULL, &why), 0);
	assert_int_equal(published_apply(&published, &move, NULL, &why), 0);
	expect_sum(place.changes, 1, 3, move.base_sum);
	expect_sum(place.changes, 2, 4, ring_sum(published_ring(&published)));
	assert_int_not_equal(move.base_sum, ring_sum(published_ring(&published)));
	published_remove(&published);
	image_free(&image);
	image_free(&move);
	free(place.changes);
	tables_free(place.tables);
	counters_free(place.counters);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_published_and_applied_is_noted_with_its_sum),
	    cmocka_unit_test(the_latest_are_kept),
	    cmocka_unit_test(an_entry_says_of_which_service_and_how),
	    cmocka_unit_test(each_process_draws_another_boot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
