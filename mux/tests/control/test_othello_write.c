/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that are written as whole ones are read back as they were: every number of bits, any sizes, both hashes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "../image.h"
#include "steering/othello/arrays_write.h"

enum { SERVICE = 7, GENERATION = 40, CELLS_MAX = 200000, ROUNDS = 12 };

struct bytes {
	uint8_t *data;
	size_t len, room;
	size_t fails_at; /* the sink fails then; 0: never */
};

static int append(void *context, const void *data, size_t len)
{
	struct bytes *bytes = context;

	if (bytes->fails_at && bytes->len + len >= bytes->fails_at)
		return -5;
	if (bytes->len + len > bytes->room) {
		bytes->room = 2 * (bytes->len + len);
		bytes->data = realloc(bytes->data, bytes->room);
		assert_non_null(bytes->data);
	}
	memcpy(bytes->data + bytes->len, data, len);
	bytes->len += len;
	return 0;
}

static uint64_t state;

static uint64_t next_random(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static uint32_t random_size(enum fl_hash_kind hash)
{
	return hash == FL_HASH_CRC32 ? 1U << next_random() % 17 : 1 + (uint32_t)(next_random() % (CELLS_MAX / 2));
}

static void check_round(uint32_t buckets, enum fl_hash_kind hash)
{
	struct othello_arrays arrays = {.seed = next_random() | 1,
					.na = random_size(hash),
					.nb = random_size(hash),
					.hash = hash,
					.bits = fl_othello_bits(buckets),
					.generation = GENERATION,
					.references = 1};
	const struct othello_expected expected = {SERVICE, GENERATION, buckets, hash};
	const uint32_t count = arrays.na + arrays.nb;
	uint8_t *cells = calloc(1, othello_arrays_memory(&arrays));
	struct bytes bytes = {0};
	struct othello_arrays *read;
	struct reason why = {""};

	assert_non_null(cells);
	arrays.cells = cells;
	for (uint32_t i = 0; i < count; i++)
		image_set_cell(&arrays, i, (uint32_t)(next_random() % buckets));
	assert_int_equal(othello_arrays_write(&arrays, SERVICE, append, &bytes), 0);
	if (othello_arrays_parse(bytes.data, bytes.len, &expected, &read, &why))
		fail_msg("%u buckets, %u and %u cells: %s", buckets, arrays.na, arrays.nb, why.text);
	assert_true(read->seed == arrays.seed && read->na == arrays.na && read->nb == arrays.nb);
	assert_memory_equal(read->cells, cells, othello_arrays_words(&arrays) * FL_OTHELLO_WORD_LEN);
	othello_arrays_free(read);
	free(bytes.data);
	free(cells);
}

static void what_is_written_is_read(void **unused)
{
	(void)unused;
	for (uint32_t buckets = FL_BUCKETS_MIN; buckets <= FL_OTHELLO_BUCKETS_MAX; buckets *= 2)
		for (int round = 0; round < ROUNDS; round++)
			check_round(buckets, round % 2 ? FL_HASH_CRC32 : FL_HASH_SIPHASH);
}

/* At the header, in the middle and at the end. */
static void a_sink_that_fails_ends_it(void **unused)
{
	static const size_t at[] = {1, 100, 1000, 100000};
	struct othello_arrays arrays = {NULL, 1, CELLS_MAX - 1, 1, FL_HASH_SIPHASH, 16, GENERATION, 1};
	uint8_t *cells = calloc(1, othello_arrays_memory(&arrays));

	(void)unused;
	assert_non_null(cells);
	arrays.cells = cells;
	for (uint32_t i = 0; i < CELLS_MAX; i++)
		image_set_cell(&arrays, i, (uint16_t)next_random());
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		struct bytes bytes = {.fails_at = at[i]};

		assert_int_equal(othello_arrays_write(&arrays, SERVICE, append, &bytes), -5);
		free(bytes.data);
	}
	free(cells);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_written_is_read),
	    cmocka_unit_test(a_sink_that_fails_ends_it),
	};
	const char *seed = getenv("FAIRLEAD_SEED");

	state = seed ? strtoull(seed, NULL, 10) | 1 : 20261123;
	printf("# FAIRLEAD_SEED=%llu\n", (unsigned long long)state);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
