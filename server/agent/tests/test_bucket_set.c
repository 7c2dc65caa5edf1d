// SPDX-License-Identifier: Apache-2.0
/* bucket_set.h against reports.json, and against an array of flags. */
#include <stdlib.h>
#include <string.h>

#include "agent/bucket_set.h"

#include "vectors.h"

static void valid(void **state)
{
	const json_t *row = *state, *run;
	fl_u32 buckets = (fl_u32)vectors_number(row, "buckets"), at = 0;
	const char *word = NULL;
	struct bucket_set *set = bucket_set_read(vectors_text(row, "text"), buckets, &word);
	char *written;
	size_t i;

	assert_null(word);
	assert_non_null(set);
	json_array_foreach(vectors_list(row, "runs"), i, run)
	{
		fl_u32 first = (fl_u32)json_integer_value(json_array_get(run, 0));
		fl_u32 count = (fl_u32)json_integer_value(json_array_get(run, 1));

		for (; at < first; at++)
			assert_false(bucket_set_has(set, at));
		for (; at < first + count; at++)
			assert_true(bucket_set_has(set, at));
	}
	for (; at < buckets; at++)
		assert_false(bucket_set_has(set, at));
	written = bucket_set_write(set);
	assert_string_equal(written, vectors_text(row, "written"));
	free(written);
	free(set);
}

static void malformed(void **state)
{
	const json_t *row = *state;
	const char *word = NULL;

	assert_null(bucket_set_read(vectors_text(row, "text"), (fl_u32)vectors_number(row, "buckets"), &word));
	assert_string_equal(word, vectors_text(row, "error"));
}

/* What is written of a random set reads as the same set, with sparse and dense sets and rings of all sizes. */
static void random_sets(void **state)
{
	unsigned seed = (unsigned)(uintptr_t)*state;

	print_message("# seed %u\n", seed);
	srand(seed);
	for (int round = 0; round < 200; round++) {
		fl_u32 buckets = FL_BUCKETS_MIN << rand() % 9, density = 1 + (fl_u32)rand() % 100, i;
		struct bucket_set *set = bucket_set_new(buckets), *again;
		bool *flags = calloc(buckets, sizeof(*flags));
		const char *word = NULL;
		char *text;

		for (i = 0; i < buckets; i++) {
			flags[i] = (fl_u32)rand() % 100 < density;
			if (flags[i])
				bucket_set_add(set, i);
		}
		text = bucket_set_write(set);
		again = bucket_set_read(text, buckets, &word);
		assert_null(word);
		for (i = 0; i < buckets; i++)
			assert_int_equal(bucket_set_has(again, i), flags[i]);
		free(again);
		free(text);
		free(flags);
		free(set);
	}
}

int main(int argc, char **argv)
{
	json_t *file = vectors_load(argc > 1 ? argv[1] : ".", "reports.json");
	struct vectors_tests tests = {NULL, 0};
	int failed;

	vectors_add(&tests, file, "sets", valid);
	vectors_add(&tests, file, "malformed", malformed);
	vectors_add_plain(&tests, "random sets", random_sets, (void *)1);
	failed = vectors_run("sets of buckets", &tests);
	json_decref(file);
	return failed;
}
