/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arrays of steering `othello` in memory (protocol/README.md section 12; fairlead/othello.h draws them). Cells lie as
 * they are published, without gaps: a lookup of one is a load of 32 bits and a shift.
 *
 * Arrays never change. A patch makes another object from its base, so that workers read the old one meanwhile. They are
 * counted, as pairs, the thread that patches and the one that writes the state share them.
 */
#ifndef FAIRLEAD_MUX_OTHELLO_ARRAYS_H
#define FAIRLEAD_MUX_OTHELLO_ARRAYS_H

#include <fairlead/delta.h>
#include <fairlead/othello.h>

#include "config/reason.h"

struct othello_arrays {
	const uint8_t *cells; /* of A, then of B, and OTHELLO_ROOM bytes */
	uint64_t seed;
	uint32_t na, nb;
	enum fl_hash_kind hash;
	uint32_t bits; /* of a cell: there are 1 << bits buckets */
	uint32_t generation;
	uint32_t references;
};

/* What the reader expects: by the path of the bytes, and the service's configuration. */
struct othello_expected {
	uint32_t service;
	uint32_t generation;
	uint32_t buckets;
	enum fl_hash_kind hash;
};

enum { OTHELLO_ROOM = sizeof(uint32_t) };

/* Where a hash's cells are: in A, and in B behind it. */
struct othello_places {
	uint32_t a, b;
};

static inline struct othello_places othello_arrays_places(const struct othello_arrays *arrays, uint64_t hash)
{
	struct fl_othello_key key = fl_othello_key_make(arrays->hash, hash, arrays->seed);

	return (struct othello_places){fl_othello_index(key.low, arrays->na),
				       arrays->na + fl_othello_index(key.high, arrays->nb)};
}

/*
 * The bits by which a cell may lie behind the address of its load of 32 bits, a mask: with them a cell ends within its
 * load. Cells of 8 or 16 bits, of which a load has several, are loaded from an aligned word, so none crosses a cache line.
 */
static inline uint32_t othello_cell_shifts(uint32_t bits)
{
	return bits & 7 ? 15 : 31;
}

/* The cell of a place; bits above it are not its own. */
static inline uint32_t othello_arrays_load(const struct othello_arrays *arrays, uint32_t place)
{
	const uint32_t bits = arrays->bits;
	const uint64_t at = (uint64_t)place * bits, shift = at & othello_cell_shifts(bits);

	return fl_load_le32(arrays->cells + (at - shift) / 8) >> shift;
}

static inline uint32_t othello_arrays_cell(const struct othello_arrays *arrays, uint32_t place)
{
	return othello_arrays_load(arrays, place) & ((1U << arrays->bits) - 1);
}

/* The bucket of a hash. */
static inline uint32_t othello_arrays_code(const struct othello_arrays *arrays, struct othello_places at)
{
	return othello_arrays_cell(arrays, at.a) ^ othello_arrays_cell(arrays, at.b);
}

/* Whole arrays. FL_DELTA_OK: *out is the caller's, with one reference. Otherwise says why. */
enum fl_delta_error othello_arrays_parse(const uint8_t *data, size_t len, const struct othello_expected *expected,
					 struct othello_arrays **out, struct reason *why);

/* What a patch makes of base, which has expected's buckets and hash and stays as it is; as othello_arrays_parse(). */
enum fl_delta_error othello_arrays_patch(const struct othello_arrays *base, const uint8_t *data, size_t len,
					 const struct othello_expected *expected, struct othello_arrays **out,
					 struct reason *why);

/* One reference more, on any thread. Returns the arrays. */
struct othello_arrays *othello_arrays_keep(struct othello_arrays *arrays);

/* One reference less; frees the arrays with the last one. NULL is allowed. */
void othello_arrays_free(struct othello_arrays *arrays);

/* How many cells both arrays have. */
static inline uint64_t othello_arrays_count(const struct othello_arrays *arrays)
{
	return (uint64_t)arrays->na + arrays->nb;
}

/* How many words of 64 bits these take. */
static inline uint64_t othello_arrays_words(const struct othello_arrays *arrays)
{
	return fl_othello_words(othello_arrays_count(arrays), arrays->bits);
}

/* The bytes that these take in memory. */
static inline size_t othello_arrays_memory(const struct othello_arrays *arrays)
{
	return othello_arrays_words(arrays) * FL_OTHELLO_WORD_LEN + OTHELLO_ROOM;
}

/* Memory for so many bytes that are read at random; NULL: there is none. */
void *othello_cells_reserve(size_t bytes);

#endif
