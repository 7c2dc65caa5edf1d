/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is sent, when, and how much of it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "encap/encap.h"
#include "notices_world.h"
#include "service/peers.h"

static void a_change_is_told_first_then_repeated_then_refreshed(void **state)
{
	struct world *w = world_open(BUCKETS, 100, NULL, NULL);
	uint32_t moves, mark;

	(void)state;
	world_move(w, 0, 8, 4); /* 2 of each, but 4's own stay */
	assert_int_equal(w->seen_count, 7);
	for (uint16_t id = 1; id <= 3; id++) {
		assert_int_equal(world_packets_to(w, 0, id, &moves), 2);
		assert_int_equal(moves, 2);
	}
	assert_int_equal(world_packets_to(w, 0, 4, &moves), 1); /* it loses nothing now, but an open window names it */
	assert_int_equal(moves, 0);
	for (uint32_t i = 0; i < w->seen_count; i++) {
		const struct fl_steer *steer = &w->seen[i].notice.steer;

		assert_int_equal(steer->service, SERVICE);
		assert_int_equal(steer->generation, 8);
		assert_int_equal(!!(steer->flags & FL_STEER_MOVED), i >= 4);
		if (i >= 4) {
			struct fl_address previous = world_address((uint16_t)(w->seen[i].first % 4 + 2));

			assert_int_equal(steer->since, UNIX - 100);
			assert_memory_equal(&steer->previous, &previous, sizeof(previous));
		}
	}
	assert_int_equal(notices_count(w->notices, NOTICE_SENT), 7);
	assert_int_equal(notices_waiting(w->notices, SERVICE), 7);

	mark = w->seen_count;
	world_pass(w, NOTICES_REPEAT_MS - 1);
	/* the first ring's open windows name all four, told at once and then every 10 s */
	assert_int_equal(w->seen_count, mark + 4);
	world_pass(w, 1);
	assert_int_equal(w->seen_count, mark + 11);
	assert_int_equal(notices_count(w->notices, NOTICE_REPEATED), 7);
	assert_int_equal(notices_moves(w->notices), 12);
	assert_int_equal(notices_waiting(w->notices, 0), 0);

	mark = w->seen_count;
	world_pass(w, 20 * 1000);
	assert_int_equal(w->seen_count, mark + 8);
	for (; mark < w->seen_count; mark++) {
		assert_int_equal(w->seen[mark].notice.count, 0);
		assert_int_equal(w->seen[mark].notice.steer.generation, 8);
	}
	/* The first windows end 140 s after the start; those of 1, 2 and 3, which lost buckets now, last longer. */
	world_pass(w, 125 * 1000);
	mark = w->seen_count;
	world_pass(w, 20 * 1000);
	assert_int_equal(w->seen_count, mark + 6);
	for (uint16_t id = 1; id <= 3; id++)
		assert_int_equal(world_packets_to(w, mark, id, &moves), 2);
	world_pass(w, 200 * 1000);
	mark = w->seen_count;
	world_pass(w, 100 * 1000);
	assert_int_equal(w->seen_count, mark);
	world_close(w);
}

/* Three owners in turn: the first one is told of the change that it has no part in, once. */
static void an_earlier_loser_is_told_with_the_change(void **state)
{
	struct world *w = world_open(BUCKETS, 1000, NULL, NULL);
	uint32_t moves;

	(void)state;
	world_move(w, 0, 1, 2); /* bucket 0 from 1 */
	world_pass(w, 2 * NOTICES_REPEAT_MS);
	w->seen_count = 0;
	world_move(w, 0, 1, 3);
	assert_int_equal(w->seen_count, 3);
	assert_int_equal(world_packets_to(w, 0, 1, &moves), 1);
	assert_int_equal(world_packets_to(w, 0, 2, &moves), 2);
	assert_int_equal(moves, 1);
	for (uint32_t i = 0; i < w->seen_count; i++)
		assert_int_equal(w->seen[i].notice.steer.generation, 9);
	world_pass(w, NOTICES_REPEAT_MS);
	assert_int_equal(w->seen_count, 6);
	world_pass(w, 300 * 1000);
	w->seen_count = 0;
	world_move(w, 0, 1, 2); /* of 3 alone: the other windows are over */
	assert_int_equal(w->seen_count, 1);
	world_close(w);
}

static void closed_windows_tell_the_generation_alone(void **state)
{
	struct world *w = world_open(BUCKETS, 1000, NULL, NULL);

	(void)state;
	world_move(w, 0, BUCKETS, 4);
	assert_int_equal(w->seen_count, 3);
	assert_int_equal(notices_moves(w->notices), 0);
	world_close(w);
}

