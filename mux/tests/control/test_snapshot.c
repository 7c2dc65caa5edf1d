/* SPDX-License-Identifier: Apache-2.0 */
/* A ring that is written as a snapshot is what a reader of snapshots finds in it. */
#include <errno.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "ring/delta.h"
#include "ring/snapshot.h"
#include "../image.h"
#include "state_world.h"

/* What a snapshot says is what a reader of snapshots finds in it. */
static void check_snapshot(uint32_t buckets, uint16_t backends, struct chance *chance)
{
	struct delta image = image_snapshot(7, 12, buckets, backends), read;
	fl_row *rows = calloc(buckets, sizeof(*rows));
	struct bytes bytes = {NULL, 0};
	struct delta_expected expected = {.snapshot = true, .service = 7, .generation = 12, .buckets = buckets};
	struct reason why = {""};
	uint32_t last = 0;

	assert_non_null(rows);
	for (uint32_t i = 0; i < buckets; i++) {
		uint16_t current = (uint16_t)chance_below(chance, backends + 1U);
		uint16_t previous = (uint16_t)chance_below(chance, backends + 1U);
		uint32_t since = (uint32_t)chance_next(chance) >> 1;

		rows[i] = fl_row_make(current, previous, since);
		last = since > last ? since : last;
	}
	for (uint32_t i = 0; i < image.backends_count; i++)
		image.backends[i].weight = (uint16_t)chance_next(chance);
	assert_int_equal(snapshot_write(&(struct snapshot){7, 12, buckets, rows, image.backends_count, image.backends},
					bytes_append, &bytes),
			 0);
	if (delta_decode(bytes.data, bytes.len, &expected, &read, &why))
		fail_msg("%u buckets, %u backends: %s", buckets, backends, why.text);
	assert_int_equal(read.committed, last);
	assert_int_equal(read.backends_count, backends);
	for (uint32_t i = 0; i < backends; i++) {
		assert_int_equal(read.backends[i].id, image.backends[i].id);
		assert_int_equal(read.backends[i].weight, image.backends[i].weight);
		assert_true(fl_address_equal(&read.backends[i].address, &image.backends[i].address));
	}
	for (uint32_t i = 0; i < buckets; i++)
		assert_true(fl_row_make(read.current[i], read.previous[i], read.since[i]) == rows[i]);
	delta_free(&read);
	image_free(&image);
	free(bytes.data);
	free(rows);
}

static void a_snapshot_is_read_back(void **state)
{
	static const struct {
		uint32_t buckets;
		uint16_t backends;
	} sizes[] = {{FL_BUCKETS_MIN, 0}, {256, 1}, {4096, 50}, {65536, 9000}, {1 << 20, 300}};
	struct chance chance = {20261122};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		check_snapshot(sizes[i].buckets, sizes[i].backends, &chance);
}

static int refuse_third(void *context, const void *data, size_t len)
{
	int *calls = context;

	(void)data, (void)len;
	return ++*calls == 3 ? -ENOSPC : 0;
}

static void a_sink_s_error_ends_the_writing(void **state)
{
	enum { MANY = 1 << 20 };
	fl_row *rows = calloc(MANY, sizeof(*rows));
	struct chance chance = {5};
	int calls = 0;

	(void)state;
	assert_non_null(rows);
	for (uint32_t i = 0; i < MANY; i++)
		rows[i] = chance_next(&chance);
	assert_int_equal(
	    snapshot_write(&(struct snapshot){.service = 1, .generation = 1, .buckets = MANY, .rows = rows},
			   refuse_third, &calls),
	    -ENOSPC);
	assert_int_equal(calls, 3);
	free(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_snapshot_is_read_back),
	    cmocka_unit_test(a_sink_s_error_ends_the_writing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
