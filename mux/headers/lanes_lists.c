/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lists that lanes' headers name: of a row (ring/lists.h), of the second bucket's owner alone, which its line has, or
 * merged of both buckets.
 */
#include "headers/lanes_headers.h"
#include "headers/lanes_lines.h"
#include "ring/lists.h"
#include "service/lookup.h"

enum {
	LIST_BYTES = 7 * LISTS_IPV4_LEN, /* of a row shifted by 14: those of its list */
	AT_OWN_CELL = AT_OWN + LISTS_IPV4_LEN - (int)sizeof(struct list_cell), /* whose end is a list of it alone */
};

_Static_assert((int)LIST_BYTES >= (int)FL_LIST_SHORT_BYTES, "a row's count has bits enough");

void lanes_fetch_lists(const struct burst *burst, const struct lanes *lanes)
{
	const struct lists *lists = burst->lookup->lists;

	if (likely(__atomic_load_n(&lists->used, __ATOMIC_RELAXED) <= LISTS_FEW))
		return;
	for (uint32_t i = 0; i < LANES; i++) {
		rte_prefetch0(lists_get(lists->cells, lanes->rows[i])); /* of a row without a list: the first cell */
		if (lanes->merged)
			rte_prefetch0(lists_get(lists->cells, lanes->second_rows[i]));
	}
}

static inline uint64_t load64(uint64_t at)
{
	uint64_t word;

	memcpy(&word, (const void *)(uintptr_t)at, sizeof(word));
	return word;
}

/* The last two addresses of each row's list; `none` in place of those that it has not. */
VEC_INLINE void load_former(const struct list_cell *cells, const fl_row rows[LANES], vec none,
			    vec out[LANES_MERGED_MAX])
{
	const vec count = vec_and(vec_right(vec_load(rows), 16), vec_all(0xff));
	vec last;

#define LAST(i) load64((uint64_t)(uintptr_t)(lists_get(cells, rows[i]) + 1) - sizeof(uint64_t))
	last = VEC_OF(LAST);
#undef LAST
	out[0] = vec_select(vec_less(vec_all(1), count), vec_and(last, vec_all(UINT32_MAX)), none);
	out[1] = vec_select(vec_less(vec_all(0), count), vec_right(last, 32), none);
}

/*
 * The lists of lanes one of whose two buckets has former owners: the second bucket's owner, then the first one's former
 * owners, then the second one's, each server once. There is room for all. Returns what `named` says of them.
 */
VEC_INLINE vec merge_lists(const struct list_cell *cells, struct lanes *lanes)
{
	enum { NAMED = 1 + 2 * LANES_MERGED_MAX };
	uint64_t at[NAMED][LANES] __attribute__((aligned(64))), words[NAMED][LANES] __attribute__((aligned(64)));
	vec named[NAMED], first, count = vec_all(0), late;

	first = load_line_addresses(lanes->line);
	named[0] = load_line_addresses(lanes->second_line);
	load_former(cells, lanes->rows, first, named + 1);
	load_former(cells, lanes->second_rows, first, named + 1 + LANES_MERGED_MAX);
#pragma GCC unroll 5
	for (int n = 0; n < NAMED; n++) {
		uint8_t is_new = vec_unequal(named[n], first);

#pragma GCC unroll 5
		for (int before = 0; before < n; before++)
			is_new &= vec_unequal(named[before], named[n]);
		vec_store(at[n], count);
		vec_store(words[n], named[n]);
		count = vec_add(count, vec_some(vec_mask_of(is_new), vec_all(1)));
	}
	for (uint32_t i = 0; i < LANES; i++)
		for (int n = 0; n < NAMED; n++)
			lanes->own_lists[i][LANES_LIST_WORDS / 2 + at[n][i]] = (uint32_t)words[n][i];
	late = vec_or(vec_load(lanes->rows), vec_load(lanes->second_rows));
	late = vec_and(late, vec_all((uint64_t)FL_LIST_LATE << 24));
	return vec_or3(vec_left(count, 16), vec_left(count, 28), late);
}

/*
 * Lengths are known long before they are needed: an address to store to that waits for the header's other parts holds up
 * what follows (0.6 ns a packet).
 */
void lanes_measure(const struct burst *burst, struct lanes *lanes)
{
	const struct list_cell *cells = burst->lookup->lists->cells;
	const vec_mask second = vec_mask_of(lanes->with_second & (uint8_t)~lanes->merged);
	const vec rows = vec_some(vec_mask_of(lanes->listed), vec_load(lanes->rows));
	vec named, cell, more;

	named = vec_select(second, vec_all(NAMED_ONE), rows);
	cell = vec_add(vec_left(vec_right(rows, 32), 3), vec_all((uint64_t)(uintptr_t)cells));
	cell = vec_select(second, vec_add(vec_load(lanes->second_line), vec_all(AT_OWN_CELL)), cell);
	if (unlikely(lanes->merged)) {
		const vec_mask merged = vec_mask_of(lanes->merged);
#define LIST(i) (uint64_t)(uintptr_t) lanes->own_lists[i]
		const vec lists = VEC_OF(LIST), both = merge_lists(cells, lanes);
#undef LIST

		named = vec_select(merged, both, named);
		cell = vec_select(merged, vec_add(lists, vec_and(vec_right(both, 14), vec_all(LIST_BYTES))), cell);
	}
	vec_store(lanes->named, named);
	vec_store(lanes->cell, cell);
	more = vec_add(vec_all(PLAIN_MORE), vec_and(vec_right(named, 14), vec_all(LIST_BYTES)));
	vec_store(lanes->more, more);
	vec_store(lanes->frames, frames_of(lanes, more));
}
