/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays (labels.h) that are read before a generation names them, and those that are complete when others are named.
 * sync_world.h explains the rows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sync_world.h"

static const struct sync_row finished_arrays_are_kept_for_a_newer_list[] = {
    {"loaded 3 labels 3:0=3", "| serving 3 | pair_3_low arrays loaded announced"},
    {"watch latest", "latest* list D4 | serving 3 |"},
    {"latest 4", "list D4 | serving 3 |"},
    {"list 4:3=4;3", "D4 | serving 3 |"},
    {"D4 ok", "A4 | serving 3 |"},
    {"A4 ok", "D4 | serving 3 |"},
    {"watch latest", "D4 latest* list | serving 3 |"},
    {"latest 6", "D4 list | serving 3 |"},
    {"list 6:4=4,6", "D4 | serving 3 |"},
    {"D4 ok", "number | serving 3 |"},
    {"number 6", "S6 | serving 3 |"},
    {"S6 ok", "P6 | serving 3 |"},
    {"P6 4", "| serving 6 | pair_6_4 arrays loaded"},
};

static const struct sync_row deltas_go_on_while_arrays_are_read_ahead[] = {
    {"loaded 3 labels 3:0=3", "| serving 3 | pair_3_low arrays loaded announced"},
    {"watch latest", "latest* list D4 | serving 3 |"},
    {"latest 4", "list D4 | serving 3 |"},
    {"list 3:0=3+4", "D4 A4 | serving 3 |"},
    {"D4 ok", "A4 | serving 4 |"},
    {"watch latest", "A4 latest* list D5 | serving 4 |"},
    {"latest 5", "A4 list D5 | serving 4 |"},
    {"list 3:0=3+4", "A4 D5 | serving 4 |"},
    {"D5 ok", "A4 | serving 5 |"},
    {"A4 large", "| serving 5 | +10"},
    {"watch latest", "latest* list D6 | serving 5 | +10"},
    {"latest 6", "list D6 | serving 5 | +10"},
    {"list 3:0=3+4", "D6 | serving 5 | +10"},
    {"D6 ok", "| serving 6 | +10"},
    {"work", "| serving 6 |"},
    {"watch latest", "latest* list D7 | serving 6 |"},
    {"latest 7", "list D7 | serving 6 |"},
    {"list 7:3=4,7;3", "D7 | serving 6 |"},
    {"D7 ok", "P7 | serving 6 |"},
    {"P7 4", "D7 | serving 6 |"},
    {"D7 ok", "| serving 7 | pair_7_3 arrays"},
};

static const struct sync_row the_first_are_read_ahead[] = {
    {"loaded 3 labels none", "| serving 3 | loaded announced"},
    {"watch latest", "latest* list D4 | serving 3 |"},
    {"latest 4", "list D4 | serving 3 |"},
    {"list 0=0+4", "D4 A4 | serving 3 |"},
    {"D4 ok", "A4 | serving 4 |"},
    {"A4 ok", "| serving 4 |"},
    {"watch latest", "latest* list D5 | serving 4 |"},
    {"latest 5", "list D5 | serving 4 |"},
    {"list 0=0+4", "D5 | serving 4 |"},
    {"D5 ok", "| serving 5 |"},
    {"watch latest", "latest* list D6 | serving 5 |"},
    {"latest 6", "list D6 | serving 5 |"},
    {"list 6:0=4,6", "D6 | serving 5 |"},
    {"D6 ok", "P6 | serving 5 |"},
    {"P6 4", "D6 | serving 5 |"},
    {"D6 ok", "| serving 6 | pair_6_low arrays"},
};

static const struct sync_row a_patch_is_read_ahead[] = {
    {"loaded 3 labels 3:0=3", "| serving 3 | pair_3_low arrays loaded announced"},
    {"watch latest", "latest* list D4 | serving 3 |"},
    {"latest 4", "list D4 | serving 3 |"},
    {"list 3:0=3+3,4", "D4 P4 | serving 3 |"},
    {"P4 3", "D4 | serving 3 |"},
    {"D4 ok", "| serving 4 |"},
    {"watch latest", "latest* list D5 | serving 4 |"},
    {"latest 5", "list D5 | serving 4 |"},
    {"list 5:3=3,4,5", "D5 | serving 4 |"},
    {"D5 ok", "P5 | serving 4 |"},
    {"P5 4", "D5 | serving 4 |"},
    {"D5 ok", "| serving 5 | pair_5_3 arrays"},
};

