/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steering/othello/arrays.h against othello.json, and against a reader that looks at one bit at a time: what parses
 * gives the cells there, a patch gives those after it and leaves its base alone, all else gives the word there.
 */
#include <stdlib.h>
#include <string.h>

#include "../delta_bytes.h"
#include "../image.h"
#include "ring/delta.h"
#include "steering/othello/arrays.h"
#include "vectors.h"

static void *must(void *p)
{
	assert_non_null(p);
	return p;
}

static uint32_t u32(const json_t *row, const char *key)
{
	return (uint32_t)vectors_number(row, key);
}

static enum fl_hash_kind hash_of(const json_t *row)
{
	static const char *const words[] = {[FL_HASH_SIPHASH] = "siphash", [FL_HASH_CRC32] = "crc32"};

	return (enum fl_hash_kind)vectors_word(row, "hash", words, 3);
}

static uint64_t hex64(const json_t *row, const char *key)
{
	return strtoull(vectors_text(row, key), NULL, 16);
}

/* Arrays of the vectors as they are in memory, to be freed by othello_arrays_free(). */
static struct othello_arrays *arrays_of(const json_t *row, uint32_t buckets, uint32_t generation)
{
	struct othello_arrays *arrays = must(calloc(1, sizeof(*arrays)));
	const json_t *one;
	size_t i;

	*arrays = (struct othello_arrays){
	    .seed = hex64(row, "seed"),
	    .na = u32(row, "na"),
	    .nb = u32(row, "nb"),
	    .hash = hash_of(row),
	    .bits = fl_othello_bits(buckets),
	    .generation = generation,
	    .references = 1,
	};
	arrays->cells = must(calloc(1, othello_arrays_memory(arrays)));
	json_array_foreach(vectors_list(row, "cells"), i, one)
	    image_set_cell(arrays, (uint32_t)i, (uint32_t)json_integer_value(one));
	return arrays;
}

static void check_cells(const struct othello_arrays *arrays, const json_t *cells)
{
	const json_t *one;
	size_t i;

	assert_int_equal(arrays->na + arrays->nb, json_array_size(cells));
	json_array_foreach(cells, i, one)
	    assert_int_equal(othello_arrays_cell(arrays, (uint32_t)i), json_integer_value(one));
}

static struct othello_expected expected_of(const json_t *row, enum fl_hash_kind hash)
{
	return (struct othello_expected){u32(row, "service"), u32(row, "generation"), u32(row, "buckets"), hash};
}

static void codes(void **state)
{
	const json_t *row = *state, *one;
	struct othello_arrays *arrays = arrays_of(row, u32(row, "buckets"), 1);
	size_t i;

	json_array_foreach(vectors_list(row, "codes"), i, one)
	{
		const struct othello_places at = othello_arrays_places(arrays, hex64(one, "flowHash64"));

		assert_int_equal(othello_arrays_code(arrays, at), vectors_number(one, "code"));
	}
	othello_arrays_free(arrays);
}

static void whole(void **state)
{
	const json_t *row = *state;
	struct othello_expected expected = expected_of(row, hash_of(row));
	struct vectors_bytes bytes = vectors_bytes(row, "bytes");
	struct othello_arrays *arrays = NULL;
	struct reason why = {""};

	if (othello_arrays_parse(bytes.data, bytes.len, &expected, &arrays, &why))
		fail_msg("%s", why.text);
	assert_int_equal(arrays->seed, hex64(row, "seed"));
	assert_int_equal(arrays->na, vectors_number(row, "na"));
	assert_int_equal(arrays->nb, vectors_number(row, "nb"));
	assert_int_equal(arrays->hash, expected.hash);
	assert_int_equal(arrays->generation, expected.generation);
	assert_int_equal(1U << arrays->bits, expected.buckets);
	check_cells(arrays, vectors_list(row, "cells"));
	vectors_free(&bytes);
	othello_arrays_free(arrays);
}

