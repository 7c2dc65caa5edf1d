/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A steering method with arrays (labels.h): a generation with new ones is published with them or not at all.
 * sync_world.h explains the rows; the method logs pair_7_5 when 7's and 5's are published.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sync_world.h"

static const struct sync_row arrays_come_with_their_generation[] = {
    {"asked 3 labels", "number | loading 0 |"},
    {"number 3", "S3 | loading 0 |"},
    {"S3 ok", "| serving 3 | loaded announced"},
    {"watch latest", "latest* list D4 | serving 3 |"},
    {"latest 4", "list D4 | serving 3 |"},
    {"list 4:0=4", "D4 | serving 3 |"},
    {"D4 ok", "A4 | serving 3 |"},
    {"A4 ok", "D4 | serving 3 |"},
    {"D4 ok", "| serving 4 | pair_4_low arrays"},
    {"watch latest", "latest* list D5 | serving 4 |"},
    {"latest 5", "list D5 | serving 4 |"},
    {"list 4:0=4", "D5 | serving 4 |"},
    {"D5 ok", "| serving 5 |"},
    {"watch latest", "latest* list D6 | serving 5 |"},
    {"latest 6", "list D6 | serving 5 |"},
    {"D6 ok", "list | serving 5 |"},
    {"list 6:4=4,6", "P6 | serving 5 |"},
    {"P6 4", "D6 | serving 5 |"},
    {"D6 ok", "| serving 6 | pair_6_4 arrays"},
};

static const struct sync_row a_patch_changes_the_arrays_before[] = {
    {"loaded 3 labels 3:0=3", "| serving 3 | pair_3_low arrays loaded announced"},
    {"watch latest", "latest* list D4 | serving 3 |"},
    {"latest 4", "list D4 | serving 3 |"},
    {"list 4:3=3,4", "D4 | serving 3 |"},
    {"D4 ok", "P4 | serving 3 |"},
    {"P4 3", "D4 | serving 3 |"},
    {"D4 ok", "| serving 4 | pair_4_3 arrays"},
    {"watch latest", "latest* list D5 | serving 4 |"},
    {"latest 5", "list D5 | serving 4 |"},
    {"list 5:4=3,4,5", "D5 | serving 4 |"},
    {"D5 ok", "P5 | serving 4 |"},
    {"P5 4", "D5 | serving 4 |"},
    {"D5 ok", "| serving 5 | pair_5_4 arrays"},
};

static const struct sync_row whole_arrays_replace_those_before[] = {
    {"loaded 3 labels 3:0=3", "| serving 3 | pair_3_low arrays loaded announced"},
    {"watch latest", "latest* list D4 | serving 3 |"},
    {"latest 4", "list D4 | serving 3 |"},
    {"list 4:3=4;3", "D4 | serving 3 |"},
    {"D4 ok", "A4 | serving 3 |"},
    {"A4 ok", "D4 | serving 3 |"},
    {"D4 ok", "| serving 4 | pair_4_3 arrays"},
};

static const struct sync_row a_settled_generation_drops_the_arrays_before[] = {
    {"loaded 3 labels 3:0=3", "| serving 3 | pair_3_low arrays loaded announced"},
    {"watch latest", "latest* list D4 | serving 3 |"},
    {"latest 4", "list D4 | serving 3 |"},
    {"list 4:3=3,4", "D4 | serving 3 |"},
    {"D4 ok", "P4 | serving 3 |"},
    {"P4 3", "D4 | serving 3 |"},
    {"D4 ok", "| serving 4 | pair_4_3 arrays"},
    {"watch latest", "latest* list D5 | serving 4 |"},
    {"latest 5", "list D5 | serving 4 |"},
    {"list 4=3,4", "D5 | serving 4 |"},
    {"D5 ok", "| serving 5 | pair_4 arrays"},
    {"watch latest", "latest* list D6 | serving 5 |"},
    {"latest 6", "list D6 | serving 5 |"},
    {"list 6:4=3,4,6", "D6 | serving 5 |"},
    {"D6 ok", "P6 | serving 5 |"},
    {"P6 4", "D6 | serving 5 |"},
    {"D6 ok", "| serving 6 | pair_6_4 arrays"},
};

