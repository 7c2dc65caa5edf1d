/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A steering method with a blob (labels.h): a generation is published only with its blob, regardless of which arrives
 * first. sync_world.h explains the rows; the method logs blob_7 when it has loaded 7's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sync_world.h"

static const struct sync_row a_generation_waits_for_its_blob[] = {
    {"refresh", "config* latest* | loading 0 |"},
    {"config labels", "latest* | loading 0 |"},
    {"latest 3", "number | loading 0 |"},
    {"number 3", "S3 B3 | loading 0 |"},
    {"S3 ok", "B3 | loading 0 |"},
    {"B3 ok", "| serving 3 | blob_3 loaded announced"},
    {"watch latest", "latest* D4 B4 | serving 3 |"},
    {"latest 4", "D4 B4 | serving 3 |"},
    {"D4 ok", "B4 | serving 3 |"},
    {"B4 ok", "| serving 4 | blob_4"},
    {"watch latest", "latest* D5 B5 | serving 4 |"},
    {"latest 5", "D5 B5 | serving 4 |"},
    {"B5 ok", "D5 | serving 4 |"},
    {"D5 ok", "| serving 5 | blob_5"},
};

static const struct sync_row a_staged_ring_is_published_with_the_last_blob[] = {
    {"asked 5 labels", "number | loading 0 |"},
    {"number 3", "S3 B3 | loading 0 |"},
    {"B3 ok", "S3 | loading 0 |"},
    {"S3 ok", "D4 B4 | loading 0 |"},
    {"D4 ok", "B4 | loading 0 |"},
    {"B4 ok", "D5 B5 | loading 0 |"},
    {"B5 ok", "D5 | loading 0 |"},
    {"D5 ok", "| serving 5 | blob_5 loaded announced"},
};

static const struct sync_row a_missing_blob_is_refused[] = {
    {"loaded 3 labels", "| serving 3 | blob_3 loaded announced"},
    {"watch latest", "latest* D4 B4 | serving 3 |"},
    {"latest 4", "D4 B4 | serving 3 |"},
    {"D4 ok", "B4 | serving 3 |"},
    {"B4 none", "number | stale 3 | missing:1 refused"},
    {"number 3", "S3 B3 | stale 3 | missing:1"},
    {"S3 ok", "B3 | stale 3 | missing:1"},
    {"B3 ok", "D4 B4 | stale 3 | missing:1"},
    {"B4 misnamed", "D4 | stale 3 | missing:1"},
    {"D4 ok", "| stale 3 | +500 missing:2"},
    {"retry", "config* latest* | stale 3 | missing:2"},
    {"config labels", "latest* number | stale 3 | missing:2"},
    {"latest 4", "number | stale 3 | missing:2"},
    {"number 4", "S4 B4 | stale 3 | missing:2"},
    {"S4 ok", "B4 | stale 3 | missing:2"},
    {"B4 ok", "| serving 4 | missing:2 blob_4 loaded accepted"},
};

static const struct sync_row a_staged_ring_without_its_next_blob_is_published_as_it_is[] = {
    {"asked 5 labels", "number | loading 0 |"},
    {"number 3", "S3 B3 | loading 0 |"},
    {"S3 ok", "B3 | loading 0 |"},
    {"B3 ok", "D4 B4 | loading 0 |"},
    {"D4 ok", "B4 | loading 0 |"},
    {"B4 none", "number | stale 3 | missing:1 refused blob_3 loaded announced"},
};

static const struct sync_row a_damaged_blob_is_refused[] = {
    {"loaded 3 labels", "| serving 3 | blob_3 loaded announced"},
    {"watch latest", "latest* D4 B4 | serving 3 |"},
    {"latest 4", "D4 B4 | serving 3 |"},
    {"D4 ok", "B4 | serving 3 |"},
    {"B4 damaged", "number | stale 3 | blob:1 refused"},
    {"number 4", "S4 B4 | stale 3 | blob:1"},
    {"S4 ok", "B4 | stale 3 | blob:1"},
    {"B4 damaged", "| stale 3 | +500 blob:2"},
    {"retry", "config* latest* | stale 3 | blob:2"},
    {"config labels", "latest* number | stale 3 | blob:2"},
    {"latest 4", "number | stale 3 | blob:2"},
    {"number 4", "S4 B4 | stale 3 | blob:2"},
    {"B4 ok", "S4 | stale 3 | blob:2"},
    {"S4 ok", "| serving 4 | blob:2 blob_4 loaded accepted"},
};

static const struct sync_row a_damaged_delta_with_a_good_blob[] = {
    {"loaded 3 labels", "| serving 3 | blob_3 loaded announced"},
    {"watch latest", "latest* D4 B4 | serving 3 |"},
    {"latest 4", "D4 B4 | serving 3 |"},
    {"B4 ok", "D4 | serving 3 |"},
    {"D4 damaged", "number | stale 3 | compression:1 refused"},
    {"number 4", "S4 B4 | stale 3 | compression:1"},
    {"S4 ok", "B4 | stale 3 | compression:1"},
    {"B4 ok", "| serving 4 | compression:1 blob_4 loaded accepted"},
};

