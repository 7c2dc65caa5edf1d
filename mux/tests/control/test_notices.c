/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is sent, when, and how much of it: notices over a clock and a socket of the test. Each packet is read by the
 * parser that servers use.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fairlead/notice.h>

#include "encap/encap.h"
#include "notice/batch.h"
#include "notice/notices.h"
#include "service/peers.h"
#include "service/tables.h"
#include "../image.h"

enum {
	UNIX = 1700000100,
	START_MS = 5000,
	SERVICE = 1,
	BUCKETS = 1024,
	BIG = 524288,
	BACKENDS = 4,
	PACKETS_MAX = 60000
};

struct packet_seen {
	struct fl_address to;
	struct fl_notice notice;
	uint64_t at_ms;
	uint32_t first; /* bucket */
};

struct world {
	uint64_t now_ms;
	int error; /* of the next packets */
	uint32_t seen_count;
	struct packet_seen *seen;
	uint32_t *told; /* how often each bucket was told */
	const struct fl_siphash_key *key;
	struct tables *tables;
	struct service *service;
	struct notices *notices;
	struct delta image;
};

static uint64_t now_ms(void *clock)
{
	return ((struct world *)clock)->now_ms;
}

static uint32_t now(void *clock)
{
	return UNIX + (uint32_t)((((struct world *)clock)->now_ms - START_MS) / 1000);
}

static void check_tag(const struct world *w, const uint8_t *bytes, uint32_t len, const struct fl_notice *notice)
{
	struct fl_tag_message message = {{0}};

	assert_int_equal(!!(notice->steer.flags & FL_STEER_TAG), w->key != NULL);
	if (!w->key)
		return;
	assert_true(fl_notice_message(w->key, bytes, bytes + len, notice, &message));
	assert_true(fl_tag_load(notice->steer.tag) == fl_tag(w->key, &message));
}

static int sink(void *context, const struct fl_address *to, const uint8_t *bytes, uint32_t len)
{
	struct world *w = context;
	struct packet_seen *seen = &w->seen[w->seen_count];
	uint32_t bucket = 0;

	if (w->error)
		return w->error;
	assert_true(w->seen_count < PACKETS_MAX);
	assert_true(len + 40 + 8 <= 1280);
	assert_int_equal(fl_notice_parse(bytes, bytes + len, len, &seen->notice), FL_STEER_OK);
	check_tag(w, bytes, len, &seen->notice);
	for (uint32_t i = 0; fl_notice_bucket(bytes, bytes + len, &seen->notice, i, &bucket); i++) {
		if (!i)
			seen->first = bucket;
		if (!fl_notice_is_removal(bucket))
			w->told[bucket]++;
	}
	seen->to = *to;
	seen->at_ms = w->now_ms;
	w->seen_count++;
	return 0;
}

static struct fl_address address_of(uint16_t id)
{
	uint8_t bytes[4] = {10, 1, 0, (uint8_t)(20 + id)};

	return fl_address_from_ipv4(bytes);
}

/* A ring that is loaded and whose buckets all moved `age` seconds ago, from 1 behind their owner. */
static struct world *open_held_world(uint32_t buckets, uint32_t age, const struct fl_siphash_key *key,
				     const struct encap *encap, uint32_t hold)
{
	struct world *w = calloc(1, sizeof(*w));
	struct service_config config = image_config(SERVICE, "10.99.0.1", buckets);
	struct notices_options options = {.tag_key = key, .sink = {w, sink}, .now_ms = now_ms, .now = now, .clock = w};
	struct fl_address self = image_address("10.1.0.11"), none = {{0}};
	struct fl_siphash_key seed = {1, 2};
	struct reason why = {{0}};

	assert_non_null(w);
	w->now_ms = START_MS;
	w->key = key;
	w->seen = calloc(PACKETS_MAX, sizeof(*w->seen));
	w->told = calloc(buckets, sizeof(*w->told));
	w->tables = tables_new(1, &image_hops);
	assert_true(w->seen && w->told && w->tables);
	assert_int_equal(tables_set_self(w->tables, &self, &none, &seed), 0);
	if (encap)
		config.encap = encap;
	config.hold = hold;
	assert_int_equal(tables_add(w->tables, &config, &w->service, &why), 0);
	w->image = image_snapshot(SERVICE, 7, buckets, BACKENDS);
	for (uint32_t i = 0; i < buckets; i++) {
		w->image.previous[i] = w->image.current[i] % BACKENDS + 1;
		w->image.since[i] = UNIX - age;
	}
	options.tables = w->tables;
	w->notices = notices_new(&options);
	assert_non_null(w->notices);
	notices_before(w->notices, w->service, &w->image, false);
	assert_int_equal(w->seen_count, 0); /* nobody loses a bucket by a first ring */
	assert_int_equal(tables_load(w->tables, w->service, &w->image, &why), 0);
	return w;
}

