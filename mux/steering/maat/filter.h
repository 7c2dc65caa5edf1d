/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A counting Bloom filter of the connections whose second bucket a mux names first: one for each service, which all
 * workers share. A false answer costs a hop between servers and nothing else, so it is kept without locks and exactness.
 *
 *	cell 8	used 1 | count 7	count saturates; used: an answer was yes by this cell, since the sweep passed
 *
 * Each connection counts in `hashes` cells, by two numbers made of its flow hash (Kirsch, Mitzenmacher). Connections
 * whose end passes another mux would stay for ever: so a sweep visits all cells in turn, a round in
 * MAAT_FILTER_ROUND_MS, and clears those that were not used since its last visit. A connection that is silent for longer
 * is forgotten, too.
 */
#ifndef FAIRLEAD_MUX_MAAT_FILTER_H
#define FAIRLEAD_MUX_MAAT_FILTER_H

#include <stdbool.h>
#include <stdint.h>

enum maat_filter_numbers {
	MAAT_FILTER_USED = 0x80,
	MAAT_FILTER_COUNT_MAX = 0x7f,
	MAAT_FILTER_ROUND_MS = 240000,
};

/* What it does; all but MAAT_FILTER_ON are for tests. */
enum maat_filter_mode {
	MAAT_FILTER_ON,
	MAAT_FILTER_OFF,    /* notes nothing */
	MAAT_FILTER_RANDOM, /* answers at random */
};

struct maat_filter {
	uint32_t mask; /* of cells; a power of two less 1 */
	uint32_t hashes;
	uint32_t mode;       /* enum maat_filter_mode; atomic */
	uint32_t draws;      /* of random answers; atomic */
	uint32_t references; /* from here on: control thread */
	uint32_t swept;      /* the next cell */
	uint64_t swept_ms;   /* when, 0: not yet */
	uint8_t *cells;      /* atomic */
};

/* NULL: no memory. bytes: a power of two. One reference. */
struct maat_filter *maat_filter_new(uint32_t bytes, uint32_t hashes);
/* One reference less; frees it with the last one. No reader may hold it then. */
void maat_filter_free(struct maat_filter *filter);

/* Adds a connection, or removes one; what maat_filter_has() says of it decides which. Any thread. */
void maat_filter_add(struct maat_filter *filter, uint64_t hash);
void maat_filter_remove(struct maat_filter *filter, uint64_t hash);

/* The answer of MAAT_FILTER_RANDOM. */
bool maat_filter_draw(struct maat_filter *filter, uint64_t hash);

/* Visits the cells that are due. Control thread. */
void maat_filter_sweep(struct maat_filter *filter, uint64_t now_ms);

/* How many cells are in use. */
uint32_t maat_filter_fill(const struct maat_filter *filter);

/* The place of a connection's first cell, and the step to each next one. */
struct maat_filter_place {
	uint32_t at, step;
};

static inline struct maat_filter_place maat_filter_place(uint64_t hash)
{
	uint64_t mixed = hash * 0x9e3779b97f4a7c15ULL;

	mixed ^= mixed >> 32;
	return (struct maat_filter_place){(uint32_t)mixed, (uint32_t)(mixed >> 32) | 1};
}

static inline uint8_t *maat_filter_cell(const struct maat_filter *filter, struct maat_filter_place place, uint32_t i)
{
	return &filter->cells[(place.at + i * place.step) & filter->mask];
}

/* Most connections are not in it: nearly always the first cell answers. */
static inline bool maat_filter_has(struct maat_filter *filter, uint64_t hash)
{
	struct maat_filter_place place = maat_filter_place(hash);
	uint32_t mode = __atomic_load_n(&filter->mode, __ATOMIC_RELAXED);

	if (__builtin_expect(mode != MAAT_FILTER_ON, 0))
		return mode == MAAT_FILTER_RANDOM && maat_filter_draw(filter, hash);
	for (uint32_t i = 0; i < filter->hashes; i++)
		if (!(__atomic_load_n(maat_filter_cell(filter, place, i), __ATOMIC_RELAXED) & MAAT_FILTER_COUNT_MAX))
			return false;
	for (uint32_t i = 0; i < filter->hashes; i++) {
		uint8_t *cell = maat_filter_cell(filter, place, i);

		if (!(__atomic_load_n(cell, __ATOMIC_RELAXED) & MAAT_FILTER_USED))
			__atomic_fetch_or(cell, MAAT_FILTER_USED, __ATOMIC_RELAXED);
	}
	return true;
}

#endif