static const struct sync_row deltas_before_the_arrays_are_applied_first[] = {
    {"loaded 3 labels 3:0=3", "| serving 3 | pair_3_low arrays loaded announced"},
    {"watch latest", "latest* list D4 | serving 3 |"},
    {"latest 6", "list D4 | serving 3 |"},
    {"list 6:3=3,6", "D4 | serving 3 |"},
    {"D4 ok", "D5 | serving 4 |"},
    {"D5 ok", "P6 | serving 5 |"},
    {"P6 3", "D6 | serving 5 |"},
    {"D6 ok", "| serving 6 | pair_6_3 arrays"},
};

static const struct sync_row arrays_in_between_are_skipped[] = {
    {"loaded 3 labels 3:0=3", "| serving 3 | pair_3_low arrays loaded announced"},
    {"watch latest", "latest* list D4 | serving 3 |"},
    {"latest 6", "list D4 | serving 3 |"},
    {"list 6:5=3,5,6", "D4 | serving 3 |"},
    {"D4 ok", "number | serving 3 |"},
    {"number 3", "S3 | serving 3 |"},
    {"S3 ok", "D4 | serving 3 |"},
    {"D4 ok", "D5 | serving 3 |"},
    {"D5 ok", "D6 | serving 3 |"},
    {"D6 ok", "P5 | serving 3 |"},
    {"P5 3", "P6 | serving 3 |"},
    {"P6 5", "| serving 6 | pair_6_5 arrays loaded"},
};

static const struct sync_row whole_arrays_in_between_are_skipped_too[] = {
    {"loaded 3 labels 3:0=3", "| serving 3 | pair_3_low arrays loaded announced"},
    {"watch latest", "latest* list D4 | serving 3 |"},
    {"latest 9", "list D4 | serving 3 |"},
    {"list 9:7=8,9;5,7", "D4 | serving 3 |"},
    {"D4 ok", "number | serving 3 |"},
    {"number 9", "S9 | serving 3 |"},
    {"S9 ok", "A5 | serving 3 |"},
    {"A5 ok", "P7 | serving 3 |"},
    {"P7 5", "A8 | serving 3 |"},
    {"A8 ok", "P9 | serving 3 |"},
    {"P9 8", "| serving 9 | pair_9_7 arrays loaded"},
};

static const struct sync_row a_chain_of_patches_is_read_from_its_beginning[] = {
    {"asked 6 labels 5:4=3,4,5", "number | loading 0 |"},
    {"number 3", "S3 | loading 0 |"},
    {"S3 ok", "D4 | loading 0 |"},
    {"D4 ok", "D5 | loading 0 |"},
    {"D5 ok", "D6 | loading 0 |"},
    {"D6 ok", "A3 | loading 0 |"},
    {"A3 ok", "P4 | loading 0 |"},
    {"P4 3", "P5 | loading 0 |"},
    {"P5 4", "| serving 6 | pair_5_4 arrays loaded announced"},
};

static const struct sync_row damaged_arrays_are_refused[] = {
    {"loaded 3 labels 3:0=3", "| serving 3 | pair_3_low arrays loaded announced"},
    {"watch latest", "latest* list D4 | serving 3 |"},
    {"latest 4", "list D4 | serving 3 |"},
    {"list 4:3=3,4", "D4 | serving 3 |"},
    {"D4 ok", "P4 | serving 3 |"},
    {"P4 damaged", "| stale 3 | +250 arrays:1 refused"},
    {"watch latest", "latest* list | stale 3 | +250 arrays:1"},
    {"latest 5", "list | stale 3 | +250 arrays:1"},
    {"list 4:3=3,4", "| stale 3 | +250 arrays:1"},
    {"retry 5 labels 4:3=3,4", "P4 | stale 3 | arrays:1"},
    {"P4 damaged", "| stale 3 | +500 arrays:2"},
    {"retry 6 labels 6:4=6;3,4", "P4 | stale 3 | arrays:2"},
    {"P4 damaged", "| stale 3 | +1000 arrays:3"},
    {"retry 6 labels 6=6", "number | stale 3 | arrays:3"},
    {"number 6", "S6 | stale 3 | arrays:3"},
    {"S6 ok", "A6 | stale 3 | arrays:3"},
    {"A6 damaged", "| stale 3 | +2000 arrays:4 refused"},
    {"retry 6 labels 6=6", "A6 | stale 3 | arrays:4"},
    {"A6 ok", "| serving 6 | arrays:4 pair_6 arrays loaded accepted"},
};