static struct world *open_world(uint32_t buckets, uint32_t age, const struct fl_siphash_key *key,
				const struct encap *encap)
{
	return open_held_world(buckets, age, key, encap, 0);
}

static void close_world(struct world *w)
{
	notices_free(w->notices);
	tables_remove(w->tables, w->service);
	tables_free(w->tables);
	image_free(&w->image);
	free(w->seen);
	free(w->told);
	free(w);
}

/* Gives buckets to a backend: what servers are told before, then the change. */
static void move(struct world *w, uint32_t start, uint32_t count, uint16_t to)
{
	uint32_t generation = ring_generation(service_ring(w->service)) + 1;
	uint16_t from = fl_row_current(ring_row(service_ring(w->service), start));
	struct delta delta = image_move(&w->image, generation, start, count, to, from, now(w));
	struct reason why = {{0}};

	notices_before(w->notices, w->service, &delta, false);
	assert_int_equal(tables_apply(w->tables, w->service, &delta, &why), 0);
	image_free(&delta);
}

/* Lets time pass as the control thread does: it wakes at deadlines. */
static void pass(struct world *w, uint64_t ms)
{
	uint64_t end = w->now_ms + ms;

	while (w->now_ms < end) {
		uint64_t at = notices_deadline(w->notices);

		assert_true(at > w->now_ms || w->seen_count < PACKETS_MAX);
		w->now_ms = at < w->now_ms + 1 ? w->now_ms + 1 : at < end ? at : end;
		notices_run(w->notices);
	}
}

/* Packets to an id from this index on; *moves is how many buckets they tell. */
static uint32_t to_id(const struct world *w, uint32_t from, uint16_t id, uint32_t *moves)
{
	struct fl_address address = address_of(id);
	uint32_t count = 0;

	*moves = 0;
	for (; from < w->seen_count; from++) {
		if (!fl_address_equal(&w->seen[from].to, &address))
			continue;
		count++;
		*moves += w->seen[from].notice.count;
	}
	return count;
}