static void held_buckets_tell_their_move_beyond_the_window(void **state)
{
	enum { HOLD = 3600 };
	struct world *w = world_open_held(BUCKETS, 1000, NULL, NULL, HOLD);
	struct service_config config = w->service->config;
	struct reason why = {{0}};
	uint32_t moves, mark;

	(void)state;
	world_move(w, 0, 1, 4);
	assert_int_equal(notices_moves(w->notices), 1); /* of bucket 0: 1 has it from 2 */
	assert_int_equal(world_packets_to(w, 0, 1, &moves), 2);
	assert_int_equal(moves, 1);
	assert_int_equal(world_packets_to(w, 0, 2, &moves),
			 1); /* each row names a former owner, which is told the generation */
	assert_int_equal(world_packets_to(w, 0, 3, &moves), 1);
	world_pass(w, 20000);
	mark = w->seen_count;
	world_pass(w, NOTICES_REFRESH_MS);
	assert_int_equal(w->seen_count - mark, BACKENDS);
	world_pass(w, (HOLD + 240 - 1000) * 1000ULL); /* of the first ring's moves */
	mark = w->seen_count;
	world_pass(w, NOTICES_REFRESH_MS);
	assert_int_equal(w->seen_count - mark, 1); /* 1 lost a bucket later */
	config.hold = 0;
	assert_int_equal(tables_change(w->tables, w->service, &config, &why), 0);
	mark = w->seen_count;
	world_move(w, 2, 1, 4);
	assert_int_equal(w->seen_count - mark, 1); /* the loser alone, and no move */
	assert_int_equal(notices_moves(w->notices), 2);
	world_close(w);
}

static void a_snapshot_over_several_generations(void **state)
{
	struct world *w = world_open(BUCKETS, 100, NULL, NULL);
	struct delta image = image_snapshot(SERVICE, 12, BUCKETS, BACKENDS);
	uint32_t moves;

	(void)state;
	image_own(&image, 1, 4); /* of 2 */
	notices_before(w->notices, w->service, &image, false);
	assert_int_equal(w->seen_count, 5);
	assert_int_equal(world_packets_to(w, 0, 2, &moves), 2);
	assert_int_equal(moves, 1);
	assert_int_equal(w->told[1], 1);
	assert_int_equal(w->seen[0].notice.steer.generation, 12);
	image_free(&image);
	world_close(w);
}

static void ipip_names_no_bucket(void **state)
{
	struct world *w = world_open(BUCKETS, 100, NULL, &encap_ipip);

	(void)state;
	world_move(w, 0, BUCKETS, 4);
	assert_int_equal(w->seen_count, 4);
	assert_int_equal(notices_moves(w->notices), 0);
	world_close(w);
}

static void tagged(void **state)
{
	static const struct fl_siphash_key key = {7, 8};
	struct world *w = world_open(BUCKETS, 100, &key, NULL);

	(void)state;
	world_move(w, 0, BUCKETS, 4);
	assert_int_equal(w->seen_count, 7);
	assert_int_equal(notices_moves(w->notices), BUCKETS - BUCKETS / BACKENDS);
	world_close(w);
}

/* 393,216 moves of half a million buckets: the burst first, then at the rate, each bucket once in each pass. */
static void a_large_change_is_paced(void **state)
{
	struct world *w = world_open(BIG, 100, NULL, NULL);
	uint32_t packets = BACKENDS + 3 * ((BIG / 4 + BATCH_BUCKETS - 1) / BATCH_BUCKETS), waiting;
	uint64_t longest = 0, started;

	(void)state;
	world_move(w, 0, BIG, 4);
	assert_int_equal(w->seen_count, NOTICES_BURST);
	waiting = packets - NOTICES_BURST;
	assert_int_equal(notices_waiting(w->notices, SERVICE), waiting);
	started = w->now_ms;
	while (notices_count(w->notices, NOTICE_SENT) < packets) {
		uint32_t mark = w->seen_count;

		world_pass(w, NOTICES_PAUSE_MS);
		assert_true(w->seen_count - mark <= NOTICES_PAUSE_MS * NOTICES_RATE / 1000);
		longest = w->now_ms - started;
	}
	/* what was reserved for the next change is filled up first */
	assert_in_range(longest, (waiting + NOTICES_RESERVED) * 1000ULL / NOTICES_RATE,
			(waiting + NOTICES_RESERVED + 10) * 1000ULL / NOTICES_RATE + 2 * NOTICES_PAUSE_MS);
	for (uint32_t i = 0; i < BIG; i++)
		assert_int_equal(w->told[i], i % 4 != 3);
	world_pass(w, 9 * 1000);
	assert_int_equal(notices_count(w->notices, NOTICE_REPEATED), packets);
	for (uint32_t i = 0; i < BIG; i++)
		assert_int_equal(w->told[i], 2 * (i % 4 != 3));
	assert_int_equal(notices_count(w->notices, NOTICE_LIMITED), 0);
	world_close(w);
}