static const struct sync_row missing_arrays_are_refused_if_they_are_still_latest[] = {
    {"loaded 3 labels 3:0=3", "| serving 3 | pair_3_low arrays loaded announced"},
    {"watch latest", "latest* list D4 | serving 3 |"},
    {"latest 4", "list D4 | serving 3 |"},
    {"list 4:3=3,4", "D4 | serving 3 |"},
    {"D4 ok", "P4 | serving 3 |"},
    {"P4 none", "latest* list | serving 3 |"},
    {"latest 4", "list | serving 3 |"},
    {"list 4:3=3,4", "P4 | serving 3 |"},
    {"P4 misnamed", "| stale 3 | +250 arrays:1 refused"},
    {"retry 4 labels 4:3=3,4", "P4 | stale 3 | arrays:1"},
    {"P4 3", "D4 | stale 3 | arrays:1"},
    {"D4 ok", "| serving 4 | arrays:1 pair_4_3 arrays accepted"},
};

static const struct sync_row missing_arrays_that_are_no_longer_latest[] = {
    {"loaded 3 labels 3:0=3", "| serving 3 | pair_3_low arrays loaded announced"},
    {"watch latest", "latest* list D4 | serving 3 |"},
    {"latest 4", "list D4 | serving 3 |"},
    {"list 4:3=3,4", "D4 | serving 3 |"},
    {"D4 ok", "P4 | serving 3 |"},
    {"P4 none", "latest* list | serving 3 |"},
    {"latest 9", "list | serving 3 |"},
    {"list 9:8=8,9", "number | serving 3 |"},
    {"number 9", "S9 | serving 3 |"},
    {"S9 ok", "A8 | serving 3 |"},
    {"A8 ok", "P9 | serving 3 |"},
    {"P9 8", "| serving 9 | pair_9_8 arrays loaded"},
};

static const struct sync_row a_bad_list_is_refused[] = {
    {"loaded 3 labels 3:0=3", "| serving 3 | pair_3_low arrays loaded announced"},
    {"watch latest", "latest* list D4 | serving 3 |"},
    {"latest 4", "list D4 | serving 3 |"},
    {"list {", "D4 | stale 3 | +250 arrays:1 refused"},
    {"D4 ok", "| stale 3 | +250 arrays:1"},
    {"watch latest", "latest* list | stale 3 | +250 arrays:1"},
    {"latest 5", "list | stale 3 | +250 arrays:1"},
    {"list lost", "| stale 3 | +250 arrays:1"},
    {"retry 5 labels 4:3=3,4", "list P4 | stale 3 | arrays:1"},
    {"list 4:3=3,4", "P4 | stale 3 | arrays:1"},
    {"P4 3", "D4 | stale 3 | arrays:1"},
    {"D4 ok", "D5 | stale 4 | arrays:1 pair_4_3 arrays"},
    {"D5 ok", "| serving 5 | arrays:1 accepted"},
};

static const struct sync_row the_connection_is_lost[] = {
    {"loaded 3 labels 3:0=3", "| serving 3 | pair_3_low arrays loaded announced"},
    {"watch latest", "latest* list D4 | serving 3 |"},
    {"latest 4", "list D4 | serving 3 |"},
    {"list lost", "D4 | serving 3 | +250"},
    {"D4 ok", "| serving 3 | +250"},
    {"retry 4 labels 4:3=3,4", "P4 | serving 3 |"},
    {"P4 lost", "| serving 3 | +250"},
    {"retry 4 labels 4:3=3,4", "P4 | serving 3 |"},
    {"P4 3", "D4 | serving 3 |"},
    {"D4 ok", "| serving 4 | pair_4_3 arrays"},
};

static const struct sync_row a_delta_waits_for_the_list[] = {
    {"loaded 3 labels 3:0=3", "| serving 3 | pair_3_low arrays loaded announced"},
    {"watch latest", "latest* list D4 | serving 3 |"},
    {"latest 4", "list D4 | serving 3 |"},
    {"D4 ok", "list | serving 3 |"},
    {"watch latest", "list latest* list D4 | serving 3 |"},
    {"list 4:3=3,4", "latest* list D4 | serving 3 |"},
    {"latest 5", "list D4 | serving 3 |"},
    {"list 4:3=3,4", "D4 | serving 3 |"},
    {"D4 ok", "P4 | serving 3 |"},
    {"P4 3", "D4 | serving 3 |"},
    {"D4 ok", "D5 | serving 4 | pair_4_3 arrays"},
    {"D5 ok", "| serving 5 |"},
};