static void a_change_is_told_first_then_repeated_then_refreshed(void **state)
{
	struct world *w = open_world(BUCKETS, 100, NULL, NULL);
	uint32_t moves, mark;

	(void)state;
	move(w, 0, 8, 4); /* 2 of each, but 4's own stay */
	assert_int_equal(w->seen_count, 7);
	for (uint16_t id = 1; id <= 3; id++) {
		assert_int_equal(to_id(w, 0, id, &moves), 2);
		assert_int_equal(moves, 2);
	}
	assert_int_equal(to_id(w, 0, 4, &moves), 1); /* it loses nothing now, but an open window names it */
	assert_int_equal(moves, 0);
	for (uint32_t i = 0; i < w->seen_count; i++) {
		const struct fl_steer *steer = &w->seen[i].notice.steer;

		assert_int_equal(steer->service, SERVICE);
		assert_int_equal(steer->generation, 8);
		assert_int_equal(!!(steer->flags & FL_STEER_MOVED), i >= 4);
		if (i >= 4) {
			struct fl_address previous = address_of((uint16_t)(w->seen[i].first % 4 + 2));

			assert_int_equal(steer->since, UNIX - 100);
			assert_memory_equal(&steer->previous, &previous, sizeof(previous));
		}
	}
	assert_int_equal(notices_count(w->notices, NOTICE_SENT), 7);
	assert_int_equal(notices_waiting(w->notices, SERVICE), 7);

	mark = w->seen_count;
	pass(w, NOTICES_REPEAT_MS - 1);
	/* the first ring's open windows name all four, told at once and then every 10 s */
	assert_int_equal(w->seen_count, mark + 4);
	pass(w, 1);
	assert_int_equal(w->seen_count, mark + 11);
	assert_int_equal(notices_count(w->notices, NOTICE_REPEATED), 7);
	assert_int_equal(notices_moves(w->notices), 12);
	assert_int_equal(notices_waiting(w->notices, 0), 0);

	mark = w->seen_count;
	pass(w, 20 * 1000);
	assert_int_equal(w->seen_count, mark + 8);
	for (; mark < w->seen_count; mark++) {
		assert_int_equal(w->seen[mark].notice.count, 0);
		assert_int_equal(w->seen[mark].notice.steer.generation, 8);
	}
	/* The first windows end 140 s after the start; the window of 1, which lost buckets now, lasts longer. */
	pass(w, 125 * 1000);
	mark = w->seen_count;
	pass(w, 20 * 1000);
	assert_int_equal(w->seen_count, mark + 2);
	assert_int_equal(to_id(w, mark, 1, &moves), 2);
	pass(w, 200 * 1000);
	mark = w->seen_count;
	pass(w, 100 * 1000);
	assert_int_equal(w->seen_count, mark);
	close_world(w);
}

/* Three owners in turn: the first one is told of the change that it has no part in, once. */
static void an_earlier_loser_is_told_with_the_change(void **state)
{
	struct world *w = open_world(BUCKETS, 1000, NULL, NULL);
	uint32_t moves;

	(void)state;
	move(w, 0, 1, 2); /* bucket 0 from 1 */
	pass(w, 2 * NOTICES_REPEAT_MS);
	w->seen_count = 0;
	move(w, 0, 1, 3);
	assert_int_equal(w->seen_count, 3);
	assert_int_equal(to_id(w, 0, 1, &moves), 1);
	assert_int_equal(to_id(w, 0, 2, &moves), 2);
	assert_int_equal(moves, 1);
	for (uint32_t i = 0; i < w->seen_count; i++)
		assert_int_equal(w->seen[i].notice.steer.generation, 9);
	pass(w, NOTICES_REPEAT_MS);
	assert_int_equal(w->seen_count, 6);
	pass(w, 300 * 1000);
	w->seen_count = 0;
	move(w, 0, 1, 2); /* of 3 alone: the other windows are over */
	assert_int_equal(w->seen_count, 1);
	close_world(w);
}

static void closed_windows_tell_the_generation_alone(void **state)
{
	struct world *w = open_world(BUCKETS, 1000, NULL, NULL);

	(void)state;
	move(w, 0, BUCKETS, 4);
	assert_int_equal(w->seen_count, 3);
	assert_int_equal(notices_moves(w->notices), 0);
	close_world(w);
}

static void held_buckets_tell_their_move_beyond_the_window(void **state)
{
	enum { HOLD = 3600 };
	struct world *w = open_held_world(BUCKETS, 1000, NULL, NULL, HOLD);
	struct service_config config = w->service->config;
	struct reason why = {{0}};
	uint32_t moves, mark;

	(void)state;
	move(w, 0, 1, 4);
	assert_int_equal(notices_moves(w->notices), 1); /* of bucket 0: 1 has it from 2 */
	assert_int_equal(to_id(w, 0, 1, &moves), 2);
	assert_int_equal(moves, 1);
	assert_int_equal(to_id(w, 0, 2, &moves), 1); /* each row names a former owner, which is told the generation */
	assert_int_equal(to_id(w, 0, 3, &moves), 1);
	pass(w, 20000);
	mark = w->seen_count;
	pass(w, NOTICES_REFRESH_MS);
	assert_int_equal(w->seen_count - mark, BACKENDS);
	pass(w, (HOLD + 240 - 1000) * 1000ULL); /* of the first ring's moves */
	mark = w->seen_count;
	pass(w, NOTICES_REFRESH_MS);
	assert_int_equal(w->seen_count - mark, 1); /* 1 lost a bucket later */
	config.hold = 0;
	assert_int_equal(tables_change(w->tables, w->service, &config, &why), 0);
	mark = w->seen_count;
	move(w, 2, 1, 4);
	assert_int_equal(w->seen_count - mark, 1); /* the loser alone, and no move */
	assert_int_equal(notices_moves(w->notices), 2);
	close_world(w);
}

