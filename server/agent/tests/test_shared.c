// SPDX-License-Identifier: Apache-2.0
/* shared.h against arrays of flags: hashes with equal low halves, hashes twice, all sizes. */
#include <stdlib.h>

#include "agent/shared.h"

#include "vectors.h"

enum {
	HIGHS = 4, /* high halves of each low one */
	ROUNDS = 200,
};

/* A hash by its number: few high halves, and low ones that may be 0 and are far apart. */
static fl_u64 hash_of(unsigned number)
{
	return (fl_u64)(number % HIGHS) << 32 | (fl_u32)(number / HIGHS * 0x10001U);
}

static void random_sets(void **state)
{
	unsigned seed = (unsigned)(uintptr_t)*state;

	print_message("# seed %u\n", seed);
	srand(seed);
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned numbers = 1 + (unsigned)rand() % 2000, count = (unsigned)rand() % (numbers + 1), i, kept = 0;
		bool *is_there = calloc(numbers, sizeof(*is_there)), *was_low = calloc(numbers / HIGHS + 1, 1);
		fl_u8 *bytes = malloc(8 * count + 1);
		struct shared *shared;

		for (i = 0; i < count; i++) {
			unsigned number = (unsigned)rand() % numbers;

			is_there[number] = was_low[number / HIGHS] = true;
			fl_store_le64(bytes + 8 * i, hash_of(number));
		}
		shared = shared_new(bytes, count);
		assert_non_null(shared);
		for (i = 0; i < numbers; i++) {
			assert_int_equal(shared_may_have(shared, (fl_u32)hash_of(i)), was_low[i / HIGHS]);
			if (rand() % 3)
				continue;
			assert_int_equal(shared_take(shared, hash_of(i)), is_there[i]);
			assert_false(shared_take(shared, hash_of(i)));
			is_there[i] = false;
		}
		for (i = 0; i < numbers; i++)
			kept += is_there[i];
		assert_int_equal(shared_end(shared, bytes), kept);
		for (i = 0; i < kept; i++) {
			fl_u64 hash = fl_load_le64(bytes + 8 * i);
			unsigned number = (unsigned)((fl_u32)hash / 0x10001U) * HIGHS + (unsigned)(hash >> 32);

			assert_true(number < numbers && is_there[number]);
			is_there[number] = false;
		}
		free(bytes);
		free(is_there);
		free(was_low);
	}
}

int main(void)
{
	struct vectors_tests tests = {NULL, 0};

	vectors_add_plain(&tests, "random sets", random_sets, (void *)1);
	return vectors_run("hashes that connections share", &tests);
}