static const struct sync_row a_lost_connection_reads_both_again[] = {
    {"asked 3 labels", "number | loading 0 |"},
    {"number 3", "S3 B3 | loading 0 |"},
    {"S3 ok", "B3 | loading 0 |"},
    {"B3 lost", "| loading 0 | +250"},
    {"retry", "config* latest* | loading 0 |"},
    {"config labels", "latest* number | loading 0 |"},
    {"latest 3", "number | loading 0 |"},
    {"number 3", "S3 B3 | loading 0 |"},
    {"S3 lost", "B3 | loading 0 |"},
    {"B3 ok", "| loading 0 | +250"},
    {"retry", "config* latest* | loading 0 |"},
    {"config labels", "latest* number | loading 0 |"},
    {"latest 3", "number | loading 0 |"},
    {"number 3", "S3 B3 | loading 0 |"},
    {"S3 ok", "B3 | loading 0 |"},
    {"B3 ok", "| serving 3 | blob_3 loaded announced"},
};

static const struct sync_row generations_move_on_while_a_blob_is_read[] = {
    {"asked 3 labels", "number | loading 0 |"},
    {"number 3", "S3 B3 | loading 0 |"},
    {"S3 ok", "B3 | loading 0 |"},
    {"watch latest", "B3 latest* | loading 0 |"},
    {"latest 4", "B3 | loading 0 |"},
    {"B3 ok", "D4 B4 | loading 0 |"},
    {"D4 ok", "B4 | loading 0 |"},
    {"watch latest", "B4 latest* | loading 0 |"},
    {"latest 5", "B4 | loading 0 |"},
    {"B4 ok", "D5 B5 | loading 0 |"},
    {"B5 ok", "D5 | loading 0 |"},
    {"D5 ok", "| serving 5 | blob_5 loaded announced"},
};

static const struct sync_row a_generation_read_ahead_that_is_not_committed_is_dropped[] = {
    {"loaded 3 labels", "| serving 3 | blob_3 loaded announced"},
    {"watch latest", "latest* D4 B4 | serving 3 |"},
    {"latest 3", "D4 B4 | serving 3 |"},
    {"D4 none", "B4 | serving 3 |"},
    {"B4 none", "| serving 3 |"},
};

static const struct sync_row a_method_without_a_blob_reads_none[] = {
    {"asked 3", "number | loading 0 |"},
    {"number 3", "S3 | loading 0 |"},
    {"S3 ok", "| serving 3 | loaded announced"},
    {"watch latest", "latest* D4 | serving 3 |"},
    {"latest 4", "D4 | serving 3 |"},
    {"D4 ok", "| serving 4 |"},
};

static const struct sync_row a_blob_is_wanted_only_since_the_configuration_changed[] = {
    {"asked 3", "number | loading 0 |"},
    {"number 3", "S3 | loading 0 |"},
    {"watch config", "S3 config* | loading 0 |"},
    {"config labels", "S3 | loading 0 |"},
    {"S3 ok", "number | loading 0 |"},
    {"number 3", "S3 B3 | loading 0 |"},
    {"S3 ok", "B3 | loading 0 |"},
    {"B3 ok", "| serving 3 | blob_3 loaded announced"},
};

static const struct sync_row ended_with_a_blob_under_way[] = {
    {"asked 3 labels", "number | loading 0 |"},
    {"number 3", "S3 B3 | loading 0 |"},
    {"S3 ok", "B3 | loading 0 |"},
    {"end", "B3 | ended"},
    {"B3 ok", "| ended"},
};

int main(void)
{
	const struct CMUnitTest tests[] = {
	    SYNC_CASE(a_generation_waits_for_its_blob),
	    SYNC_CASE(a_staged_ring_is_published_with_the_last_blob),
	    SYNC_CASE(a_missing_blob_is_refused),
	    SYNC_CASE(a_staged_ring_without_its_next_blob_is_published_as_it_is),
	    SYNC_CASE(a_damaged_blob_is_refused),
	    SYNC_CASE(a_damaged_delta_with_a_good_blob),
	    SYNC_CASE(a_lost_connection_reads_both_again),
	    SYNC_CASE(generations_move_on_while_a_blob_is_read),
	    SYNC_CASE(a_generation_read_ahead_that_is_not_committed_is_dropped),
	    SYNC_CASE(a_method_without_a_blob_reads_none),
	    SYNC_CASE(a_blob_is_wanted_only_since_the_configuration_changed),
	    SYNC_CASE(ended_with_a_blob_under_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