static void a_snapshot_over_several_generations(void **state)
{
	struct world *w = open_world(BUCKETS, 100, NULL, NULL);
	struct delta image = image_snapshot(SERVICE, 12, BUCKETS, BACKENDS);
	uint32_t moves;

	(void)state;
	image.current[1] = 4; /* of 2 */
	notices_before(w->notices, w->service, &image, false);
	assert_int_equal(w->seen_count, 5);
	assert_int_equal(to_id(w, 0, 2, &moves), 2);
	assert_int_equal(moves, 1);
	assert_int_equal(w->told[1], 1);
	assert_int_equal(w->seen[0].notice.steer.generation, 12);
	image_free(&image);
	close_world(w);
}

static void ipip_names_no_bucket(void **state)
{
	struct world *w = open_world(BUCKETS, 100, NULL, &encap_ipip);

	(void)state;
	move(w, 0, BUCKETS, 4);
	assert_int_equal(w->seen_count, 4);
	assert_int_equal(notices_moves(w->notices), 0);
	close_world(w);
}

static void tagged(void **state)
{
	static const struct fl_siphash_key key = {7, 8};
	struct world *w = open_world(BUCKETS, 100, &key, NULL);

	(void)state;
	move(w, 0, BUCKETS, 4);
	assert_int_equal(w->seen_count, 7);
	assert_int_equal(notices_moves(w->notices), BUCKETS - BUCKETS / BACKENDS);
	close_world(w);
}

/* 393,216 moves of half a million buckets: the burst first, then at the rate, each bucket once in each pass. */
static void a_large_change_is_paced(void **state)
{
	struct world *w = open_world(BIG, 100, NULL, NULL);
	uint32_t packets = BACKENDS + 3 * ((BIG / 4 + BATCH_BUCKETS - 1) / BATCH_BUCKETS), waiting;
	uint64_t longest = 0, started;

	(void)state;
	move(w, 0, BIG, 4);
	assert_int_equal(w->seen_count, NOTICES_BURST);
	waiting = packets - NOTICES_BURST;
	assert_int_equal(notices_waiting(w->notices, SERVICE), waiting);
	started = w->now_ms;
	while (notices_count(w->notices, NOTICE_SENT) < packets) {
		uint32_t mark = w->seen_count;

		pass(w, NOTICES_PAUSE_MS);
		assert_true(w->seen_count - mark <= NOTICES_PAUSE_MS * NOTICES_RATE / 1000);
		longest = w->now_ms - started;
	}
	/* what was reserved for the next change is filled up first */
	assert_in_range(longest, (waiting + NOTICES_RESERVED) * 1000ULL / NOTICES_RATE,
			(waiting + NOTICES_RESERVED + 10) * 1000ULL / NOTICES_RATE + 2 * NOTICES_PAUSE_MS);
	for (uint32_t i = 0; i < BIG; i++)
		assert_int_equal(w->told[i], i % 4 != 3);
	pass(w, 9 * 1000);
	assert_int_equal(notices_count(w->notices, NOTICE_REPEATED), packets);
	for (uint32_t i = 0; i < BIG; i++)
		assert_int_equal(w->told[i], 2 * (i % 4 != 3));
	assert_int_equal(notices_count(w->notices, NOTICE_LIMITED), 0);
	close_world(w);
}