static const struct sync_row a_list_newer_than_the_number_counts[] = {
    {"loaded 3 labels 3:0=3", "| serving 3 | pair_3_low arrays loaded announced"},
    {"watch latest", "latest* list D4 | serving 3 |"},
    {"latest 4", "list D4 | serving 3 |"},
    {"list 5:3=3,5", "D4 | serving 3 |"},
    {"D4 ok", "P5 | serving 4 |"},
    {"P5 3", "D5 | serving 4 |"},
    {"D5 ok", "| serving 5 | pair_5_3 arrays"},
};

static const struct sync_row nothing_is_served_before_the_first_arrays_are_there[] = {
    {"asked 3 labels 3:0=3", "number | loading 0 |"},
    {"number 3", "S3 | loading 0 |"},
    {"S3 ok", "A3 | loading 0 |"},
    {"A3 damaged", "| loading 0 | +250 arrays:1 refused"},
    {"retry 3 labels 3:0=3", "A3 | loading 0 | arrays:1"},
    {"A3 ok", "| serving 3 | arrays:1 pair_3_low arrays loaded announced accepted"},
};

static const struct sync_row others_are_latest_once_arrays_are_read[] = {
    {"loaded 3 labels 3:0=3", "| serving 3 | pair_3_low arrays loaded announced"},
    {"watch latest", "latest* list D4 | serving 3 |"},
    {"latest 4", "list D4 | serving 3 |"},
    {"list 4:3=4;3", "D4 | serving 3 |"},
    {"D4 ok", "A4 | serving 3 |"},
    {"watch latest", "A4 latest* list | serving 3 |"},
    {"latest 6", "A4 list | serving 3 |"},
    {"list 6:4=4,6", "A4 | serving 3 |"},
    {"A4 ok", "number | serving 3 |"},
    {"number 6", "S6 | serving 3 |"},
    {"S6 ok", "P6 | serving 3 |"},
    {"P6 4", "| serving 6 | pair_6_4 arrays loaded"},
};

static const struct sync_row arrays_are_kept_if_their_delta_is_damaged[] = {
    {"loaded 3 labels 3:0=3", "| serving 3 | pair_3_low arrays loaded announced"},
    {"watch latest", "latest* list D4 | serving 3 |"},
    {"latest 4", "list D4 | serving 3 |"},
    {"list 4:3=3,4", "D4 | serving 3 |"},
    {"D4 ok", "P4 | serving 3 |"},
    {"P4 3", "D4 | serving 3 |"},
    {"D4 damaged", "number | stale 3 | compression:1 refused"},
    {"number 4", "S4 | stale 3 | compression:1"},
    {"S4 ok", "| serving 4 | compression:1 pair_4_3 arrays loaded accepted"},
};

static const struct sync_row an_image_is_published_only_from_its_arrays_on[] = {
    {"asked 6 labels 5:3=3,5", "number | loading 0 |"},
    {"number 3", "S3 | loading 0 |"},
    {"S3 ok", "D4 | loading 0 |"},
    {"D4 ok", "D5 | loading 0 |"},
    {"D5 damaged", "number | loading 0 | compression:1 refused"},
    {"number 3", "S3 | loading 0 | compression:1"},
    {"S3 ok", "D4 | loading 0 | compression:1"},
    {"D4 ok", "D5 | loading 0 | compression:1"},
    {"D5 ok", "D6 | loading 0 | compression:1"},
    {"D6 damaged", "| loading 0 | +500 compression:2 refused"},
};

static const struct sync_row a_snapshot_newer_than_the_list[] = {
    {"asked 3 labels 3:0=3", "number | loading 0 |"},
    {"number 9", "latest* list | loading 0 |"},
    {"latest 9", "list | loading 0 |"},
    {"list 8:3=3,8", "number | loading 0 |"},
    {"number 9", "S9 | loading 0 |"},
    {"S9 ok", "A3 | loading 0 |"},
    {"A3 ok", "P8 | loading 0 |"},
    {"P8 3", "| serving 9 | pair_8_3 arrays loaded announced"},
};

