/* SPDX-License-Identifier: Apache-2.0 */
/*
 * othello.h against othello.json: cells of hashes, codes, and the cells of bodies, which stand in the vectors before
 * compression. Frames and the refusals are the mux's and the controller's to test.
 */
#include <stdlib.h>
#include <string.h>

#include <fairlead/delta.h>
#include <fairlead/othello.h>

#include "vectors.h"

static enum fl_hash_kind kind_of(const json_t *row)
{
	static const char *const words[] = {[FL_HASH_SIPHASH] = "siphash", [FL_HASH_CRC32] = "crc32"};

	return (enum fl_hash_kind)vectors_word(row, "hash", words, 3);
}

static fl_u64 hex64(const json_t *row, const char *key)
{
	return strtoull(vectors_text(row, key), NULL, 16);
}

static fl_u32 u32(const json_t *row, const char *key)
{
	return (fl_u32)vectors_number(row, key);
}

static void indexes(void **state)
{
	const json_t *row = *state;
	struct fl_othello_key key = fl_othello_key_make(kind_of(row), hex64(row, "flowHash64"), hex64(row, "seed"));

	assert_int_equal(fl_othello_index(key.low, u32(row, "na")), vectors_number(row, "a"));
	assert_int_equal(fl_othello_index(key.high, u32(row, "nb")), vectors_number(row, "b"));
}

static fl_u64 cell(const json_t *row, fl_u64 index)
{
	return (fl_u64)json_integer_value(json_array_get(vectors_list(row, "cells"), index));
}

static void codes(void **state)
{
	const json_t *row = *state, *one;
	fl_u32 na = u32(row, "na"), nb = u32(row, "nb");
	size_t i;

	json_array_foreach(vectors_list(row, "codes"), i, one)
	{
		struct fl_othello_key key =
		    fl_othello_key_make(kind_of(row), hex64(one, "flowHash64"), hex64(row, "seed"));
		fl_u64 code = cell(row, fl_othello_index(key.low, na)) ^ cell(row, na + fl_othello_index(key.high, nb));

		assert_int_equal(code, vectors_number(one, "code"));
	}
}

static void check_header(const json_t *row, const char *magic, fl_u32 base)
{
	struct vectors_bytes bytes = vectors_bytes(row, "bytes"), body = vectors_bytes(row, "body");
	struct fl_delta_header header = fl_delta_header_load(bytes.data);

	assert_memory_equal(bytes.data, magic, 4);
	assert_int_equal(header.service, vectors_number(row, "service"));
	assert_int_equal(header.generation, vectors_number(row, "generation"));
	assert_int_equal(header.base, base);
	assert_int_equal(header.buckets, vectors_number(row, "buckets"));
	assert_int_equal(header.body_len, body.len);
	assert_int_equal(header.checksum, fl_crc32c(fl_crc32c(0, bytes.data, FL_DELTA_CRC_AT), body.data, body.len));
	vectors_free(&bytes);
	vectors_free(&body);
}

/* One bit at a time: the cell of this index among packed words. */
static fl_u32 naive_cell(const fl_u8 *words, fl_u64 index, fl_u32 bits)
{
	fl_u32 cell = 0, i;

	for (i = 0; i < bits; i++) {
		fl_u64 bit = index * bits + i;

		cell |= (fl_u32)(words[bit / 8] >> bit % 8 & 1) << i;
	}
	return cell;
}

static void check_cells(const fl_u8 *words, const json_t *cells, fl_u32 bits)
{
	const json_t *one;
	size_t i;

	json_array_foreach(cells, i, one) assert_int_equal(naive_cell(words, i, bits), json_integer_value(one));
}

/* The words are copied to the heap without the rest of the body, so that ASan sees a read behind the last one. */
static void whole(void **state)
{
	const json_t *row = *state, *cells = vectors_list(row, "cells");
	struct vectors_bytes body = vectors_bytes(row, "body");
	fl_u32 bits = fl_othello_bits(u32(row, "buckets"));
	size_t len = body.len - FL_OTHELLO_WHOLE_LEN;
	fl_u8 *words = malloc(len);

	check_header(row, "FLO1", 0);
	assert_int_equal(fl_load_le64(body.data), hex64(row, "seed"));
	assert_int_equal(fl_load_le32(body.data + 8), vectors_number(row, "na"));
	assert_int_equal(fl_load_le32(body.data + 12), vectors_number(row, "nb"));
	assert_int_equal(fl_othello_words(json_array_size(cells), bits) * FL_OTHELLO_WORD_LEN, len);
	assert_non_null(words);
	memcpy(words, body.data + FL_OTHELLO_WHOLE_LEN, len);
	check_cells(words, cells, bits);
	free(words);
	vectors_free(&body);
}

static void patch(void **state)
{
	const json_t *row = *state, *changes = vectors_list(row, "changes"), *one;
	struct vectors_bytes body = vectors_bytes(row, "body");
	size_t n = json_array_size(changes), i;
	const fl_u8 *values = body.data + body.len - n * FL_OTHELLO_WORD_LEN;

	check_header(row, "FLP1", u32(row, "base"));
	assert_int_equal(fl_load_le32(body.data), n);
	json_array_foreach(changes, i, one)
	    assert_int_equal(fl_load_le64(values + i * FL_OTHELLO_WORD_LEN), hex64(one, "value"));
	vectors_free(&body);
}

int main(int argc, char **argv)
{
	json_t *file = vectors_load(argc > 1 ? argv[1] : ".", "othello.json");
	struct vectors_tests tests = {NULL, 0};
	int failed;

	vectors_add(&tests, file, "indexes", indexes);
	vectors_add(&tests, file, "codes", codes);
	vectors_add(&tests, file, "whole", whole);
	vectors_add(&tests, file, "patches", patch);
	failed = vectors_run("othello", &tests);
	json_decref(file);
	return failed;
}