static void a_change_among_what_waits_is_told_at_once(void **state)
{
	struct world *w = open_world(BIG, 100, NULL, NULL);
	uint32_t mark;

	(void)state;
	move(w, 0, BIG / 2, 4);
	pass(w, 120);
	assert_true(notices_waiting(w->notices, SERVICE) > 0);
	mark = w->seen_count;
	move(w, BIG / 2, 8, 4);
	assert_int_equal(w->seen_count, mark + 7);
	assert_int_equal(w->seen[mark].notice.steer.generation, 9);
	close_world(w);
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
		struct world *w = open_world(BUCKETS, 100, NULL, NULL);

		w->error = rows[i].error;
		move(w, 0, 8, 4);
		assert_int_equal(notices_errors(w->notices, rows[i].counted), 7);
		assert_int_equal(notices_count(w->notices, NOTICE_SENT), 0);
		w->error = 0;
		pass(w, NOTICES_REPEAT_MS);
		assert_int_equal(notices_count(w->notices, NOTICE_REPEATED), 7);
		close_world(w);
	}
}

static void a_full_socket_is_tried_again(void **state)
{
	struct world *w = open_world(BUCKETS, 100, NULL, NULL);

	(void)state;
	w->error = -EAGAIN;
	move(w, 0, 8, 4);
	pass(w, 100);
	assert_int_equal(w->seen_count, 0);
	w->error = 0;
	pass(w, NOTICES_PAUSE_MS);
	assert_int_equal(notices_count(w->notices, NOTICE_SENT), 7);
	for (int error = 0; error < NOTICE_ERRORS; error++)
		assert_int_equal(notices_errors(w->notices, error), 0);
	close_world(w);
}

/* New arrays give connections other buckets: all owners are told, as if each had lost one, although none moves. */
static void new_arrays_are_told_to_all_owners(void **state)
{
	struct world *w = open_world(BUCKETS, 10000, NULL, NULL);
	struct delta delta = {.service = SERVICE, .generation = 8, .base = 7, .buckets = BUCKETS, .committed = UNIX};
	struct reason why = {{0}};
	uint32_t count, moves;

	(void)state;
	notices_before(w->notices, w->service, &delta, false);
	assert_int_equal(w->seen_count, 0);
	notices_before(w->notices, w->service, &delta, true);
	assert_int_equal(tables_apply(w->tables, w->service, &delta, &why), 0);
	for (uint16_t id = 1; id <= BACKENDS; id++)
		assert_int_equal(to_id(w, 0, id, &moves), 1);
	assert_int_equal(w->seen_count, BACKENDS);
	assert_int_equal(notices_count(w->notices, NOTICE_SENT), BACKENDS);
	notices_owners(w->notices, SERVICE, &count);
	assert_int_equal(count, BACKENDS);
	pass(w, NOTICES_REPEAT_MS);
	assert_int_equal(notices_count(w->notices, NOTICE_REPEATED), BACKENDS);
	count = (uint32_t)notices_count(w->notices, NOTICE_REFRESHED);
	pass(w, 2 * NOTICES_REFRESH_MS);
	assert_int_equal(notices_count(w->notices, NOTICE_REFRESHED), count + 2 * BACKENDS);
	for (uint32_t i = 0; i < w->seen_count; i++)
		assert_int_equal(w->seen[i].notice.steer.generation, 8);
	pass(w, 240 * 1000); /* the window is over */
	count = w->seen_count;
	pass(w, 2 * NOTICES_REFRESH_MS);
	assert_int_equal(w->seen_count, count);
	assert_int_equal(notices_moves(w->notices), 0);
	notices_forget(w->notices, SERVICE); /* of a first ring, arrays may be as new as the ring */
	w->image.committed = now(w) - 230;
	notices_before(w->notices, w->service, &w->image, true);
	notices_owners(w->notices, SERVICE, &count);
	assert_int_equal(count, BACKENDS);
	close_world(w);
}