static const struct sync_row a_service_that_returns_has_no_arrays[] = {
    {"loaded 3 labels 3:0=3", "| serving 3 | pair_3_low arrays loaded announced"},
    {"watch config", "config* | serving 3 |"},
    {"config none", "| serving 3 | listed:1"},
    {"confirm", "exists config* | serving 3 | listed:1"},
    {"exists none", "| loading 0 deleted | listed:1 deleted withdrawn"},
    {"watch config", "config* | loading 0 deleted | listed:1"},
    {"config labels", "latest* latest* list | loading 0 | listed:1"},
    {"latest 1", "latest* list | loading 0 | listed:1"},
    {"latest 1", "list | loading 0 | listed:1"},
    {"list none", "number | loading 0 | listed:1"},
    {"number 1", "S1 | loading 0 | listed:1"},
    {"S1 ok", "| serving 1 | listed:1 loaded announced"},
};

static const struct sync_row a_generation_that_goes_back_has_other_arrays[] = {
    {"loaded 9 labels 9:0=9", "| serving 9 | pair_9_low arrays loaded announced"},
    {"watch latest", "latest* list D10 | serving 9 |"},
    {"latest 2", "list D10 | serving 9 |"},
    {"list none", "D10 config* | serving 9 |"},
    {"D10 none", "config* | serving 9 |"},
    {"config labels", "latest* list | serving 9 |"},
    {"latest 2", "list | serving 9 |"},
    {"list none", "number | serving 9 |"},
    {"number 2", "S2 | serving 9 |"},
    {"S2 ok", "| serving 2 | loaded"},
};

static const struct sync_row ended_with_arrays_under_way[] = {
    {"asked 3 labels 3:0=3", "number | loading 0 |"},
    {"number 3", "S3 | loading 0 |"},
    {"S3 ok", "A3 | loading 0 |"},
    {"end", "A3 | ended"},
    {"A3 ok", "| ended"},
};

static const struct sync_row ended_with_the_list_under_way[] = {
    {"loaded 3 labels 3:0=3", "| serving 3 | pair_3_low arrays loaded announced"},
    {"watch latest", "latest* list D4 | serving 3 |"},
    {"latest 4", "list D4 | serving 3 |"},
    {"end", "list D4 | ended withdrawn"},
    {"list none", "D4 | ended"},
    {"D4 none", "| ended"},
};

static const struct sync_row answers_in_another_order[] = {
    {"loaded 3 labels 3:0=3", "| serving 3 | pair_3_low arrays loaded announced"},
    {"watch latest", "latest* list D4 | serving 3 |"},
    {"list 4:3=3,4", "latest* D4 | serving 3 |"},
    {"latest 4", "D4 | serving 3 |"},
    {"D4 ok", "P4 | serving 3 |"},
    {"P4 3", "D4 | serving 3 |"},
    {"D4 ok", "| serving 4 | pair_4_3 arrays"},
};

static const struct sync_row arrays_that_are_settled_before_they_are_read[] = {
    {"loaded 3 labels 3:0=3", "| serving 3 | pair_3_low arrays loaded announced"},
    {"watch latest", "latest* list D4 | serving 3 |"},
    {"latest 5", "list D4 | serving 3 |"},
    {"list 4=3,4", "D4 | serving 3 |"},
    {"D4 ok", "P4 | serving 3 |"},
    {"P4 3", "D4 | serving 3 |"},
    {"D4 ok", "D5 | serving 4 | pair_4 arrays"},
    {"D5 ok", "| serving 5 |"},
};

static const struct sync_row a_method_without_arrays_reads_none[] = {
    {"asked 3", "number | loading 0 |"},
    {"number 3", "S3 | loading 0 |"},
    {"S3 ok", "| serving 3 | loaded announced"},
    {"watch latest", "latest* D4 | serving 3 |"},
    {"latest 4", "D4 | serving 3 |"},
    {"D4 ok", "| serving 4 |"},
};

static const struct sync_row the_method_becomes_known_while_a_snapshot_is_read[] = {
    {"asked 3", "number | loading 0 |"},          {"number 3", "S3 | loading 0 |"},
    {"watch config", "S3 config* | loading 0 |"}, {"config labels", "S3 latest* list | loading 0 |"},
    {"S3 ok", "latest* list | loading 0 |"},      {"latest 3", "list | loading 0 |"},
    {"list 3:0=3", "A3 | loading 0 |"},           {"A3 ok", "| serving 3 | pair_3_low arrays loaded announced"},
};

