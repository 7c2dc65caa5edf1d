/* SPDX-License-Identifier: Apache-2.0 */
/* Servers are told of each generation before the mux applies it, and asked whether they know it. sync_world.h explains the rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sync_world.h"

static const struct sync_row each_generation_waits_for_acknowledgements[] = {
    {"told", "| loading 0 |"},
    {"loaded 3", "| loading 0 | told:3"},
    {"answer 3 but", "| loading 0 | told:3"},
    {"answer 3", "| serving 3 | told:3 loaded announced"},
    {"watch latest", "latest* D4 | serving 3 | told:3"},
    {"latest 4", "D4 | serving 3 | told:3"},
    {"D4 ok", "| serving 3 | told:4"},
    {"answer 3", "| serving 3 | told:4"},
    {"answer 4", "| serving 4 | told:4"},
    {"watch latest", "latest* D5 | serving 4 | told:4"},
    {"latest 6", "D5 | serving 4 | told:4"},
    {"D5 ok", "| serving 4 | told:5"},
    {"answer 5", "D6 | serving 5 | told:5"},
    {"D6 ok", "| serving 5 | told:6"},
    {"answer 9", "| serving 6 | told:6"},
};

static const struct sync_row or_for_300_ms_if_one_does_not_answer[] = {
    {"told", "| loading 0 |"},
    {"loaded 3", "| loading 0 | told:3"},
    {"answer 3 but", "| loading 0 | told:3"},
    {"pass 299", "| loading 0 | told:3"},
    {"pass 1", "| serving 3 | told:3 loaded announced"},
    {"watch latest", "latest* D4 | serving 3 | told:3"},
    {"latest 4", "D4 | serving 3 | told:3"},
    {"D4 ok", "| serving 3 | told:4"}, /* the silent one is not waited for, the others are */
    {"answer 4 but", "| serving 4 | told:4"},
};

static const struct sync_row what_is_damaged_is_not_told[] = {
    {"told", "| loading 0 |"},
    {"loaded 3", "| loading 0 | told:3"},
    {"answer 3", "| serving 3 | told:3 loaded announced"},
    {"watch latest", "latest* D4 | serving 3 | told:3"},
    {"latest 4", "D4 | serving 3 | told:3"},
    {"D4 damaged", "number | stale 3 | compression:1 told:3 refused"},
    {"number 4", "S4 | stale 3 | compression:1 told:3"},
    {"S4 ok", "| stale 3 | compression:1 told:4"},
    {"answer 4", "| serving 4 | compression:1 told:4 loaded accepted"},
};

static const struct sync_row numbers_that_move_while_servers_are_told[] = {
    {"told", "| loading 0 |"},
    {"loaded 3", "| loading 0 | told:3"},
    {"watch latest", "latest* | loading 0 | told:3"},
    {"latest 4", "| loading 0 | told:3"},
    {"answer 3", "D4 | loading 0 | told:3"},
    {"D4 ok", "| loading 0 | told:4"},
    {"answer 4", "| serving 4 | told:4 loaded announced"},
    {"watch latest", "latest* D5 | serving 4 | told:4"},
    {"latest 5", "D5 | serving 4 | told:4"},
    {"D5 ok", "| serving 4 | told:5"},
    {"watch latest", "latest* | serving 4 | told:5"},
    {"latest 6", "| serving 4 | told:5"},
    {"answer 5", "D6 | serving 5 | told:5"},
};

static const struct sync_row a_service_that_is_deleted_meanwhile[] = {
    {"told", "| loading 0 |"},
    {"loaded 3", "| loading 0 | told:3"},
    {"answer 3", "| serving 3 | told:3 loaded announced"},
    {"watch latest", "latest* D4 | serving 3 | told:3"},
    {"latest 4", "D4 | serving 3 | told:3"},
    {"D4 ok", "| serving 3 | told:4"},
    {"watch config", "config* | serving 3 | told:4"},
    {"config none", "| serving 3 | listed:1 told:4"},
    {"confirm", "exists config* | serving 3 | listed:1 told:4"},
    {"exists none", "| loading 0 deleted | listed:1 deleted withdrawn"},
    {"answer 4", "| loading 0 deleted | listed:1"},
    {"pass 20000", "| loading 0 deleted | listed:1"},
};

static const struct sync_row a_service_that_cannot_be_served[] = {
    {"told", "| loading 0 |"},
    {"rival 1", "| loading 0 |"},
    {"loaded 3", "| loading 0 | told:3"},
    {"answer 3", "| loading 0 | +250 config:1 refused"},
    {"rival goes", "| loading 0 | +250 config:1"},
    {"retry 3", "number | loading 0 | config:1"},
    {"number 3", "S3 | loading 0 | config:1"},
    {"S3 ok", "| loading 0 | config:1 told:3"},
    {"answer 3", "| serving 3 | config:1 told:3 loaded announced accepted"},
};

static const struct sync_row a_service_that_ends_meanwhile[] = {
    {"told", "| loading 0 |"},
    {"loaded 3", "| loading 0 | told:3"},
    {"end", "| ended"},
};

static const struct sync_row a_ring_that_ends_meanwhile[] = {
    {"told", "| loading 0 |"},
    {"loaded 3", "| loading 0 | told:3"},
    {"answer 3", "| serving 3 | told:3 loaded announced"},
    {"watch latest", "latest* D4 | serving 3 | told:3"},
    {"latest 4", "D4 | serving 3 | told:3"},
    {"D4 ok", "| serving 3 | told:4"},
    {"end", "| ended withdrawn"},
};

int main(void)
{
	const struct CMUnitTest tests[] = {
	    SYNC_CASE(each_generation_waits_for_acknowledgements),
	    SYNC_CASE(or_for_300_ms_if_one_does_not_answer),
	    SYNC_CASE(what_is_damaged_is_not_told),
	    SYNC_CASE(numbers_that_move_while_servers_are_told),
	    SYNC_CASE(a_service_that_is_deleted_meanwhile),
	    SYNC_CASE(a_service_that_cannot_be_served),
	    SYNC_CASE(a_service_that_ends_meanwhile),
	    SYNC_CASE(a_ring_that_ends_meanwhile),
	};

	return cmocka_run_group_tests_name("service told", tests, NULL, NULL);
}
