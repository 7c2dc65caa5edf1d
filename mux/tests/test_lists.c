/* SPDX-License-Identifier: Apache-2.0 */
/* The table of lists of former owners, beside a model: random rows come and go, and readers' grace periods pass. */
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "ring/lists.h"
#include "image.h"

enum {
	ROWS = 300,
	STEPS = 200000,
	SMALL = 64, /* cells of a table that gets full */
	HOSTS = 6,
};

struct wanted {
	fl_row row;
	uint16_t owner;
	struct fl_list list;
};

static struct fl_address host(uint32_t number, bool ipv6)
{
	struct fl_address address = image_address(ipv6 ? "2001:db8::" : "10.0.0.0");

	address.bytes[15] = (uint8_t)number;
	return address;
}

static struct wanted random_wanted(struct chance *chance)
{
	struct wanted wanted = {.owner = (uint16_t)(1 + chance_below(chance, 100)),
				.list = {.count = (uint8_t)chance_below(chance, FL_LIST_MAX + 1),
					 .flags = chance_below(chance, 3) ? 0 : FL_LIST_IPV6}};

	for (uint32_t i = 0; i < wanted.list.count; i++)
		wanted.list.candidate[i] =
		    host(chance_below(chance, HOSTS), wanted.list.flags && chance_below(chance, 2));
	return wanted;
}

static void check_row(const struct lists *lists, const struct wanted *wanted)
{
	const uint8_t *at;

	assert_int_equal(fl_row_current(wanted->row), wanted->owner);
	if (lists_flags(wanted->row) & FL_LIST_LATE) { /* the table was full */
		assert_int_equal(wanted->row >> 16, (uint64_t)FL_LIST_LATE << 8);
		return;
	}
	assert_int_equal(lists_count(wanted->row), wanted->list.count);
	if (!wanted->list.count) {
		assert_int_equal(wanted->row, wanted->owner);
		return;
	}
	assert_int_equal(lists_flags(wanted->row), wanted->list.count << 4 | wanted->list.flags);
	at = lists_addresses(lists->cells, wanted->row);
	for (uint32_t i = 0; i < wanted->list.count; i++)
		if (wanted->list.flags)
			assert_memory_equal(at + i * 16, wanted->list.candidate[i].bytes, 16);
		else
			assert_memory_equal(at + i * 4, wanted->list.candidate[i].bytes + 12, 4);
}

/* Cells of the different lists that rows name. */
static uint32_t cells_of(const struct wanted rows[ROWS])
{
	uint32_t cells = 0;

	for (int i = 0; i < ROWS; i++) {
		bool is_first = lists_count(rows[i].row);

		for (int j = 0; j < i && is_first; j++)
			is_first = rows[j].row >> 32 != rows[i].row >> 32;
		if (is_first)
			cells += rows[i].list.flags ? (rows[i].list.count + 1) / 2 : 1;
	}
	return cells;
}

static bool are_equal(const struct wanted *a, const struct wanted *b)
{
	return a->list.count == b->list.count && a->list.flags == b->list.flags &&
	       !memcmp(a->list.candidate, b->list.candidate, a->list.count * sizeof(a->list.candidate[0]));
}

/* Returns how often the table was full. */
static uint64_t play(uint32_t cells, uint64_t seed)
{
	static struct wanted rows[ROWS];
	struct lists *lists = lists_new(cells);
	struct chance chance = {seed};
	uint64_t refused;

	assert_non_null(lists);
	memset(rows, 0, sizeof(rows));
	for (int step = 0; step < STEPS; step++) {
		struct wanted *row = &rows[chance_below(&chance, ROWS)], wanted = random_wanted(&chance);
		const fl_row before = row->row;
		int other = (int)chance_below(&chance, ROWS);

		if (rows[other].list.count) { /* a list that there is, or was */
			wanted.list = rows[other].list;
		}
		wanted.row = lists_row(lists, wanted.owner, &wanted.list);
		if (lists_count(rows[other].row) && are_equal(&wanted, &rows[other]))
			assert_int_equal(wanted.row >> 16, rows[other].row >> 16);
		*row = wanted;
		lists_drop(lists, before);
		check_row(lists, row);
		if (chance_below(&chance, 1000))
			continue;
		lists_reclaim(lists);
		assert_int_equal(lists->retired, 0);
		assert_int_equal(lists->used, cells_of(rows));
		for (int i = 0; i < ROWS; i++)
			check_row(lists, &rows[i]);
	}
	for (int i = 0; i < ROWS; i++)
		lists_drop(lists, rows[i].row);
	lists_reclaim(lists);
	assert_int_equal(lists->used, 0);
	refused = lists->refused;
	lists_free(lists);
	return refused;
}

static void rows_of_equal_lists_share_one(void **state)
{
	(void)state;
	assert_int_equal(play(LISTS_MAX, 1), 0);
}

static void a_full_table_gives_late_rows(void **state)
{
	(void)state;
	assert_true(play(SMALL, 2) > 1000);
}

/* Readers may have read the row just before. */
static void a_list_stays_until_a_grace_period_has_passed(void **state)
{
	const struct fl_list a = {.count = 1, .candidate = {host(1, false)}};
	const struct fl_list b = {.count = 1, .candidate = {host(2, false)}};
	const struct fl_list c = {.count = 1, .candidate = {host(3, false)}};
	struct lists *lists = lists_new(LISTS_MAX);
	fl_row old = lists_row(lists, 7, &a), next, again;

	(void)state;
	lists_drop(lists, old);
	assert_int_equal(lists->retired, 1);
	next = lists_row(lists, 7, &b);
	assert_int_not_equal(next >> 32, old >> 32);
	assert_memory_equal(lists_addresses(lists->cells, old), a.candidate[0].bytes + 12, 4);
	again = lists_row(lists, 8, &a); /* named again before */
	assert_int_equal(again >> 16, old >> 16);
	lists_reclaim(lists);
	assert_memory_equal(lists_addresses(lists->cells, again), a.candidate[0].bytes + 12, 4);
	lists_drop(lists, again);
	lists_reclaim(lists);
	assert_int_equal(lists->used, 1);
	next = lists_row(lists, 7, &c);
	assert_int_equal(next >> 32, old >> 32);
	lists_free(lists);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rows_of_equal_lists_share_one),
	    cmocka_unit_test(a_full_table_gives_late_rows),
	    cmocka_unit_test(a_list_stays_until_a_grace_period_has_passed),
	};

	return cmocka_run_group_tests_name("lists", tests, NULL, NULL);
}