static const struct sync_row what_was_read_ahead_in_vain_refuses_nothing[] = {
    {"loaded 3 labels 3:0=3", "| serving 3 | pair_3_low arrays loaded announced"},
    {"watch latest", "latest* list D4 | serving 3 |"},
    {"latest 4", "list D4 | serving 3 |"},
    {"list 3:0=3+4", "D4 A4 | serving 3 |"},
    {"A4 damaged", "D4 | serving 3 | ahead_refused"},
    {"D4 ok", "| serving 4 |"},
    {"watch latest", "latest* list D5 | serving 4 |"},
    {"latest 5", "list D5 | serving 4 |"},
    {"list 3:0=3+4", "D5 A4 | serving 4 |"},
    {"A4 none", "D5 | serving 4 | ahead_refused"},
    {"D5 ok", "| serving 5 |"},
    {"watch latest", "latest* list D6 | serving 5 |"},
    {"latest 6", "list D6 | serving 5 |"},
    {"list 3:0=3+4", "D6 A4 | serving 5 |"},
    {"A4 lost", "D6 | serving 5 |"},
    {"D6 ok", "| serving 6 |"},
    {"watch latest", "latest* list D7 | serving 6 |"},
    {"latest 7", "list D7 | serving 6 |"},
    {"list 7:3=4,7;3", "D7 | serving 6 |"},
    {"D7 ok", "A4 | serving 6 |"},
    {"A4 ok", "P7 | serving 6 |"},
    {"P7 4", "D7 | serving 6 |"},
    {"D7 ok", "| serving 7 | pair_7_3 arrays"},
};

static const struct sync_row named_before_they_were_read_ahead[] = {
    {"loaded 3 labels 3:0=3", "| serving 3 | pair_3_low arrays loaded announced"},
    {"watch latest", "latest* list D4 | serving 3 |"},
    {"latest 4", "list D4 | serving 3 |"},
    {"list 3:0=3+4", "D4 A4 | serving 3 |"},
    {"D4 ok", "A4 | serving 4 |"},
    {"watch latest", "A4 latest* list D5 | serving 4 |"},
    {"latest 5", "A4 list D5 | serving 4 |"},
    {"list 5:3=4,5;3", "A4 D5 | serving 4 |"},
    {"D5 ok", "A4 A4 | serving 4 |"},
    {"A4 ok", "A4 | serving 4 |"},
    {"A4 ok", "P5 | serving 4 |"},
    {"P5 4", "D5 | serving 4 |"},
    {"D5 ok", "| serving 5 | pair_5_3 arrays"},
};

/* They have the same generations, so a mux that has them reads nothing. */
static const struct sync_row written_again_where_they_were_damaged[] = {
    {"loaded 3 labels 3:0=3", "| serving 3 | pair_3_low arrays loaded announced"},
    {"watch latest", "latest* list D4 | serving 3 |"},
    {"latest 4", "list D4 | serving 3 |"},
    {"list 4:3=3,4", "D4 | serving 3 |"},
    {"D4 ok", "P4 | serving 3 |"},
    {"P4 3", "D4 | serving 3 |"},
    {"D4 ok", "| serving 4 | pair_4_3 arrays"},
    {"watch latest", "latest* list D5 | serving 4 |"},
    {"latest 5", "list D5 | serving 4 |"},
    {"list 4:3=4;3", "D5 | serving 4 |"},
    {"D5 ok", "| serving 5 |"},
};

static const struct sync_row ended_while_arrays_are_read_ahead[] = {
    {"loaded 3 labels 3:0=3", "| serving 3 | pair_3_low arrays loaded announced"},
    {"watch latest", "latest* list D4 | serving 3 |"},
    {"latest 4", "list D4 | serving 3 |"},
    {"list 3:0=3+4", "D4 A4 | serving 3 |"},
    {"D4 ok", "A4 | serving 4 |"},
    {"A4 large", "| serving 4 | +10"},
    {"end", "| ended withdrawn"},
};

int main(void)
{
	const struct CMUnitTest tests[] = {
	    SYNC_CASE(finished_arrays_are_kept_for_a_newer_list),
	    SYNC_CASE(deltas_go_on_while_arrays_are_read_ahead),
	    SYNC_CASE(the_first_are_read_ahead),
	    SYNC_CASE(a_patch_is_read_ahead),
	    SYNC_CASE(what_was_read_ahead_in_vain_refuses_nothing),
	    SYNC_CASE(named_before_they_were_read_ahead),
	    SYNC_CASE(written_again_where_they_were_damaged),
	    SYNC_CASE(ended_while_arrays_are_read_ahead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