static const struct sync_row arrays_that_are_gone_are_dropped[] = {
    {"loaded 3 labels 3:0=3", "| serving 3 | pair_3_low arrays loaded announced"},
    {"watch latest", "latest* list D4 | serving 3 |"},
    {"latest 4", "list D4 | serving 3 |"},
    {"list none", "D4 | serving 3 |"},
    {"D4 ok", "number | serving 3 |"},
    {"number 4", "S4 | serving 3 |"},
    {"S4 ok", "| serving 4 | loaded"},
};

static const struct sync_row bad_numbers[] = {
    {"loaded 3 labels 3:0=3", "| serving 3 | pair_3_low arrays loaded announced"},
    {"watch latest", "latest* list D4 | serving 3 |"},
    {"latest x", "list D4 | serving 3 |"},
    {"list 4:3=3,4", "D4 | stale 3 | +250 number:1 refused"},
    {"D4 none", "| stale 3 | +250 number:1"},
    {"retry 4 labels 4:3=3,4", "P4 | stale 3 | number:1"},
    {"P4 3", "D4 | stale 3 | number:1"},
    {"D4 ok", "| serving 4 | number:1 pair_4_3 arrays accepted"},
};

static const struct sync_row large_arrays_are_checked_aside[] = {
    {"asked 3 labels 3:0=3", "number | loading 0 |"},
    {"number 3", "S3 | loading 0 |"},
    {"S3 ok", "A3 | loading 0 |"},
    {"A3 large", "| loading 0 | +10"},
    {"work", "| serving 3 | pair_3_low arrays loaded announced"},
    {"watch latest", "latest* list D4 | serving 3 |"},
    {"latest 4", "list D4 | serving 3 |"},
    {"list 4:3=4;3", "D4 | serving 3 |"},
    {"D4 ok", "A4 | serving 3 |"},
    {"A4 large", "| serving 3 | +10"},
    {"watch latest", "latest* list | serving 3 | +10"},
    {"latest 5", "list | serving 3 | +10"},
    {"list 4:3=4;3", "| serving 3 | +10"},
    {"work", "D4 | serving 3 |"},
    {"D4 ok", "D5 | serving 4 | pair_4_3 arrays"},
    {"D5 ok", "| serving 5 |"},
};

static const struct sync_row damaged_large_arrays_are_refused[] = {
    {"loaded 3 labels 3:0=3", "| serving 3 | pair_3_low arrays loaded announced"},
    {"watch latest", "latest* list D4 | serving 3 |"},
    {"latest 4", "list D4 | serving 3 |"},
    {"list 4:3=4;3", "D4 | serving 3 |"},
    {"D4 ok", "A4 | serving 3 |"},
    {"A4 largebad", "| serving 3 | +10"},
    {"work", "| stale 3 | +250 arrays:1 refused"},
    {"retry 4 labels 4:3=4;3", "A4 | stale 3 | arrays:1"},
    {"A4 large", "| stale 3 | +10 arrays:1"},
    {"work", "D4 | stale 3 | arrays:1"},
    {"D4 ok", "| serving 4 | arrays:1 pair_4_3 arrays accepted"},
};

static const struct sync_row others_are_latest_once_large_arrays_are_checked[] = {
    {"loaded 3 labels 3:0=3", "| serving 3 | pair_3_low arrays loaded announced"},
    {"watch latest", "latest* list D4 | serving 3 |"},
    {"latest 4", "list D4 | serving 3 |"},
    {"list 4:3=4;3", "D4 | serving 3 |"},
    {"D4 ok", "A4 | serving 3 |"},
    {"A4 largebad", "| serving 3 | +10"},
    {"watch latest", "latest* list | serving 3 | +10"},
    {"latest 6", "list | serving 3 | +10"},
    {"list 6:5=6;5", "| serving 3 | +10"},
    {"work", "number | serving 3 |"},
    {"number 6", "S6 | serving 3 |"},
    {"S6 ok", "A5 | serving 3 |"},
    {"A5 large", "| serving 3 | +10"},
    {"work", "A6 | serving 3 |"},
    {"A6 ok", "| serving 6 | pair_6_5 arrays loaded"},
};