static void patch(void **state)
{
	const json_t *row = *state, *before = vectors_get(row, "arrays");
	struct othello_expected expected = expected_of(row, hash_of(before));
	struct othello_arrays *base = arrays_of(before, expected.buckets, u32(row, "base")), *arrays = NULL;
	struct vectors_bytes bytes = vectors_bytes(row, "bytes");
	struct reason why = {""};

	if (othello_arrays_patch(base, bytes.data, bytes.len, &expected, &arrays, &why))
		fail_msg("%s", why.text);
	check_cells(arrays, vectors_list(row, "result"));
	check_cells(base, vectors_list(before, "cells"));
	assert_int_equal(arrays->generation, expected.generation);
	assert_int_equal(base->generation, vectors_number(row, "base"));
	assert_int_equal(arrays->seed, base->seed);
	vectors_free(&bytes);
	othello_arrays_free(arrays);
	othello_arrays_free(base);
}

static const json_t *malformed_for;

static void malformed(void **state)
{
	const json_t *row = *state;
	bool is_whole = !strcmp(vectors_text(row, "kind"), "whole");
	struct othello_expected expected = {
	    .service = u32(malformed_for, "service"),
	    .generation = u32(malformed_for, is_whole ? "wholeGeneration" : "patchGeneration"),
	    .buckets = u32(malformed_for, "buckets"),
	    .hash = hash_of(row),
	};
	struct othello_arrays *base =
	    arrays_of(vectors_get(malformed_for, "arrays"), expected.buckets, u32(malformed_for, "patchBase"));
	struct vectors_bytes bytes = vectors_bytes(row, "bytes");
	struct othello_arrays *out = base; /* not to be touched */
	struct reason why = {""};
	enum fl_delta_error error = is_whole ? othello_arrays_parse(bytes.data, bytes.len, &expected, &out, &why)
					     : othello_arrays_patch(base, bytes.data, bytes.len, &expected, &out, &why);

	assert_string_equal(delta_error_name(error), vectors_text(row, "error"));
	assert_ptr_equal(out, base);
	assert_true(strlen(why.text) > 10);
	vectors_free(&bytes);
	othello_arrays_free(base);
}

/* Every prefix of good bytes and every flipped bit of the header is refused. */
static void damage(void **state)
{
	const json_t *row = json_array_get(vectors_list(*state, "whole"), 3);
	struct othello_expected expected = expected_of(row, hash_of(row));
	struct vectors_bytes good = vectors_bytes(row, "bytes");
	struct othello_arrays *out = NULL;
	struct reason why;

	for (size_t len = 0; len < good.len; len++) {
		uint8_t *cut = must(malloc(len + !len));

		memcpy(cut, good.data, len);
		assert_int_not_equal(othello_arrays_parse(cut, len, &expected, &out, &why), FL_DELTA_OK);
		free(cut);
	}
	for (size_t bit = 0; bit < FL_DELTA_HEADER_LEN * 8; bit++) {
		good.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_not_equal(othello_arrays_parse(good.data, good.len, &expected, &out, &why), FL_DELTA_OK);
		good.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	vectors_free(&good);
}

static uint64_t seed_state;

static uint64_t draw(void)
{
	seed_state = seed_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (seed_state >> 33) * 0x9e3779b97f4a7c15ULL >> 8;
}

/* One bit at a time: the cell of this index among packed words. */
static uint16_t naive_cell(const uint64_t *words, uint64_t index, uint32_t bits)
{
	uint16_t cell = 0;

	for (uint32_t i = 0; i < bits; i++) {
		uint64_t bit = index * bits + i;

		cell |= (uint16_t)((words[bit / 64] >> bit % 64 & 1) << i);
	}
	return cell;
}

/* The words without the bits behind the last cell. */
static void fill(uint64_t *words, uint64_t count, uint64_t used)
{
	for (uint64_t i = 0; i < count; i++)
		words[i] = draw() << 32 ^ draw();
	if (used % 64)
		words[count - 1] &= (1ULL << used % 64) - 1;
}

enum { NA = 200000, NB = 150001, SERVICE = 9 };

/* The body of a patch of every word in which after differs; after's words become before's. */
static uint8_t *patch_body(uint64_t *before, const uint64_t *after, uint64_t count, size_t *len)
{
	uint8_t *body = must(malloc(4 + 12 * count)), *at = body + 4;
	uint32_t changed = 0;
	uint64_t end = 0;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t skip = i - end;

		if (before[i] == after[i])
			continue;
		for (; skip > 127; skip >>= 7)
			*at++ = (uint8_t)(skip | 128);
		*at++ = (uint8_t)skip;
		end = i + 1;
		changed++;
	}
	fl_store_le32(body, changed);
	for (uint64_t i = 0; i < count; i++) {
		if (before[i] == after[i])
			continue;
		fl_store_le64(at, after[i]);
		at += 8;
		before[i] = after[i];
	}
	*len = (size_t)(at - body);
	return body;
}

