/* SPDX-License-Identifier: Apache-2.0 */
/* Synchronisation of one service: what it reads next, publishes and rejects. sync_world.h explains the rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sync_world.h"

static const struct sync_row a_ring_is_loaded_and_followed[] = {
    {"refresh", "config* latest* | loading 0 |"},
    {"config ok", "latest* | loading 0 |"},
    {"latest 3", "number | loading 0 |"},
    {"number 3", "S3 | loading 0 |"},
    {"S3 ok", "| serving 3 | loaded announced"},
    {"watch latest", "latest* D4 | serving 3 |"},
    {"latest 4", "D4 | serving 3 |"},
    {"D4 ok", "| serving 4 |"},
    {"watch latest", "latest* D5 | serving 4 |"},
    {"latest 6", "D5 | serving 4 |"},
    {"D5 ok", "D6 | serving 5 |"},
    {"D6 ok", "| serving 6 |"},
    {"watch latest", "latest* D7 | serving 6 |"},
    {"latest 6", "D7 | serving 6 |"},
    {"D7 none", "| serving 6 |"},
};

static const struct sync_row deltas_are_folded_into_an_image_aside[] = {
    {"asked 5", "number | loading 0 |"},
    {"number 3", "S3 | loading 0 |"},
    {"S3 ok", "D4 | loading 0 |"},
    {"D4 ok", "D5 | loading 0 |"},
    {"D5 ok", "| serving 5 | loaded announced"},
};

static const struct sync_row numbers_that_move_while_an_image_is_built[] = {
    {"asked 4", "number | loading 0 |"},          {"number 3", "S3 | loading 0 |"}, {"S3 ok", "D4 | loading 0 |"},
    {"watch latest", "D4 latest* | loading 0 |"}, {"latest 5", "D4 | loading 0 |"}, {"D4 ok", "D5 | loading 0 |"},
    {"watch latest", "D5 latest* | loading 0 |"}, {"latest 6", "D5 | loading 0 |"}, {"D5 ok", "D6 | loading 0 |"},
    {"D6 ok", "| serving 6 | loaded announced"},
};

static const struct sync_row a_snapshot_newer_than_the_number_counts[] = {
    {"asked 3", "number | loading 0 |"},         {"number 9", "S9 | loading 0 |"},
    {"S9 ok", "| serving 9 | loaded announced"}, {"watch latest", "latest* D10 | serving 9 |"},
    {"latest 9", "D10 | serving 9 |"},           {"D10 none", "| serving 9 |"},
};

static const struct sync_row a_service_without_config_is_deleted_once_the_list_confirms[] = {
    {"loaded 3", "| serving 3 | loaded announced"},
    {"watch config", "config* | serving 3 |"},
    {"config none", "| serving 3 | listed:1"},
    {"confirm", "exists config* | serving 3 | listed:1"},
    {"exists none", "| loading 0 deleted | listed:1 deleted withdrawn"},
    {"confirm", "| loading 0 deleted | listed:1"},
    {"refresh", "config* latest* | loading 0 deleted | listed:1"},
    {"config none", "latest* | loading 0 deleted | listed:2"},
    {"latest none", "| loading 0 deleted | listed:3"},
    {"confirm", "exists config* | loading 0 deleted | listed:3"},
    {"exists none", "| loading 0 deleted | listed:3"},
};

static const struct sync_row a_config_that_returns_begins_the_service_again[] = {
    {"refresh", "config* latest* | loading 0 |"},
    {"config none", "latest* | loading 0 | listed:1"},
    {"latest none", "| loading 0 | listed:2"},
    {"confirm", "exists config* | loading 0 | listed:2"},
    {"exists none", "| loading 0 deleted | listed:2 deleted"},
    {"watch config", "config* | loading 0 deleted | listed:2"},
    {"config ok", "latest* | loading 0 | listed:2"},
    {"latest 3", "number | loading 0 | listed:2"},
    {"number 3", "S3 | loading 0 | listed:2"},
    {"S3 ok", "| serving 3 | listed:2 loaded announced"},
};

static const struct sync_row a_config_that_is_there_after_all[] = {
    {"refresh", "config* latest* | loading 0 |"},
    {"config none", "latest* | loading 0 | listed:1"},
    {"latest none", "| loading 0 | listed:2"},
    {"confirm", "exists config* | loading 0 | listed:2"},
    {"exists ok", "config* latest* | loading 0 | listed:2"},
    {"config ok", "latest* | loading 0 | listed:2"},
    {"latest 3", "number | loading 0 | listed:2"},
    {"number 3", "S3 | loading 0 | listed:2"},
    {"S3 ok", "| serving 3 | listed:2 loaded announced"},
};

static const struct sync_row a_missing_latest_gen_is_refused_once_the_list_confirms[] = {
    {"refresh", "config* latest* | loading 0 |"},
    {"config ok", "latest* | loading 0 |"},
    {"latest none", "| loading 0 | listed:1"},
    {"confirm", "| loading 0 | +250 missing:1 listed:1 refused"},
    {"retry 3", "number | loading 0 | missing:1 listed:1"},
    {"number 3", "S3 | loading 0 | missing:1 listed:1"},
    {"S3 ok", "| serving 3 | missing:1 listed:1 loaded announced accepted"},
};

static const struct sync_row a_bad_config_keeps_the_service_as_it_was[] = {
    {"loaded 3", "| serving 3 | loaded announced"},
    {"watch config", "config* | serving 3 |"},
    {"config bad", "| stale 3 | +250 config:1 refused"},
    {"watch latest", "latest* D4 | stale 3 | +250 config:1"},
    {"latest 4", "D4 | stale 3 | +250 config:1"},
    {"D4 ok", "| stale 4 | +250 config:1"},
    {"retry", "config* latest* | stale 4 | config:1"},
    {"config bad", "latest* | stale 4 | +500 config:2"},
    {"latest 4", "| stale 4 | +500 config:2"},
    {"retry", "config* latest* | stale 4 | config:2"},
    {"config vip", "latest* | serving 4 | config:2 changed accepted"},
    {"latest 4", "| serving 4 | config:2"},
};

static const struct sync_row a_bad_config_at_first[] = {
    {"refresh", "config* latest* | loading 0 |"}, {"config bad", "latest* | loading 0 | +250 config:1 refused"},
    {"latest 3", "| loading 0 | +250 config:1"},  {"retry 3", "number | loading 0 | config:1"},
    {"number 3", "S3 | loading 0 | config:1"},    {"S3 ok", "| serving 3 | config:1 loaded announced accepted"},
};

static const struct sync_row a_config_with_other_vips_changes_under_the_ring[] = {
    {"loaded 3", "| serving 3 | loaded announced"},
    {"watch config", "config* | serving 3 |"},
    {"config vip", "| serving 3 | changed"},
};

static const struct sync_row a_config_with_another_ring_is_another_service[] = {
    {"loaded 3", "| serving 3 | loaded announced"},
    {"watch config", "config* | serving 3 |"},
    {"config other", "number | serving 3 |"},
    {"number 3", "S3 | serving 3 |"},
    {"S3 other", "| serving 3 | withdrawn loaded announced"},
};

static const struct sync_row a_config_with_another_ring_drops_the_image[] = {
    {"asked 4", "number | loading 0 |"},  {"number 3", "S3 | loading 0 |"},
    {"S3 ok", "D4 | loading 0 |"},        {"watch config", "D4 config* | loading 0 |"},
    {"config other", "D4 | loading 0 |"}, {"D4 ok", "number | loading 0 |"},
    {"number 4", "S4 | loading 0 |"},     {"S4 other", "| serving 4 | loaded announced"},
};

static const struct sync_row a_generation_that_goes_back_is_another_service[] = {
    {"loaded 9", "| serving 9 | loaded announced"},
    {"watch latest", "latest* D10 | serving 9 |"},
    {"latest 2", "D10 config* | serving 9 |"},
    {"D10 none", "config* | serving 9 |"},
    {"config ok", "number | serving 9 |"},
    {"number 2", "S2 | serving 9 |"},
    {"S2 ok", "| serving 2 | loaded"},
};

static const struct sync_row a_gap_needs_a_snapshot[] = {
    {"loaded 3", "| serving 3 | loaded announced"},
    {"watch latest", "latest* D4 | serving 3 |"},
    {"latest 5", "D4 | serving 3 |"},
    {"D4 none", "number | serving 3 |"},
    {"number 5", "S5 | serving 3 |"},
    {"S5 ok", "| serving 5 | loaded"},
};

static const struct sync_row a_missing_delta_backs_off_while_the_image_is_incomplete[] = {
    {"asked 5", "number | loading 0 |"},
    {"number 3", "S3 | loading 0 |"},
    {"S3 ok", "D4 | loading 0 |"},
    {"D4 none", "number | stale 3 | missing:1 refused loaded announced"},
    {"number 3", "S3 | stale 3 | missing:1"},
    {"S3 ok", "D4 | stale 3 | missing:1"},
    {"D4 none", "| stale 3 | +500 missing:2"},
    {"retry 5", "number | stale 3 | missing:2"},
    {"number 3", "S3 | stale 3 | missing:2"},
    {"S3 ok", "D4 | stale 3 | missing:2"},
    {"D4 misnamed", "| stale 3 | +1000 missing:3"},
    {"retry 5", "number | stale 3 | missing:3"},
    {"number 5", "S5 | stale 3 | missing:3"},
    {"S5 ok", "| serving 5 | missing:3 loaded accepted"},
};

static const struct sync_row a_damaged_delta_is_led_around[] = {
    {"loaded 3", "| serving 3 | loaded announced"},
    {"watch latest", "latest* D4 | serving 3 |"},
    {"latest 4", "D4 | serving 3 |"},
    {"D4 damaged", "number | stale 3 | compression:1 refused"},
    {"number 3", "S3 | stale 3 | compression:1"},
    {"S3 ok", "D4 | stale 3 | compression:1"},
    {"D4 damaged", "| stale 3 | +500 compression:2"},
    {"retry 4", "number | stale 3 | compression:2"},
    {"number 3", "S3 | stale 3 | compression:2"},
    {"S3 ok", "D4 | stale 3 | compression:2"},
    {"D4 damaged", "| stale 3 | +1000 compression:3"},
    {"retry 4", "number | stale 3 | compression:3"},
    {"number 3", "S3 | stale 3 | compression:3"},
    {"S3 ok", "D4 | stale 3 | compression:3"},
    {"D4 damaged", "| stale 3 | +2000 compression:4"},
    {"retry 4", "number | stale 3 | compression:4"},
    {"number 3", "S3 | stale 3 | compression:4"},
    {"S3 ok", "D4 | stale 3 | compression:4"},
    {"D4 damaged", "| stale 3 | +4000 compression:5"},
    {"retry 4", "number | stale 3 | compression:5"},
    {"number 3", "S3 | stale 3 | compression:5"},
    {"S3 ok", "D4 | stale 3 | compression:5"},
    {"D4 damaged", "| stale 3 | +4000 compression:6"},
    {"retry 4", "number | stale 3 | compression:6"},
    {"number 3", "S3 | stale 3 | compression:6"},
    {"S3 ok", "D4 | stale 3 | compression:6"},
    {"D4 damaged", "| stale 3 | +4000 compression:7"},
    {"retry 5", "number | stale 3 | compression:7"},
    {"number 5", "S5 | stale 3 | compression:7"},
    {"S5 ok", "| serving 5 | compression:7 loaded accepted"},
};

static const struct sync_row a_delta_of_another_image_has_the_snapshot_read[] = {
    {"loaded 3", "| serving 3 | loaded announced"},
    {"watch latest", "latest* D4 | serving 3 |"},
    {"latest 4", "D4 | serving 3 |"},
    {"D4 astray", "number | stale 3 | base:1 refused"},
    {"number 4", "S4 | stale 3 | base:1"},
    {"S4 ok", "| serving 4 | base:1 loaded accepted"},
};

static const struct sync_row what_comes_before_the_damage_is_published[] = {
    {"asked 5", "number | loading 0 |"},
    {"number 3", "S3 | loading 0 |"},
    {"S3 ok", "D4 | loading 0 |"},
    {"D4 ok", "D5 | loading 0 |"},
    {"D5 damaged", "number | stale 4 | compression:1 refused loaded announced"},
    {"number 3", "S3 | stale 4 | compression:1"},
    {"S3 ok", "D4 | stale 4 | compression:1"},
    {"D4 ok", "D5 | stale 4 | compression:1"},
    {"D5 ok", "| serving 5 | compression:1 loaded accepted"},
};

static const struct sync_row held_services_note_generations_but_read_nothing[] = {
    {"asked 4", "number | loading 0 |"},
    {"number 3", "S3 | loading 0 |"},
    {"S3 damaged", "number | loading 0 | compression:1 refused"},
    {"number 3", "S3 | loading 0 | compression:1"},
    {"S3 damaged", "| loading 0 | +500 compression:2"},
    {"watch latest", "latest* | loading 0 | +500 compression:2"},
    {"latest 5", "| loading 0 | +500 compression:2"},
    {"watch config", "config* | loading 0 | +500 compression:2"},
    {"config ok", "| loading 0 | +500 compression:2"},
    {"retry 5", "number | loading 0 | compression:2"},
    {"number 5", "S5 | loading 0 | compression:2"},
    {"S5 ok", "| serving 5 | compression:2 loaded announced accepted"},
};

static const struct sync_row a_snapshot_that_is_missing[] = {
    {"asked 3", "number | loading 0 |"},
    {"number none", "number | loading 0 | missing:1 refused"},
    {"number 3", "S3 | loading 0 | missing:1"},
    {"S3 none", "| loading 0 | +500 missing:2 refused"},
    {"retry 3", "number | loading 0 | missing:2"},
    {"number lost", "| loading 0 | +500 missing:2"},
    {"retry 3", "number | loading 0 | missing:2"},
    {"number x", "| loading 0 | +1000 missing:2 number:1 refused"},
    {"retry 3", "number | loading 0 | missing:2 number:1"},
    {"number 3", "S3 | loading 0 | missing:2 number:1"},
    {"S3 ok", "| serving 3 | missing:2 number:1 loaded announced accepted"},
};

static const struct sync_row numbers_that_are_none[] = {
    {"asked 0", "| loading 0 | +250 number:1 refused"},
    {"retry 3", "number | loading 0 | number:1"},
    {"number 3", "S3 | loading 0 | number:1"},
    {"S3 ok", "| serving 3 | number:1 loaded announced accepted"},
    {"watch latest", "latest* D4 | serving 3 | number:1"},
    {"latest x", "D4 | stale 3 | +250 number:2 refused"},
    {"D4 none", "| stale 3 | +250 number:2"},
    {"retry 4", "D4 | stale 3 | number:2"},
    {"D4 ok", "| serving 4 | number:2 accepted"},
};

static const struct sync_row the_connection_is_lost_at_each_request[] = {
    {"refresh", "config* latest* | loading 0 |"},
    {"config lost", "latest* | loading 0 | +250"},
    {"latest lost", "| loading 0 | +250"},
    {"retry", "config* latest* | loading 0 |"},
    {"config ok", "latest* | loading 0 |"},
    {"latest lost", "| loading 0 | +250"},
    {"retry", "config* latest* | loading 0 |"},
    {"config lost", "latest* | loading 0 | +250"},
    {"latest 4", "number | loading 0 | +250"},
    {"retry 4", "number | loading 0 |"},
    {"number lost", "| loading 0 | +250"},
    {"retry 4", "number | loading 0 |"},
    {"number 3", "S3 | loading 0 |"},
    {"S3 lost", "| loading 0 | +250"},
    {"retry 4", "number | loading 0 |"},
    {"number 3", "S3 | loading 0 |"},
    {"S3 ok", "D4 | loading 0 |"},
    {"D4 lost", "| loading 0 | +250"},
    {"retry 4", "number | loading 0 |"},
    {"number 3", "S3 | loading 0 |"},
    {"S3 ok", "D4 | loading 0 |"},
    {"D4 ok", "| serving 4 | loaded announced"},
    {"watch latest", "latest* D5 | serving 4 |"},
    {"latest lost", "D5 | serving 4 | +250"},
    {"D5 lost", "| serving 4 | +250"},
    {"retry 5", "D5 | serving 4 |"},
    {"D5 lost", "| serving 4 | +250"},
    {"retry", "config* latest* | serving 4 |"},
    {"config lost", "latest* | serving 4 | +250"},
    {"latest lost", "| serving 4 | +250"},
    {"retry 5", "D5 | serving 4 |"},
    {"D5 ok", "| serving 5 |"},
    {"watch config", "config* | serving 5 |"},
    {"config none", "| serving 5 | listed:1"},
    {"confirm", "exists config* | serving 5 | listed:1"},
    {"exists lost", "| serving 5 | +250 listed:1"},
    {"retry", "config* latest* | serving 5 | listed:1"},
    {"config none", "latest* | serving 5 | listed:2"},
    {"latest none", "| serving 5 | listed:3"},
    {"confirm", "exists config* | serving 5 | listed:3"},
    {"exists none", "| loading 0 deleted | listed:3 deleted withdrawn"},
};

static const struct sync_row the_service_is_deleted_at_the_snapshots_number[] = {
    {"asked 3", "number | loading 0 |"},
    {"watch config", "number config* | loading 0 |"},
    {"config none", "number | loading 0 | listed:1"},
    {"confirm", "number exists config* | loading 0 | listed:1"},
    {"exists none", "number | loading 0 deleted | listed:1 deleted"},
    {"number none", "| loading 0 deleted | missing:1 listed:1 refused"},
    {"watch config", "config* | loading 0 deleted | missing:1 listed:1"},
    {"config ok", "latest* | loading 0 | missing:1 listed:1"},
    {"latest 1", "number | loading 0 | missing:1 listed:1"},
    {"number 1", "S1 | loading 0 | missing:1 listed:1"},
    {"S1 ok", "| serving 1 | missing:1 listed:1 loaded announced accepted"},
};

static const struct sync_row the_service_is_deleted_at_the_snapshot[] = {
    {"asked 3", "number | loading 0 |"},
    {"number 3", "S3 | loading 0 |"},
    {"watch config", "S3 config* | loading 0 |"},
    {"config none", "S3 | loading 0 | listed:1"},
    {"confirm", "S3 exists config* | loading 0 | listed:1"},
    {"exists none", "S3 | loading 0 deleted | listed:1 deleted"},
    {"S3 ok", "| loading 0 deleted | listed:1"},
    {"watch config", "config* | loading 0 deleted | listed:1"},
    {"config ok", "latest* | loading 0 | listed:1"},
    {"latest 3", "| serving 3 | listed:1 loaded announced"},
};

static const struct sync_row the_service_is_deleted_at_a_delta[] = {
    {"asked 4", "number | loading 0 |"},
    {"number 3", "S3 | loading 0 |"},
    {"S3 ok", "D4 | loading 0 |"},
    {"watch config", "D4 config* | loading 0 |"},
    {"config none", "D4 | loading 0 | listed:1"},
    {"confirm", "D4 exists config* | loading 0 | listed:1"},
    {"exists none", "D4 | loading 0 deleted | listed:1 deleted"},
    {"D4 none", "| loading 0 deleted | listed:1"},
    {"watch config", "config* | loading 0 deleted | listed:1"},
    {"config ok", "latest* | loading 0 | listed:1"},
    {"latest 1", "number | loading 0 | listed:1"},
    {"number 1", "S1 | loading 0 | listed:1"},
    {"S1 ok", "| serving 1 | listed:1 loaded announced"},
};

static const struct sync_row the_service_is_deleted_at_a_delta_read_ahead[] = {
    {"loaded 3", "| serving 3 | loaded announced"},
    {"watch latest", "latest* D4 | serving 3 |"},
    {"watch config", "latest* D4 config* | serving 3 |"},
    {"latest none", "D4 config* | serving 3 | listed:1"},
    {"D4 none", "config* | serving 3 | listed:1"},
    {"config none", "| serving 3 | listed:2"},
    {"confirm", "exists config* | serving 3 | listed:2"},
    {"exists none", "| loading 0 deleted | listed:2 deleted withdrawn"},
};

static const struct sync_row a_deleted_service_counts_refusals_but_reads_nothing[] = {
    {"asked 3", "number | loading 0 |"},
    {"number 3", "S3 | loading 0 |"},
    {"watch config", "S3 config* | loading 0 |"},
    {"config none", "S3 | loading 0 | listed:1"},
    {"confirm", "S3 exists config* | loading 0 | listed:1"},
    {"exists none", "S3 | loading 0 deleted | listed:1 deleted"},
    {"S3 damaged", "| loading 0 deleted | compression:1 listed:1 refused"},
    {"watch config", "config* | loading 0 deleted | compression:1 listed:1"},
    {"config ok", "latest* | loading 0 | compression:1 listed:1"},
};

static const struct sync_row a_second_watch_while_a_delta_is_read_asks_for_the_number_alone[] = {
    {"loaded 3", "| serving 3 | loaded announced"},
    {"watch latest", "latest* D4 | serving 3 |"},
    {"watch latest", "latest* D4 latest* | serving 3 |"},
    {"latest 4", "D4 latest* | serving 3 |"},
    {"D4 ok", "latest* | serving 4 |"},
    {"latest 5", "D5 | serving 4 |"},
    {"D5 ok", "| serving 5 |"},
};

static const struct sync_row a_delta_read_ahead_that_is_not_committed_is_dropped[] = {
    {"loaded 3", "| serving 3 | loaded announced"},
    {"watch latest", "latest* D4 | serving 3 |"},
    {"latest 3", "D4 | serving 3 |"},
    {"D4 ok", "| serving 3 |"},
    {"watch latest", "latest* D4 | serving 3 |"},
    {"latest 4", "D4 | serving 3 |"},
    {"D4 ok", "| serving 4 |"},
};

static const struct sync_row announcements_that_fail_are_tried_again[] = {
    {"announce fails", "| loading 0 |"},    {"refresh", "config* latest* | loading 0 |"},
    {"config ok", "latest* | loading 0 |"}, {"latest 3", "number | loading 0 |"},
    {"number 3", "S3 | loading 0 |"},       {"S3 ok", "| serving 3 | +250 loaded announce_failed"},
    {"retry 3", "| serving 3 | +250"},      {"announce works", "| serving 3 | +250"},
    {"retry 3", "| serving 3 | announced"},
};

static const struct sync_row a_vip_of_another_service[] = {
    {"rival 1", "| loading 0 |"},
    {"asked 3", "number | loading 0 |"},
    {"number 3", "S3 | loading 0 |"},
    {"S3 ok", "| loading 0 | +250 config:1 refused"},
    {"retry 3", "number | loading 0 | config:1"},
    {"number 3", "S3 | loading 0 | config:1"},
    {"S3 ok", "| loading 0 | +500 config:2"},
    {"rival goes", "| loading 0 | +500 config:2"},
    {"retry 3", "number | loading 0 | config:2"},
    {"number 3", "S3 | loading 0 | config:2"},
    {"S3 ok", "| serving 3 | config:2 loaded announced accepted"},
};

static const struct sync_row a_new_vip_of_another_service[] = {
    {"loaded 3", "| serving 3 | loaded announced"},
    {"rival 7", "| serving 3 |"},
    {"watch config", "config* | serving 3 |"},
    {"config vip", "| stale 3 | +250 config:1 refused"},
    {"watch latest", "latest* D4 | stale 3 | +250 config:1"},
    {"latest 4", "D4 | stale 3 | +500 config:2"},
    {"D4 ok", "| stale 4 | +1000 config:3"},
    {"retry", "config* latest* | stale 4 | config:3"},
    {"config ok", "latest* | serving 4 | config:3 accepted"},
    {"latest 4", "| serving 4 | config:3"},
};

static const struct sync_row ended_with_a_number_under_way[] = {
    {"asked 3", "number | loading 0 |"},
    {"end", "number | ended"},
    {"number 3", "| ended"},
};

static const struct sync_row ended_with_a_snapshot_under_way[] = {
    {"asked 3", "number | loading 0 |"},
    {"number 3", "S3 | loading 0 |"},
    {"end", "S3 | ended"},
    {"S3 ok", "| ended"},
};

static const struct sync_row ended_with_an_image_and_a_delta_under_way[] = {
    {"asked 4", "number | loading 0 |"},
    {"number 3", "S3 | loading 0 |"},
    {"S3 ok", "D4 | loading 0 |"},
    {"watch config", "D4 config* | loading 0 |"},
    {"end", "D4 config* | ended"},
    {"D4 ok", "config* | ended"},
    {"config ok", "| ended"},
};

static const struct sync_row ended_while_it_serves[] = {
    {"loaded 3", "| serving 3 | loaded announced"},
    {"watch latest", "latest* D4 | serving 3 |"},
    {"end", "latest* D4 | ended withdrawn"},
    {"latest 4", "D4 | ended"},
    {"D4 ok", "| ended"},
};

int main(void)
{
	const struct CMUnitTest tests[] = {
	    SYNC_CASE(a_ring_is_loaded_and_followed),
	    SYNC_CASE(deltas_are_folded_into_an_image_aside),
	    SYNC_CASE(numbers_that_move_while_an_image_is_built),
	    SYNC_CASE(a_snapshot_newer_than_the_number_counts),
	    SYNC_CASE(a_service_without_config_is_deleted_once_the_list_confirms),
	    SYNC_CASE(a_config_that_returns_begins_the_service_again),
	    SYNC_CASE(a_config_that_is_there_after_all),
	    SYNC_CASE(a_missing_latest_gen_is_refused_once_the_list_confirms),
	    SYNC_CASE(a_bad_config_keeps_the_service_as_it_was),
	    SYNC_CASE(a_bad_config_at_first),
	    SYNC_CASE(a_config_with_other_vips_changes_under_the_ring),
	    SYNC_CASE(a_config_with_another_ring_is_another_service),
	    SYNC_CASE(a_config_with_another_ring_drops_the_image),
	    SYNC_CASE(a_generation_that_goes_back_is_another_service),
	    SYNC_CASE(a_gap_needs_a_snapshot),
	    SYNC_CASE(a_missing_delta_backs_off_while_the_image_is_incomplete),
	    SYNC_CASE(a_damaged_delta_is_led_around),
	    SYNC_CASE(a_delta_of_another_image_has_the_snapshot_read),
	    SYNC_CASE(what_comes_before_the_damage_is_published),
	    SYNC_CASE(held_services_note_generations_but_read_nothing),
	    SYNC_CASE(a_snapshot_that_is_missing),
	    SYNC_CASE(numbers_that_are_none),
	    SYNC_CASE(the_connection_is_lost_at_each_request),
	    SYNC_CASE(the_service_is_deleted_at_the_snapshots_number),
	    SYNC_CASE(the_service_is_deleted_at_the_snapshot),
	    SYNC_CASE(the_service_is_deleted_at_a_delta),
	    SYNC_CASE(the_service_is_deleted_at_a_delta_read_ahead),
	    SYNC_CASE(a_deleted_service_counts_refusals_but_reads_nothing),
	    SYNC_CASE(a_second_watch_while_a_delta_is_read_asks_for_the_number_alone),
	    SYNC_CASE(a_delta_read_ahead_that_is_not_committed_is_dropped),
	    SYNC_CASE(announcements_that_fail_are_tried_again),
	    SYNC_CASE(a_vip_of_another_service),
	    SYNC_CASE(a_new_vip_of_another_service),
	    SYNC_CASE(ended_with_a_number_under_way),
	    SYNC_CASE(ended_with_a_snapshot_under_way),
	    SYNC_CASE(ended_with_an_image_and_a_delta_under_way),
	    SYNC_CASE(ended_while_it_serves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
