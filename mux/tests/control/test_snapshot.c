/* SPDX-License-Identifier: Apache-2.0 */
/* A ring that is written as a snapshot is what a reader of snapshots finds in it. */
#include <errno.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "ring/delta_decode.h"
#include "ring/snapshot.h"
#include "../image.h"
#include "state_world.h"

/* A bucket's own, of up to the most owners that there may be. */
static void draw_bucket(struct delta *image, uint32_t bucket, struct chance *chance)
{
	uint16_t backends = (uint16_t)image->backends_count;
	uint16_t first = (uint16_t)chance_below(chance, backends + 1U);
	uint32_t most = backends < HISTORY_MAX ? backends : HISTORY_MAX, number;
	struct history history = {.count = 0};

	image_own(image, bucket, first);
	for (uint32_t i = chance_below(chance, most + 1); i; i--) {
		uint16_t owner = (uint16_t)(1 + (first + i) % backends);

		if (owner != first)
			history_append(&history, owner, (uint32_t)chance_next(chance) % 5);
	}
	assert_int_equal(histories_add(&image->image.histories, &history, &number), 0);
	image_put(&image->image, bucket, first, number);
}

/* What a snapshot says is what a reader of snapshots finds in it. */
static void check_snapshot(uint32_t buckets, uint16_t backends, struct chance *chance)
{
	struct delta image = image_snapshot(7, 12, buckets, backends), read;
	struct bytes bytes = {NULL, 0};
	struct delta_expected expected = {.snapshot = true, .service = 7, .generation = 12, .buckets = buckets};
	struct reason why = {""};

	for (uint32_t i = 0; backends && i < buckets; i++)
		draw_bucket(&image, i, chance);
	for (uint32_t i = 0; i < image.backends_count; i++)
		image.backends[i].weight = (uint16_t)chance_next(chance);
	image.image.committed = 1700000000;
	assert_int_equal(snapshot_write(&image, bytes_append, &bytes), 0);
	if (delta_decode(bytes.data, bytes.len, &expected, &read, &why))
		fail_msg("%u buckets, %u backends: %s", buckets, backends, why.text);
	assert_int_equal(read.image.committed, 1700000000);
	assert_int_equal(read.image.sum, image.image.sum);
	assert_int_equal(read.backends_count, backends);
	for (uint32_t i = 0; i < backends; i++) {
		assert_int_equal(read.backends[i].id, image.backends[i].id);
		assert_int_equal(read.backends[i].weight, image.backends[i].weight);
		assert_true(fl_address_equal(&read.backends[i].address, &image.backends[i].address));
	}
	assert_memory_equal(read.image.current, image.image.current, buckets * sizeof(*read.image.current));
	for (uint32_t i = 0; i < buckets; i++)
		assert_memory_equal(histories_get(&read.image.histories, read.image.history[i]),
				    histories_get(&image.image.histories, image.image.history[i]),
				    sizeof(struct history));
	delta_free(&read);
	image_free(&image);
	free(bytes.data);
}

static void removed_backends_are_listed_as_long_as_a_history_names_them(void **state)
{
	struct delta image = image_snapshot(7, 12, 256, 4), read;
	struct delta_expected expected = {.snapshot = true, .service = 7, .generation = 12, .buckets = 256};
	struct bytes bytes = {NULL, 0};
	struct reason why = {""};

	(void)state;
	for (uint32_t i = 0; i < 256; i++)
		image_own(&image, i, 1);
	image_was(&image, 9, 3, 5);
	image_was(&image, 10, 4, 5);
	image_was(&image, 10, 0, 0); /* no longer */
	image.backends[2].flags = image.backends[3].flags = FL_BACKEND_REMOVED;
	image.backends[1].flags = FL_BACKEND_REMOVED | FL_BACKEND_DEAD;
	assert_int_equal(snapshot_write(&image, bytes_append, &bytes), 0);
	if (delta_decode(bytes.data, bytes.len, &expected, &read, &why))
		fail_msg("%s", why.text);
	assert_int_equal(read.backends_count, 2);
	assert_int_equal(read.backends[1].id, 3);
	assert_int_equal(read.image.histories.count, 1);
	delta_free(&read);
	image_free(&image);
	free(bytes.data);
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
	struct delta image = image_snapshot(1, 1, 1 << 20, 300);
	struct chance chance = {5};
	int calls = 0;

	(void)state;
	for (uint32_t i = 0; i < image.buckets; i++)
		draw_bucket(&image, i, &chance);
	assert_int_equal(snapshot_write(&image, refuse_third, &calls), -ENOSPC);
	assert_int_equal(calls, 3);
	image_free(&image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_snapshot_is_read_back),
	    cmocka_unit_test(removed_backends_are_listed_as_long_as_a_history_names_them),
	    cmocka_unit_test(a_sink_s_error_ends_the_writing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
