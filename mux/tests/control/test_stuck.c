/* SPDX-License-Identifier: Apache-2.0 */
/* When a queue is stuck: rows of what it refuses and accepts over time. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>

#include "threads/stuck.h"

enum { LOOK_MS = 50, START_MS = 700000 };

/* Looks, one LOOK_MS after the other, in each of which so many packets were refused and accepted since the last. */
struct phase {
	unsigned looks, refused, accepted;
};

static void rows(void **state)
{
	static const struct {
		const char *name;
		struct phase phases[4];
		bool is_stuck;
	} rows[] = {
	    {"idle", {{100, 0, 0}}, false},
	    {"healthy", {{100, 0, 32}}, false},
	    {"overloaded", {{100, 20, 12}}, false},
	    {"refuses for a moment", {{20, 0, 32}, {8, 32, 0}}, false},
	    {"refuses all", {{20, 0, 32}, {9, 32, 0}}, true},
	    {"refuses all from the start", {{9, 32, 0}}, true},
	    {"refuses the few that come", {{20, 0, 32}, {3, 1, 0}, {5, 0, 0}, {1, 1, 0}}, true},
	    {"one is refused, the next one much later", {{20, 0, 32}, {1, 1, 0}, {30, 0, 0}, {1, 1, 0}}, false},
	    {"accepts one now and then", {{7, 32, 0}, {1, 31, 1}, {7, 32, 0}}, false},
	    {"accepts in between, and refuses none then", {{7, 32, 0}, {1, 0, 32}, {7, 32, 0}}, false},
	    {"nothing is sent to it any more", {{20, 32, 0}, {19, 0, 0}}, true},
	    {"nothing was sent to it for long", {{20, 32, 0}, {20, 0, 0}}, false},
	    {"goes on", {{20, 32, 0}, {1, 1, 31}}, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t now = START_MS, refused = 0, accepted = 0;
		struct stuck stuck = {0};
		bool is_stuck = false;

		for (int p = 0; p < 4; p++)
			for (unsigned n = 0; n < rows[i].phases[p].looks; n++) {
				now += LOOK_MS;
				refused += rows[i].phases[p].refused;
				accepted += rows[i].phases[p].accepted;
				is_stuck =
				    stuck_judge(&stuck, refused, stuck_asks(&stuck, refused) ? accepted : 0, now);
			}
		if (is_stuck != rows[i].is_stuck)
			fail_msg("%s: %s", rows[i].name, is_stuck ? "stuck" : "not stuck");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(rows)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