static const struct sync_row the_service_is_deleted_while_large_arrays_are_checked[] = {
    {"loaded 3 labels 3:0=3", "| serving 3 | pair_3_low arrays loaded announced"},
    {"watch latest", "latest* list D4 | serving 3 |"},
    {"latest 4", "list D4 | serving 3 |"},
    {"list 4:3=4;3", "D4 | serving 3 |"},
    {"D4 ok", "A4 | serving 3 |"},
    {"A4 large", "| serving 3 | +10"},
    {"watch config", "config* | serving 3 | +10"},
    {"config none", "| serving 3 | +10 listed:1"},
    {"confirm", "exists config* | serving 3 | +10 listed:1"},
    {"exists none", "| loading 0 deleted | listed:1 deleted withdrawn"},
    {"watch config", "config* | loading 0 deleted | listed:1"},
    {"config labels", "latest* latest* list | loading 0 | listed:1"},
    {"latest 4", "latest* list | loading 0 | listed:1"},
    {"latest 4", "list | loading 0 | listed:1"},
    {"list 4:0=4", "number | loading 0 | listed:1"},
    {"number 4", "S4 | loading 0 | listed:1"},
    {"S4 ok", "A4 | loading 0 | listed:1"},
    {"A4 ok", "| serving 4 | listed:1 pair_4_low arrays loaded announced"},
};

static const struct sync_row ended_while_large_arrays_are_checked[] = {
    {"asked 3 labels 3:0=3", "number | loading 0 |"},
    {"number 3", "S3 | loading 0 |"},
    {"S3 ok", "A3 | loading 0 |"},
    {"A3 large", "| loading 0 | +10"},
    {"end", "| ended"},
};

int main(void)
{
	const struct CMUnitTest tests[] = {
	    SYNC_CASE(arrays_come_with_their_generation),
	    SYNC_CASE(a_patch_changes_the_arrays_before),
	    SYNC_CASE(whole_arrays_replace_those_before),
	    SYNC_CASE(a_settled_generation_drops_the_arrays_before),
	    SYNC_CASE(deltas_before_the_arrays_are_applied_first),
	    SYNC_CASE(arrays_in_between_are_skipped),
	    SYNC_CASE(whole_arrays_in_between_are_skipped_too),
	    SYNC_CASE(a_chain_of_patches_is_read_from_its_beginning),
	    SYNC_CASE(damaged_arrays_are_refused),
	    SYNC_CASE(missing_arrays_are_refused_if_they_are_still_latest),
	    SYNC_CASE(missing_arrays_that_are_no_longer_latest),
	    SYNC_CASE(a_bad_list_is_refused),
	    SYNC_CASE(the_connection_is_lost),
	    SYNC_CASE(a_delta_waits_for_the_list),
	    SYNC_CASE(a_list_newer_than_the_number_counts),
	    SYNC_CASE(nothing_is_served_before_the_first_arrays_are_there),
	    SYNC_CASE(others_are_latest_once_arrays_are_read),
	    SYNC_CASE(arrays_are_kept_if_their_delta_is_damaged),
	    SYNC_CASE(an_image_is_published_only_from_its_arrays_on),
	    SYNC_CASE(a_snapshot_newer_than_the_list),
	    SYNC_CASE(a_service_that_returns_has_no_arrays),
	    SYNC_CASE(a_generation_that_goes_back_has_other_arrays),
	    SYNC_CASE(ended_with_arrays_under_way),
	    SYNC_CASE(ended_with_the_list_under_way),
	    SYNC_CASE(answers_in_another_order),
	    SYNC_CASE(arrays_that_are_settled_before_they_are_read),
	    SYNC_CASE(a_method_without_arrays_reads_none),
	    SYNC_CASE(the_method_becomes_known_while_a_snapshot_is_read),
	    SYNC_CASE(arrays_that_are_gone_are_dropped),
	    SYNC_CASE(bad_numbers),
	    SYNC_CASE(large_arrays_are_checked_aside),
	    SYNC_CASE(damaged_large_arrays_are_refused),
	    SYNC_CASE(others_are_latest_once_large_arrays_are_checked),
	    SYNC_CASE(the_service_is_deleted_while_large_arrays_are_checked),
	    SYNC_CASE(ended_while_large_arrays_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