static void a_change_among_what_waits_is_told_at_once(void **state)
{
	struct world *w = world_open(BIG, 100, NULL, NULL);
	uint32_t mark;

	(void)state;
	world_move(w, 0, BIG / 2, 4);
	world_pass(w, 120);
	assert_true(notices_waiting(w->notices, SERVICE) > 0);
	mark = w->seen_count;
	world_move(w, BIG / 2, 8, 4);
	assert_int_equal(w->seen_count, mark + 7);
	assert_int_equal(w->seen[mark].notice.steer.generation, 9);
	world_close(w);
}

static void errors_are_counted_and_do_not_stop_it(void **state)
{
	static const struct {
		int error;
		enum notice_error counted;
	} rows[] = {{-ENETUNREACH, NOTICE_NO_ROUTE},   {-EHOSTUNREACH, NOTICE_NO_ROUTE},
		    {-EPERM, NOTICE_DENIED},           {-EADDRNOTAVAIL, NOTICE_NO_SOURCE},
		    {-EAFNOSUPPORT, NOTICE_NO_SOURCE}, {-EMSGSIZE, NOTICE_TOO_BIG},
		    {-ENOBUFS, NOTICE_NO_MEMORY},      {-EINVAL, NOTICE_OTHER}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct world *w = world_open(BUCKETS, 100, NULL, NULL);

		w->error = rows[i].error;
		world_move(w, 0, 8, 4);
		assert_int_equal(notices_errors(w->notices, rows[i].counted), 7);
		assert_int_equal(notices_count(w->notices, NOTICE_SENT), 0);
		w->error = 0;
		world_pass(w, NOTICES_REPEAT_MS);
		assert_int_equal(notices_count(w->notices, NOTICE_REPEATED), 7);
		world_close(w);
	}
}

static void a_full_socket_is_tried_again(void **state)
{
	struct world *w = world_open(BUCKETS, 100, NULL, NULL);

	(void)state;
	w->error = -EAGAIN;
	world_move(w, 0, 8, 4);
	world_pass(w, 100);
	assert_int_equal(w->seen_count, 0);
	w->error = 0;
	world_pass(w, NOTICES_PAUSE_MS);
	assert_int_equal(notices_count(w->notices, NOTICE_SENT), 7);
	for (int error = 0; error < NOTICE_ERRORS; error++)
		assert_int_equal(notices_errors(w->notices, error), 0);
	world_close(w);
}

/* New arrays give connections other buckets: all owners are told, as if each had lost one, although none moves. */
static void new_arrays_are_told_to_all_owners(void **state)
{
	struct world *w = world_open(BUCKETS, 10000, NULL, NULL);
	struct delta delta = {.service = SERVICE, .generation = 8, .base = 7, .buckets = BUCKETS, .committed = UNIX};
	struct reason why = {{0}};
	uint32_t count, moves;

	(void)state;
	notices_before(w->notices, w->service, &delta, false);
	assert_int_equal(w->seen_count, 0);
	notices_before(w->notices, w->service, &delta, true);
	assert_int_equal(tables_apply(w->tables, w->service, &delta, &why), 0);
	for (uint16_t id = 1; id <= BACKENDS; id++)
		assert_int_equal(world_packets_to(w, 0, id, &moves), 1);
	assert_int_equal(w->seen_count, BACKENDS);
	assert_int_equal(notices_count(w->notices, NOTICE_SENT), BACKENDS);
	notices_owners(w->notices, SERVICE, &count);
	assert_int_equal(count, BACKENDS);
	world_pass(w, NOTICES_REPEAT_MS);
	assert_int_equal(notices_count(w->notices, NOTICE_REPEATED), BACKENDS);
	count = (uint32_t)notices_count(w->notices, NOTICE_REFRESHED);
	world_pass(w, 2 * NOTICES_REFRESH_MS);
	assert_int_equal(notices_count(w->notices, NOTICE_REFRESHED), count + 2 * BACKENDS);
	for (uint32_t i = 0; i < w->seen_count; i++)
		assert_int_equal(w->seen[i].notice.steer.generation, 8);
	world_pass(w, 240 * 1000); /* the window is over */
	count = w->seen_count;
	world_pass(w, 2 * NOTICES_REFRESH_MS);
	assert_int_equal(w->seen_count, count);
	assert_int_equal(notices_moves(w->notices), 0);
	notices_forget(w->notices, SERVICE); /* of a first ring, arrays may be as new as the ring */
	w->image.image.committed = world_now(w) - 230;
	notices_before(w->notices, w->service, &w->image, true);
	notices_owners(w->notices, SERVICE, &count);
	assert_int_equal(count, BACKENDS);
	world_close(w);
}

