/* SPDX-License-Identifier: Apache-2.0 */
/* What results in a row say, against a count by hand; and the schedule and source ports against naive ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "judge.h"
#include "ports.h"
#include "schedule.h"

/* + success, letters failures; below each result what is known then: ? unknown, U up, D down; ! it is told. */
static void results_in_a_row(void **state)
{
	static const struct {
		uint32_t rise, fall;
		const char *results;
		const char *known;
		const char *told;
	} rows[] = {
	    {1, 1, "+t+t", "UDUD", "!!!!"},
	    {2, 3, "++ttt++", "?UUUDDU", " !  ! !"},
	    {2, 3, "ttt+t++", "??DDDDU", "  !   !"},
	    {2, 3, "++t+tt+ttt", "?UUUUUUUUD", " !       !"},
	    {2, 2, "+t+t+t", "??????", "      "},
	    {1, 2, "ttrr+", "?DDDU", " !! !"}, /* another reason is told, too */
	    {20, 20, "++++++++++++++++++++", "???????????????????U", "                   !"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char known[32] = "", told[32] = "";
		struct judge judge = {0};

		for (size_t n = 0; rows[i].results[n]; n++) {
			char c = rows[i].results[n];
			enum outcome outcome = c == '+' ? OUTCOME_OK : c == 't' ? OUTCOME_TIMEOUT : OUTCOME_REFUSED;

			told[n] = judge_take(&judge, outcome, rows[i].rise, rows[i].fall) ? '!' : ' ';
			known[n] = "?UD"[judge.health];
		}
		if (strcmp(known, rows[i].known) || strncmp(told, rows[i].told, strlen(rows[i].told)))
			fail_msg("rise %u, fall %u, '%s': '%s' '%s', expected '%s' '%s'", rows[i].rise, rows[i].fall,
				 rows[i].results, known, told, rows[i].known, rows[i].told);
	}
}

enum { ENTRIES = 300, STEPS = 20000 };

static void the_schedule_is_in_order(void **state)
{
	static struct due entries[ENTRIES];
	struct schedule schedule = {0};
	unsigned seed = 1;

	(void)state;
	for (int step = 0; step < STEPS; step++) {
		struct due *due = &entries[rand_r(&seed) % ENTRIES], *first;
		uint64_t least = UINT64_MAX;

		if (rand_r(&seed) % 3)
			assert_true(schedule_set(&schedule, due, (uint64_t)rand_r(&seed) % 1000));
		else
			schedule_unset(&schedule, due);
		for (int i = 0; i < ENTRIES; i++)
			if (entries[i].slot && entries[i].at < least)
				least = entries[i].at;
		first = schedule_first(&schedule);
		assert_true(first ? first->at == least : least == UINT64_MAX);
		for (uint32_t i = 1; i <= schedule.count; i++)
			assert_int_equal(schedule.heap[i]->slot, i);
	}
	schedule_free(&schedule);
}

/* Each port has one owner, and none before it has rested. */
static void ports_rest(void **state)
{
	enum { FIRST = 1000, COUNT = 100 };
	struct ports *ports = ports_new(FIRST, FIRST + COUNT - 1);
	uint64_t free_at[COUNT] = {0}, now = 1;
	char owners[COUNT] = {0};
	unsigned seed = 2, refused = 0, taken = 0;

	(void)state;
	assert_non_null(ports);
	for (int step = 0; step < STEPS; step++, now += (uint64_t)rand_r(&seed) % 60) {
		uint16_t port = rand_r(&seed) % 2 ? ports_take(ports, owners, now) : 0;
		uint32_t at = (uint32_t)rand_r(&seed) % COUNT;

		if (port) {
			assert_in_range(port, FIRST, FIRST + COUNT - 1);
			assert_false(owners[port - FIRST]);
			assert_true(free_at[port - FIRST] <= now);
			owners[port - FIRST] = 1;
			assert_ptr_equal(ports_owner(ports, port), owners);
			assert_ptr_equal(ports_path(ports, port), ports_path(ports, port));
			taken++;
		}
		if (owners[at]) {
			uint32_t rest = rand_r(&seed) % 2 ? PORTS_REST_MS : PORTS_REST_UDP_MS;

			ports_give(ports, (uint16_t)(FIRST + at), now, rest);
			owners[at] = 0;
			free_at[at] = now + rest;
			assert_null(ports_owner(ports, (uint16_t)(FIRST + at)));
			taken--;
		} else if (!port) {
			refused++;
		}
		assert_int_equal(ports_taken(ports), taken);
	}
	assert_null(ports_owner(ports, FIRST - 1));
	assert_null(ports_path(ports, FIRST + COUNT));
	assert_true(refused);
	ports_free(ports);
}

/* None is free while all rest; the one that has rested longest is next. */
static void ports_run_out(void **state)
{
	struct ports *ports = ports_new(1, 3);

	(void)state;
	for (uint16_t i = 1; i <= 3; i++)
		assert_int_equal(ports_take(ports, ports, 10), i);
	assert_int_equal(ports_take(ports, ports, 10), 0);
	ports_give(ports, 2, 10, PORTS_REST_UDP_MS);
	ports_give(ports, 3, 20, PORTS_REST_MS);
	assert_int_equal(ports_take(ports, ports, 20 + PORTS_REST_MS - 1), 0);
	assert_int_equal(ports_take(ports, ports, 20 + PORTS_REST_MS), 3);
	assert_int_equal(ports_take(ports, ports, 10 + PORTS_REST_UDP_MS), 2);
	ports_free(ports);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(results_in_a_row),
	    cmocka_unit_test(the_schedule_is_in_order),
	    cmocka_unit_test(ports_rest),
	    cmocka_unit_test(ports_run_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
