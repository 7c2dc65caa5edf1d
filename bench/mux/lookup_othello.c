/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Othello: the mux's own arrays and index functions, and a builder that does once what the controller does by
 * increments: seeds until the connections' graph has no cycle, a union-find forest that knows what each cell differs in
 * from its root, random roots.
 */
#include "lookup.h"

#include <stdlib.h>
#include <string.h>

#include "image.h"
#include "steering/othello/arrays.h"

enum { SETS = 2 };

struct table {
	struct othello_arrays sets[SETS]; /* newest, previous; the second is empty but in a pair */
	const fl_row *ring;
};

struct forest {
	uint32_t *parents;
	uint16_t *xors;
};

static uint32_t find(const struct forest *f, uint32_t cell, uint16_t *x)
{
	*x = 0;
	while (f->parents[cell] != cell) {
		uint32_t parent = f->parents[cell];

		f->xors[cell] ^= f->xors[parent];
		f->parents[cell] = f->parents[parent];
		*x ^= f->xors[cell];
		cell = f->parents[cell];
	}
	return cell;
}

/* Whether the connections' graph has no cycle with the seed of the arrays. */
static bool join_all(const struct forest *f, const struct lookup_keys *keys, const struct othello_arrays *arrays)
{
	uint16_t mask = (uint16_t)(keys->buckets - 1);

	for (uint32_t i = 0; i < arrays->na + arrays->nb; i++)
		f->parents[i] = i;
	memset(f->xors, 0, ((size_t)arrays->na + arrays->nb) * sizeof(*f->xors));
	for (uint32_t i = 0; i < keys->count; i++) {
		struct fl_othello_key key = fl_othello_key_make(arrays->hash, keys->hashes[i], arrays->seed);
		uint16_t xa, xb;
		uint32_t a = find(f, fl_othello_index(key.low, arrays->na), &xa);
		uint32_t b = find(f, arrays->na + fl_othello_index(key.high, arrays->nb), &xb);

		if (a == b)
			return false;
		f->parents[a] = b;
		f->xors[a] = (uint16_t)(xa ^ xb ^ (keys->coded[i] & mask));
	}
	return true;
}

static uint32_t power(uint64_t least)
{
	uint32_t p = 1;

	while (p < least)
		p *= 2;
	return p;
}

static void build_set(const struct lookup_keys *keys, enum fl_hash_kind hash, uint64_t seed,
		      struct othello_arrays *arrays)
{
	struct forest f;
	uint32_t cells;

	arrays->hash = hash;
	arrays->bits = fl_othello_bits(keys->buckets);
	arrays->na = (uint32_t)((uint64_t)keys->count * 4 / 3);
	arrays->nb = keys->count;
	if (hash == FL_HASH_CRC32) {
		arrays->na = power(arrays->na);
		arrays->nb = power(arrays->nb);
	}
	cells = arrays->na + arrays->nb;
	f.parents = lookup_memory(cells * sizeof(*f.parents));
	f.xors = lookup_memory(cells * sizeof(*f.xors));
	arrays->cells = lookup_memory(othello_arrays_memory(arrays));
	do {
		arrays->seed = lookup_draw(++seed) | 1;
	} while (!join_all(&f, keys, arrays));
	for (uint32_t i = 0; i < cells; i++) {
		uint16_t x;
		uint32_t root = find(&f, i, &x);

		image_set_cell(arrays, i, (uint32_t)(lookup_draw(seed + root) & (keys->buckets - 1)) ^ x);
	}
	free(f.parents);
	free(f.xors);
}

static struct table *build_sets(const struct lookup_keys *keys, enum fl_hash_kind hash, int sets)
{
	struct table *table = lookup_memory(sizeof(*table));

	table->ring = keys->ring;
	for (int i = 0; i < sets; i++)
		build_set(keys, hash, keys->seed + 1000 * (uint64_t)i, &table->sets[i]);
	return table;
}

static void *build(const struct lookup_keys *keys)
{
	return build_sets(keys, FL_HASH_SIPHASH, 1);
}

static void *build_pair(const struct lookup_keys *keys)
{
	return build_sets(keys, FL_HASH_SIPHASH, 2);
}

static void *build_crc32(const struct lookup_keys *keys)
{
	return build_sets(keys, FL_HASH_CRC32, 1);
}

static inline void find_cells(const struct othello_arrays *arrays, const uint64_t *hashes, struct othello_places *at)
{
	const uint64_t bits = arrays->bits;

	for (int i = 0; i < LOOKUP_BURST; i++) {
		at[i] = othello_arrays_places(arrays, hashes[i]);
		__builtin_prefetch(arrays->cells + at[i].a * bits / 8);
		__builtin_prefetch(arrays->cells + at[i].b * bits / 8);
	}
}

static void burst(const void *state, const uint64_t *hashes, uint16_t *owners)
{
	const struct table *table = state;
	struct othello_arrays arrays = table->sets[0];
	struct othello_places at[LOOKUP_BURST];

	find_cells(&arrays, hashes, at);
	for (int i = 0; i < LOOKUP_BURST; i++)
		owners[i] = fl_row_current(table->ring[othello_arrays_code(&arrays, at[i])]);
}

/* The owner of the second bucket where it differs, as a header with SECOND has it; it does not for known ones. */
static void burst_pair(const void *state, const uint64_t *hashes, uint16_t *owners)
{
	const struct table *table = state;
	struct othello_places newest[LOOKUP_BURST], previous[LOOKUP_BURST];

	find_cells(&table->sets[0], hashes, newest);
	find_cells(&table->sets[1], hashes, previous);
	for (int i = 0; i < LOOKUP_BURST; i++) {
		const uint32_t first = othello_arrays_code(&table->sets[0], newest[i]),
			       second = othello_arrays_code(&table->sets[1], previous[i]);

		owners[i] = fl_row_current(table->ring[first]);
		if (__builtin_expect(first != second, 0))
			owners[i] ^= fl_row_current(table->ring[second]);
	}
}

static void burst_single(const void *state, const uint64_t *hashes, uint16_t *owners)
{
	const struct table *table = state;

	const struct othello_arrays *arrays = &table->sets[0];

	for (int i = 0; i < LOOKUP_BURST; i++) {
		const uint32_t code = othello_arrays_code(arrays, othello_arrays_places(arrays, hashes[i]));

		owners[i] = fl_row_current(table->ring[code]);
	}
}

static size_t bytes(const void *state)
{
	const struct table *table = state;
	size_t sum = 0;

	for (int i = 0; i < SETS; i++)
		sum += table->sets[i].cells ? othello_arrays_memory(&table->sets[i]) : 0;
	return sum;
}

static void drop(void *state)
{
	struct table *table = state;

	for (int i = 0; i < SETS; i++)
		free((void *)(uintptr_t)table->sets[i].cells);
	free(table);
}

const struct lookup lookup_othello = {"othello", true, build, burst, lookup_ring_owner, bytes, drop};
const struct lookup lookup_othello_pair = {"othello, both arrays", false, build_pair, burst_pair,
					   lookup_ring_owner,      bytes, drop};
const struct lookup lookup_othello_crc32 = {"othello, crc32",  false, build_crc32, burst,
					    lookup_ring_owner, bytes, drop};
const struct lookup lookup_othello_single = {"othello, without prefetch", false, build, burst_single,
					     lookup_ring_owner,           bytes, drop};
