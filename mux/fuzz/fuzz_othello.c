/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as whole arrays, or as a patch of small ones. The first byte selects which, the hash, and whether the rest
 * is the whole (raw) or a body that is compressed and given a valid header and checksum here, since chance finds
 * neither. Cells that are accepted are codes of buckets, and they are the bits of the body; a patch leaves its base
 * alone. What is refused has a reason and leaves the output alone.
 */
#include <stdlib.h>
#include <string.h>

#include "../tests/delta_bytes.h"
#include "steering/othello/arrays.h"

enum { PATCH = 1, RAW = 2, CRC32 = 4, BITS_SHIFT = 3, SERVICE = 7, GENERATION = 9, BASE = 5, CELLS = 21 };

static void require(bool property)
{
	if (!property)
		__builtin_trap();
}

/* One bit at a time: the cell of this index among packed words. */
static uint32_t naive_cell(const uint8_t *words, uint64_t index, uint32_t bits)
{
	uint32_t cell = 0;

	for (uint32_t i = 0; i < bits; i++) {
		uint64_t bit = index * bits + i;

		cell |= (uint32_t)(words[bit / 8] >> bit % 8 & 1) << i;
	}
	return cell;
}

static void check(const struct othello_arrays *arrays, const uint8_t *words)
{
	uint32_t bits = arrays->bits;

	for (uint32_t i = 0; i < othello_arrays_count(arrays); i++)
		require(!words || othello_arrays_cell(arrays, i) == naive_cell(words, i, bits));
	for (uint64_t hash = 1; hash; hash *= 3 << 6) {
		struct othello_places at = othello_arrays_places(arrays, hash * 0x9e3779b97f4a7c15);

		require(at.a < arrays->na && at.b < othello_arrays_count(arrays));
		require(othello_arrays_code(arrays, at) >> arrays->bits == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t ones[CELLS * sizeof(uint16_t) + FL_OTHELLO_WORD_LEN + OTHELLO_ROOM];
	struct othello_arrays base = {ones, 1, 16, CELLS - 16, FL_HASH_SIPHASH, 0, BASE, 1}, *out = &base;
	struct othello_expected expected = {.service = SERVICE, .generation = GENERATION};
	struct delta header = {.service = SERVICE, .generation = GENERATION};
	struct reason why = {""};
	enum fl_delta_error error;
	uint8_t *whole;
	bool is_patch, is_raw;
	size_t len;

	if (!size)
		return 0;
	memset(ones, 0xff, sizeof(ones));
	is_patch = data[0] & PATCH;
	is_raw = data[0] & RAW;
	expected.hash = data[0] & CRC32 ? FL_HASH_CRC32 : FL_HASH_SIPHASH;
	expected.buckets = 256U << (data[0] >> BITS_SHIFT) % 9;
	header.buckets = expected.buckets;
	base.bits = fl_othello_bits(expected.buckets);
	header.base = is_patch ? BASE : 0;
	whole =
	    is_raw ? malloc(size) : delta_bytes_frame(is_patch ? "FLP1" : "FLO1", &header, data + 1, size - 1, &len);
	require(whole != NULL);
	if (is_raw) {
		len = size - 1;
		memcpy(whole, data + 1, len);
	}
	error = is_patch ? othello_arrays_patch(&base, whole, len, &expected, &out, &why)
			 : othello_arrays_parse(whole, len, &expected, &out, &why);
	free(whole);
	for (size_t i = 0; i < sizeof(ones); i++)
		require(ones[i] == 0xff);
	if (error) {
		require(error < FL_DELTA_ERRORS && why.text[0] && out == &base);
		return 0;
	}
	require(out != &base && out->generation == GENERATION && out->references == 1);
	check(out, is_patch || is_raw ? NULL : data + 1 + FL_OTHELLO_WHOLE_LEN);
	othello_arrays_free(out);
	return 0;
}
