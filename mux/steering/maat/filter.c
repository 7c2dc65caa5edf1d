/* SPDX-License-Identifier: Apache-2.0 */
#include "steering/maat/filter.h"

#include <stdlib.h>

struct maat_filter *maat_filter_new(uint32_t bytes, uint32_t hashes)
{
	struct maat_filter *filter = calloc(1, sizeof(*filter));

	if (!filter)
		return NULL;
	*filter = (struct maat_filter){.mask = bytes - 1, .hashes = hashes, .references = 1, .cells = calloc(bytes, 1)};
	if (filter->cells)
		return filter;
	free(filter);
	return NULL;
}

void maat_filter_free(struct maat_filter *filter)
{
	if (--filter->references)
		return;
	free(filter->cells);
	free(filter);
}

/* Counts one up or down, but not beyond either end. */
static void count(uint8_t *cell, int by)
{
	uint8_t before = __atomic_load_n(cell, __ATOMIC_RELAXED), after;

	do {
		uint8_t value = before & MAAT_FILTER_COUNT_MAX;

		/* it is unknown how many connections share a cell that is full */
		if (value == MAAT_FILTER_COUNT_MAX || (by < 0 && !value))
			return;
		value = (uint8_t)(value + by);
		after = value ? value | MAAT_FILTER_USED : 0;
	} while (!__atomic_compare_exchange_n(cell, &before, after, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

void maat_filter_add(struct maat_filter *filter, uint64_t hash)
{
	struct maat_filter_place place = maat_filter_place(hash);

	if (__atomic_load_n(&filter->mode, __ATOMIC_RELAXED) == MAAT_FILTER_ON)
		for (uint32_t i = 0; i < filter->hashes; i++)
			count(maat_filter_cell(filter, place, i), 1);
}

void maat_filter_remove(struct maat_filter *filter, uint64_t hash)
{
	struct maat_filter_place place = maat_filter_place(hash);

	if (__atomic_load_n(&filter->mode, __ATOMIC_RELAXED) == MAAT_FILTER_ON)
		for (uint32_t i = 0; i < filter->hashes; i++)
			count(maat_filter_cell(filter, place, i), -1);
}

bool maat_filter_draw(struct maat_filter *filter, uint64_t hash)
{
	uint64_t draw = __atomic_fetch_add(&filter->draws, 1, __ATOMIC_RELAXED);

	return maat_filter_place(hash ^ draw << 32 ^ draw).at >> 31;
}

/* Clears a cell that was not used since the last visit. A worker that changes it meanwhile wins. */
static void visit(uint8_t *cell)
{
	uint8_t before = __atomic_load_n(cell, __ATOMIC_RELAXED);
	uint8_t after = before & MAAT_FILTER_USED ? before & MAAT_FILTER_COUNT_MAX : 0;

	if (after != before)
		__atomic_compare_exchange_n(cell, &before, after, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void maat_filter_sweep(struct maat_filter *filter, uint64_t now_ms)
{
	uint64_t cells = (uint64_t)filter->mask + 1, passed = now_ms - filter->swept_ms, due;

	if (!filter->swept_ms || passed > MAAT_FILTER_ROUND_MS) {
		filter->swept_ms = now_ms;
		return;
	}
	due = passed * cells / MAAT_FILTER_ROUND_MS;
	filter->swept_ms += due * MAAT_FILTER_ROUND_MS / cells;
	for (; due; due--) {
		visit(&filter->cells[filter->swept]);
		filter->swept = (filter->swept + 1) & filter->mask;
	}
}

uint32_t maat_filter_fill(const struct maat_filter *filter)
{
	uint32_t fill = 0;

	for (uint32_t i = 0; i <= filter->mask; i++)
		fill += !!(__atomic_load_n(&filter->cells[i], __ATOMIC_RELAXED) & MAAT_FILTER_COUNT_MAX);
	return fill;
}
