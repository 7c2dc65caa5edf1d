/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arrays of steering `othello` in memory (protocol/README.md section 12; fairlead/othello.h draws them). Cells take
 * 16 bits each, whatever their bits on the way here: a lookup is as fast as with packed ones, and simpler.
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
	const uint16_t *cells; /* of A, then of B */
	uint64_t seed;
	uint32_t na, nb;
	enum fl_hash_kind hash;
	uint32_t buckets; /* every cell is below it */
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

/* Where a hash's two cells are. */
struct othello_cells {
	const uint16_t *a, *b;
};

static inline struct othello_cells othello_arrays_at(const struct othello_arrays *arrays, uint64_t hash)
{
	struct fl_othello_key key = fl_othello_key_make(arrays->hash, hash, arrays->seed);

	return (struct othello_cells){
	    .a = arrays->cells + fl_othello_index(key.low, arrays->na),
	    .b = arrays->cells + arrays->na + fl_othello_index(key.high, arrays->nb),
	};
}

/* The bucket of a hash. */
static inline uint32_t othello_arrays_code(const struct othello_arrays *arrays, uint64_t hash)
{
	struct othello_cells at = othello_arrays_at(arrays, hash);

	return *at.a ^ *at.b;
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

/* Memory for cells, of a size that othello_arrays_memory() gives or a multiple of it; NULL: there is none. */
void *othello_cells_reserve(size_t bytes);

/* The bytes that arrays take in memory, of that many cells in all. */
size_t othello_arrays_memory(const struct othello_arrays *arrays);

#endif