static void check_words(const struct othello_arrays *arrays, const uint64_t *words)
{
	for (uint32_t i = 0; i < NA + NB; i++)
		assert_int_equal(othello_arrays_cell(arrays, i), naive_cell(words, i, arrays->bits));
}

/* Arrays of 350,001 cells, then patches of few and of many words, whose skips take one to three bytes. */
static void random_patches(uint32_t buckets)
{
	uint64_t used = (uint64_t)(NA + NB) * fl_othello_bits(buckets), count = (used + 63) / 64;
	uint64_t *words = must(malloc(count * 8)), *after = must(malloc(count * 8));
	struct othello_expected expected = {SERVICE, 5, buckets, FL_HASH_SIPHASH};
	struct delta header = {.service = SERVICE, .generation = 5, .buckets = buckets};
	uint8_t *body = must(malloc(16 + count * 8)), *bytes;
	struct othello_arrays *arrays = NULL, *next = NULL;
	struct reason why = {""};
	size_t len;

	fill(words, count, used);
	fl_store_le64(body, 12345);
	fl_store_le32(body + 8, NA);
	fl_store_le32(body + 12, NB);
	for (uint64_t i = 0; i < count; i++)
		fl_store_le64(body + 16 + 8 * i, words[i]);
	bytes = delta_bytes_frame("FLO1", &header, body, 16 + count * 8, &len);
	if (othello_arrays_parse(bytes, len, &expected, &arrays, &why))
		fail_msg("%s", why.text);
	check_words(arrays, words);
	free(body);
	free(bytes);
	for (uint64_t every = 1; every < 2 * count; every *= 30) {
		size_t body_len;

		fill(after, count, used);
		for (uint64_t i = 0; i < count; i++)
			if (i % every != every - 1 && i != count - 1)
				after[i] = words[i];
		body = patch_body(words, after, count, &body_len);
		header.base = header.generation++;
		expected.generation = header.generation;
		bytes = delta_bytes_frame("FLP1", &header, body, body_len, &len);
		if (othello_arrays_patch(arrays, bytes, len, &expected, &next, &why))
			fail_msg("%s", why.text);
		check_words(next, words);
		othello_arrays_free(arrays);
		arrays = next;
		free(body);
		free(bytes);
	}
	othello_arrays_free(arrays);
	free(words);
	free(after);
}

static void large(void **state)
{
	(void)state;
	seed_state = 1;
	for (uint32_t buckets = 256; buckets <= 65536; buckets *= 2)
		random_patches(buckets);
}

static void references(void **state)
{
	const json_t *row = json_array_get(vectors_list(*state, "whole"), 0);
	struct othello_arrays *arrays = arrays_of(row, u32(row, "buckets"), 1);

	assert_ptr_equal(othello_arrays_keep(arrays), arrays);
	othello_arrays_free(arrays);
	check_cells(arrays, vectors_list(row, "cells"));
	othello_arrays_free(arrays);
	othello_arrays_free(NULL);
}

int main(int argc, char **argv)
{
	json_t *file = vectors_load(argc > 1 ? argv[1] : ".", "othello.json");
	struct vectors_tests tests = {NULL, 0};
	int failed;

	malformed_for = vectors_get(file, "malformedFor");
	vectors_add(&tests, file, "codes", codes);
	vectors_add(&tests, file, "whole", whole);
	vectors_add(&tests, file, "patches", patch);
	vectors_add(&tests, file, "malformed", malformed);
	vectors_add_plain(&tests, "cut anywhere, or with a flipped bit in the header: refused", damage, file);
	vectors_add_plain(&tests, "350,001 cells, whole and patched, bit by bit", large, NULL);
	vectors_add_plain(&tests, "the last reference frees the arrays", references, file);
	failed = vectors_run("othello_arrays", &tests);
	json_decref(file);
	return failed;
}