/* A commit that changes one backend's entry and moves nothing; entry: its flags and weight. */
static void change_backend(struct world *w, uint16_t id, uint16_t flags, uint16_t weight)
{
	uint32_t generation = ring_generation(service_ring(w->service)) + 1;
	struct fl_delta_backend entry = {id, flags, weight, address_of(id)};
	struct delta delta = {.service = SERVICE,
			      .generation = generation,
			      .base = generation - 1,
			      .buckets = w->image.buckets,
			      .committed = now(w),
			      .backends_count = 1,
			      .backends = &entry};
	struct reason why = {{0}};

	notices_before(w->notices, w->service, &delta, false);
	assert_int_equal(tables_apply(w->tables, w->service, &delta, &why), 0);
}

/* Packets from this index on that name a server as removed, by this generation and in this second. */
static uint32_t removals_of(const struct world *w, uint32_t from, uint16_t id, uint32_t generation, uint32_t since)
{
	struct fl_address server = address_of(id);
	uint32_t count = 0;

	for (; from < w->seen_count; from++) {
		const struct packet_seen *seen = &w->seen[from];

		if (seen->notice.count != 1 || !fl_notice_is_removal(seen->first))
			continue;
		assert_memory_equal(&seen->notice.steer.previous, &server, sizeof(server));
		assert_false(fl_address_equal(&seen->to, &server));
		assert_int_equal(seen->notice.steer.generation, generation);
		assert_int_equal(seen->notice.steer.since, since);
		count++;
	}
	return count;
}

/* All backends but the dead one are told of it, twice; then those that lost buckets, until the window is over. */
static void a_dead_server_is_named(void **state)
{
	static const struct fl_siphash_key key = {5, 6};
	struct world *w = open_world(BUCKETS, 1000, &key, NULL);
	uint32_t mark, since;

	(void)state;
	move(w, 0, 1, 3); /* from 1 */
	pass(w, 5 * NOTICES_REPEAT_MS);
	mark = w->seen_count;
	since = now(w);
	change_backend(w, 4, FL_BACKEND_REMOVED, 1);
	assert_int_equal(removals_of(w, mark, 4, 9, since), BACKENDS - 1);
	assert_int_equal(w->seen_count, mark + 1 + BACKENDS - 1);
	pass(w, NOTICES_REPEAT_MS);
	assert_int_equal(removals_of(w, mark, 4, 9, since), 2 * (BACKENDS - 1));
	move(w, 0, 1, 1); /* another generation, and 3 loses a bucket, too */
	pass(w, 2 * NOTICES_REPEAT_MS);
	mark = w->seen_count;
	pass(w, NOTICES_REFRESH_MS);
	assert_int_equal(removals_of(w, mark, 4, 9, since), 2); /* to those that lost buckets */
	pass(w, 230 * 1000);
	mark = w->seen_count;
	pass(w, 300 * 1000);
	assert_int_equal(removals_of(w, mark, 4, 9, since), 0);
	close_world(w);
}

static void a_removed_server_that_lives_is_not_named(void **state)
{
	struct world *w = open_world(BUCKETS, 1000, NULL, NULL);

	(void)state;
	move(w, 0, BUCKETS, 3);
	change_backend(w, 4, FL_BACKEND_REMOVED, 0);
	pass(w, 3 * NOTICES_REFRESH_MS);
	assert_int_equal(removals_of(w, 0, 4, 9, UNIX), 0);
	close_world(w);
}

static void a_server_that_is_added_again_is_not_named(void **state)
{
	struct world *w = open_world(BUCKETS, 1000, NULL, NULL);
	uint32_t mark;

	(void)state;
	move(w, 0, BUCKETS, 3);
	change_backend(w, 4, FL_BACKEND_REMOVED, 1);
	assert_int_equal(removals_of(w, 0, 4, 9, UNIX), BACKENDS - 1);
	pass(w, 2 * NOTICES_REPEAT_MS);
	change_backend(w, 4, 0, 1);
	mark = w->seen_count;
	pass(w, 3 * NOTICES_REFRESH_MS);
	assert_int_equal(removals_of(w, mark, 4, 9, UNIX), 0);
	close_world(w);
}

