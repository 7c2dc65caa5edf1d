/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bucket that moves several times within its window, over servers that each decide by verdict.h: which connections
 * are found, and which move hides one. A row is the bucket's owners in order, a connection is opened at each of them,
 * and all of them send a packet after every move.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <fairlead/verdict.h>

enum {
	SERVERS = 5, /* A .. E */
	MOVES_MAX = 4,
	BEGIN = 1700000000,
	STEP = 10, /* seconds between moves: all of them lie within one window */
};

static struct fl_address address_of(char server)
{
	return fl_address_from_ipv4((const fl_u8[]){10, 1, 0, (fl_u8)server});
}

struct servers {
	struct {
		fl_u32 generation_seen;
		struct fl_bucket_memory memory;
	} of[SERVERS];
};

/* Sends a packet of a connection that lives at home to the bucket's owner after so many moves; whether it gets home. */
static bool send(struct servers *servers, const char *owners, int moves, char home)
{
	struct fl_steer steer = {.inner_protocol = FL_GUE_PROTO_IPV4, .generation = 1 + (fl_u32)moves};
	char at = owners[moves];

	if (moves) {
		steer.flags = FL_STEER_MOVED;
		steer.since = BEGIN + STEP * (fl_u32)moves;
		steer.previous = address_of(owners[moves - 1]);
	}
	for (;;) {
		struct fl_verdict_in in = {
		    .packet = at == home ? FL_PACKET_LOCAL_SOCKET : FL_PACKET_UNKNOWN,
		    .trusted = true,
		    .chaining = true,
		    .steer = steer,
		    .generation_seen = servers->of[at - 'A'].generation_seen,
		    .memory = servers->of[at - 'A'].memory,
		    .now = BEGIN + STEP * (fl_u32)moves + 1,
		    .window = FL_WINDOW_DEFAULT,
		    .self = address_of(at),
		};
		struct fl_verdict_out out;

		fl_verdict_decide(&in, &out);
		servers->of[at - 'A'].generation_seen = out.generation_seen;
		servers->of[at - 'A'].memory = out.memory;
		if (out.verdict != FL_VERDICT_CHAIN) {
			assert_int_equal(out.verdict, FL_VERDICT_DELIVER);
			return at == home;
		}
		at = (char)out.next.bytes[15];
		steer.flags = 0;
		steer.hops++;
	}
}

/* Writes the owners whose connections are not found after the last move, each once, in order of their first turn. */
static void lost_after(const char *owners, char *lost)
{
	struct servers servers = {0};
	int moves = (int)strlen(owners) - 1;

	*lost = '\0';
	for (int now = 0; now <= moves; now++) {
		for (int home = 0; home <= now; home++) {
			bool found = send(&servers, owners, now, owners[home]);

			if (now == moves && !found && !strchr(lost, owners[home]))
				strncat(lost, &owners[home], 1);
		}
	}
}

static void rows(void **state)
{
	static const struct {
		const char *owners, *lost;
	} table[] = {
	    {"AB", ""},    {"ABA", ""},   {"ABC", ""},    {"ABAB", ""},    {"ABAC", ""},
	    {"ABCA", ""},  {"ABCD", ""},  {"ABCB", "A"}, /* back to the owner between: B and C ask each other */
	    {"ABABA", ""}, {"ABCAB", ""}, {"ABCDB", "A"}, {"ABCDC", "AB"}, {"ABCDE", "A"}, /* more than three hops */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		char lost[SERVERS + 1];

		lost_after(table[i].owners, lost);
		assert_string_equal(lost, table[i].lost);
	}
}

/* Whether a move takes the bucket back to the owner before. */
static bool returns(const char *owners)
{
	for (int i = 2; owners[i]; i++) {
		if (owners[i] == owners[i - 2])
			return true;
	}
	return false;
}

/* Tries every sequence of moves from owners; counts those of up to three moves, and those that lose a connection. */
static void try_all(char *owners, int moves, int *tried, int *losing)
{
	char lost[SERVERS + 1];

	if (moves) {
		lost_after(owners, lost);
		++*tried;
		if (*lost) {
			++*losing;
			assert_true(returns(owners));
		}
	}
	for (char next = 'A'; moves < 3 && next < 'A' + SERVERS; next++) {
		if (next != owners[moves]) {
			owners[moves + 1] = next;
			try_all(owners, moves + 1, tried, losing);
			owners[moves + 1] = '\0';
		}
	}
}

/* The controller's rule, protocol/README.md 3: no move back to the previous owner. Three moves then lose none. */
static void three_moves_without_a_return_lose_no_connection(void **state)
{
	char owners[MOVES_MAX + 1] = "A";
	int tried = 0, losing = 0;

	(void)state;
	try_all(owners, 0, &tried, &losing);
	assert_int_equal(tried, 4 + 16 + 64);
	assert_int_equal(losing, 4 * 3); /* A to any, to any third, and back */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rows),
	    cmocka_unit_test(three_moves_without_a_return_lose_no_connection),
	};

	return cmocka_run_group_tests_name("moves", tests, NULL, NULL);
}