static void nothing_is_sent_for_a_service_that_is_gone(void **state)
{
	struct world *w = world_open(BUCKETS, 100, NULL, NULL);
	uint32_t count;

	(void)state;
	world_move(w, 0, 8, 4);
	notices_forget(w->notices, SERVICE);
	assert_null(notices_owners(w->notices, SERVICE, &count));
	assert_int_equal(notices_deadline(w->notices), UINT64_MAX);
	count = w->seen_count;
	w->now_ms += 60 * 1000;
	notices_run(w->notices);
	assert_int_equal(w->seen_count, count);
	world_close(w);
}

/* What waits is bounded: repetitions are dropped first, then the moves of the newest change; generations never. */
static void too_much_is_dropped_and_counted(void **state)
{
	struct world *w = world_open(FL_BUCKETS_MAX, 100, NULL, NULL);
	uint64_t limited;

	(void)state;
	w->error = -EAGAIN;
	world_move(w, 0, FL_BUCKETS_MAX, 4);
	assert_int_equal(notices_count(w->notices, NOTICE_LIMITED), 0);
	assert_int_equal(notices_waiting(w->notices, SERVICE),
			 BACKENDS + 3 * ((FL_BUCKETS_MAX / 4 + BATCH_BUCKETS - 1) / BATCH_BUCKETS));
	world_move(w, 0, FL_BUCKETS_MAX, 3); /* all of 4, of one group */
	limited = (FL_BUCKETS_MAX * 3ULL / 4 + BATCH_BUCKETS - 1) / BATCH_BUCKETS;
	assert_true(notices_count(w->notices, NOTICE_LIMITED) >= limited);
	assert_int_equal(notices_waiting(w->notices, SERVICE),
			 BACKENDS + 3 * ((FL_BUCKETS_MAX / 4 + BATCH_BUCKETS - 1) / BATCH_BUCKETS) + BACKENDS);
	world_close(w);
}

/* Of five muxes exactly two tell each server; without one of those, another takes its place. */
static void two_muxes_tell_each_server(void **state)
{
	enum { MUXES = 5, SERVERS = 200 };
	struct fl_address muxes[MUXES];
	const struct peers_deal deal = {.seed = {3, 4}};
	unsigned tells[MUXES] = {0};

	(void)state;
	for (uint8_t i = 0; i < MUXES; i++)
		muxes[i] = fl_address_from_ipv4((const uint8_t[]){10, 1, 0, (uint8_t)(11 + i)});
	for (uint32_t s = 0; s < SERVERS; s++) {
		struct fl_address server = fl_address_from_ipv4((const uint8_t[]){10, 1, 1, (uint8_t)s});
		unsigned all = 0, without = 0;

		for (uint32_t i = 0; i < MUXES; i++) {
			struct peers *peers = peers_new(muxes, MUXES, &muxes[i], &deal, &image_hops);

			assert_non_null(peers);
			all += peers_tells(peers, &server, NOTICES_SENDERS);
			tells[i] += peers_tells(peers, &server, NOTICES_SENDERS);
			peers_free(peers);
			if (!i)
				continue;
			peers = peers_new(muxes + 1, MUXES - 1, &muxes[i], &deal, &image_hops);
			assert_non_null(peers);
			without += peers_tells(peers, &server, NOTICES_SENDERS);
			peers_free(peers);
		}
		assert_int_equal(all, NOTICES_SENDERS);
		assert_int_equal(without, NOTICES_SENDERS);
	}
	for (uint32_t i = 0; i < MUXES; i++)
		assert_in_range(tells[i], SERVERS * 2 / MUXES / 2, SERVERS * 2 / MUXES * 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_change_is_told_first_then_repeated_then_refreshed),
	    cmocka_unit_test(an_earlier_loser_is_told_with_the_change),
	    cmocka_unit_test(closed_windows_tell_the_generation_alone),
	    cmocka_unit_test(held_buckets_tell_their_move_beyond_the_window),
	    cmocka_unit_test(a_snapshot_over_several_generations),
	    cmocka_unit_test(ipip_names_no_bucket),
	    cmocka_unit_test(tagged),
	    cmocka_unit_test(a_large_change_is_paced),
	    cmocka_unit_test(a_change_among_what_waits_is_told_at_once),
	    cmocka_unit_test(errors_are_counted_and_do_not_stop_it),
	    cmocka_unit_test(a_full_socket_is_tried_again),
	    cmocka_unit_test(new_arrays_are_told_to_all_owners),
	    cmocka_unit_test(nothing_is_sent_for_a_service_that_is_gone),
	    cmocka_unit_test(too_much_is_dropped_and_counted),
	    cmocka_unit_test(two_muxes_tell_each_server),
	};

	return cmocka_run_group_tests_name("notices", tests, NULL, NULL);
}