/* Its servers use no memory. */
static void ipip_names_no_dead_server(void **state)
{
	struct world *w = open_world(BUCKETS, 1000, NULL, &encap_ipip);

	(void)state;
	change_backend(w, 4, FL_BACKEND_REMOVED, 1);
	pass(w, 3 * NOTICES_REFRESH_MS);
	assert_int_equal(removals_of(w, 0, 4, 8, UNIX), 0);
	close_world(w);
}

/* What waits and is dropped: moves, not removals. */
static void removals_wait_with_moves(void **state)
{
	struct world *w = open_world(BUCKETS, 100, NULL, NULL);
	uint64_t waiting;

	(void)state;
	move(w, 0, BUCKETS, 3);
	pass(w, 5 * NOTICES_REPEAT_MS);
	w->error = -EAGAIN;
	waiting = notices_waiting(w->notices, SERVICE);
	change_backend(w, 4, FL_BACKEND_REMOVED, 1);
	assert_int_equal(notices_waiting(w->notices, SERVICE), waiting + BACKENDS + BACKENDS - 1);
	w->error = 0;
	w->seen_count = 0;
	pass(w, NOTICES_PAUSE_MS);
	assert_int_equal(removals_of(w, 0, 4, 9, now(w)), BACKENDS - 1);
	close_world(w);
}

static void nothing_is_sent_for_a_service_that_is_gone(void **state)
{
	struct world *w = open_world(BUCKETS, 100, NULL, NULL);
	uint32_t count;

	(void)state;
	move(w, 0, 8, 4);
	notices_forget(w->notices, SERVICE);
	assert_null(notices_owners(w->notices, SERVICE, &count));
	assert_int_equal(notices_deadline(w->notices), UINT64_MAX);
	count = w->seen_count;
	w->now_ms += 60 * 1000;
	notices_run(w->notices);
	assert_int_equal(w->seen_count, count);
	close_world(w);
}

/* What waits is bounded: repetitions are dropped first, then the moves of the newest change; generations never. */
static void too_much_is_dropped_and_counted(void **state)
{
	struct world *w = open_world(FL_BUCKETS_MAX, 100, NULL, NULL);
	uint64_t limited;

	(void)state;
	w->error = -EAGAIN;
	move(w, 0, FL_BUCKETS_MAX, 4);
	assert_int_equal(notices_count(w->notices, NOTICE_LIMITED), 0);
	assert_int_equal(notices_waiting(w->notices, SERVICE),
			 BACKENDS + 3 * ((FL_BUCKETS_MAX / 4 + BATCH_BUCKETS - 1) / BATCH_BUCKETS));
	move(w, 0, FL_BUCKETS_MAX, 3); /* all of 4, of one group */
	limited = (FL_BUCKETS_MAX * 3ULL / 4 + BATCH_BUCKETS - 1) / BATCH_BUCKETS;
	assert_true(notices_count(w->notices, NOTICE_LIMITED) >= limited);
	assert_int_equal(notices_waiting(w->notices, SERVICE),
			 BACKENDS + 3 * ((FL_BUCKETS_MAX / 4 + BATCH_BUCKETS - 1) / BATCH_BUCKETS) + BACKENDS);
	close_world(w);
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
	    cmocka_unit_test(a_dead_server_is_named),
	    cmocka_unit_test(a_removed_server_that_lives_is_not_named),
	    cmocka_unit_test(a_server_that_is_added_again_is_not_named),
	    cmocka_unit_test(ipip_names_no_dead_server),
	    cmocka_unit_test(removals_wait_with_moves),
	    cmocka_unit_test(nothing_is_sent_for_a_service_that_is_gone),
	    cmocka_unit_test(too_much_is_dropped_and_counted),
	    cmocka_unit_test(two_muxes_tell_each_server),
	};

	return cmocka_run_group_tests_name("notices", tests, NULL, NULL);
}
