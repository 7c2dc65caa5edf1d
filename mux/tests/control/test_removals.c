/* SPDX-License-Identifier: Apache-2.0 */
/* Which servers are named as dead, to whom, and for how long. */
#include <errno.h>

#include "encap/encap.h"
#include "notices_world.h"

/* What servers are told before a change, then the change. */
static void apply(struct world *w, const struct delta *delta)
{
	struct reason why = {{0}};

	notices_before(w->notices, w->service, delta, false);
	assert_int_equal(tables_apply(w->tables, w->service, delta, &why), 0);
}

enum { DEAD = FL_BACKEND_REMOVED | FL_BACKEND_DEAD };

/* A commit that changes one backend's entry and moves nothing. */
static void change_backend(struct world *w, uint16_t id, uint16_t flags)
{
	uint32_t generation = ring_generation(service_ring(w->service)) + 1;
	struct fl_delta_backend entry = {id, flags, 0, world_address(id)};
	struct delta delta = {.service = SERVICE,
			      .generation = generation,
			      .base = generation - 1,
			      .buckets = w->image.buckets,
			      .committed = world_now(w),
			      .backends_count = 1,
			      .backends = &entry};

	apply(w, &delta);
}

/* A commit that removes servers as dead and gives buckets to a backend. */
static void remove_dead(struct world *w, const uint16_t *ids, uint32_t count, uint32_t buckets, uint16_t to)
{
	uint32_t generation = ring_generation(service_ring(w->service)) + 1;
	struct delta delta = image_move(&w->image, generation, 0, buckets, to, world_now(w));
	struct fl_delta_backend entries[BACKENDS];

	for (uint32_t i = 0; i < count; i++)
		entries[i] = (struct fl_delta_backend){ids[i], DEAD, 0, world_address(ids[i])};
	delta.backends = entries;
	delta.backends_count = count;
	delta.runs_count = buckets > 0;
	apply(w, &delta);
	delta.backends = NULL;
	delta.backends_count = 0;
	image_free(&delta);
}

/* Packets from this index on that name a server as removed, by this generation and in this second. */
static uint32_t removals_of(const struct world *w, uint32_t from, uint16_t id, uint32_t generation, uint32_t since)
{
	struct fl_address server = world_address(id);
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
	struct world *w = world_open(BUCKETS, 1000, &key, NULL);
	uint32_t mark, since;

	(void)state;
	world_move(w, 0, 1, 3); /* from 1 */
	world_pass(w, 5 * NOTICES_REPEAT_MS);
	mark = w->seen_count;
	since = world_now(w);
	change_backend(w, 4, DEAD);
	assert_int_equal(removals_of(w, mark, 4, 9, since), BACKENDS - 1);
	assert_int_equal(w->seen_count, mark + 1 + BACKENDS - 1);
	world_pass(w, NOTICES_REPEAT_MS);
	assert_int_equal(removals_of(w, mark, 4, 9, since), 2 * (BACKENDS - 1));
	world_move(w, 0, 1, 1); /* another generation, and 3 loses a bucket, too */
	world_pass(w, 2 * NOTICES_REPEAT_MS);
	mark = w->seen_count;
	world_pass(w, NOTICES_REFRESH_MS);
	assert_int_equal(removals_of(w, mark, 4, 9, since), 2); /* to those that lost buckets */
	world_pass(w, 230 * 1000);
	mark = w->seen_count;
	world_pass(w, 300 * 1000);
	assert_int_equal(removals_of(w, mark, 4, 9, since), 0);
	world_close(w);
}

/* A removal packet for each pair of a backend and a dead server from this index on; none to the dead. */
static void check_pairs(const struct world *w, uint32_t from, const uint32_t expected[BACKENDS + 1][BACKENDS + 1])
{
	uint32_t found[BACKENDS + 1][BACKENDS + 1] = {0};

	for (; from < w->seen_count; from++) {
		const struct packet_seen *seen = &w->seen[from];

		for (uint16_t to = 1; to <= BACKENDS; to++)
			for (uint16_t of = 1; seen->notice.count && of <= BACKENDS; of++) {
				struct fl_address receiver = world_address(to), server = world_address(of);

				found[to][of] += fl_notice_is_removal(seen->first) &&
						 fl_address_equal(&seen->to, &receiver) &&
						 fl_address_equal(&seen->notice.steer.previous, &server);
			}
	}
	assert_memory_equal(found, expected, sizeof(found));
}

/* Each survivor is told of each; the dead, of which 3 counts as a loser, of none. */
static void several_dead_servers_are_named_to_the_others(void **state)
{
	static const uint16_t dead[] = {3, 4}, later[] = {2};
	static const uint32_t once[BACKENDS + 1][BACKENDS + 1] = {[1] = {[3] = 1, [4] = 1}, [2] = {[3] = 1, [4] = 1}};
	static const uint32_t again[BACKENDS + 1][BACKENDS + 1] = {[2] = {[3] = 1, [4] = 1}};
	static const uint32_t third[BACKENDS + 1][BACKENDS + 1] = {[1] = {[2] = 1}};
	static const uint32_t none[BACKENDS + 1][BACKENDS + 1];
	struct world *w = world_open(BUCKETS, 1000, NULL, NULL);
	uint32_t mark;

	(void)state;
	world_move(w, 1, 1, 1); /* from 2 */
	world_pass(w, NOTICES_REFRESH_MS - 2 * NOTICES_REPEAT_MS);
	remove_dead(w, dead, 2, BUCKETS, 1);
	check_pairs(w, 0, once);
	mark = w->seen_count;
	world_pass(w, NOTICES_REPEAT_MS);
	check_pairs(w, mark, once);
	mark = w->seen_count;
	world_pass(w, NOTICES_REFRESH_MS);
	check_pairs(w, mark, again); /* 1 has lost nothing */
	mark = w->seen_count;
	remove_dead(w, later, 1, 0, 1);
	check_pairs(w, mark, third);
	world_pass(w, 2 * NOTICES_REPEAT_MS);
	mark = w->seen_count;
	world_pass(w, NOTICES_REFRESH_MS);
	check_pairs(w, mark, none); /* all that lost buckets are dead */
	world_close(w);
}

/* With a hold as well, for as long as former owners may remember it, by the generation that removed it. */
static void a_dead_server_is_named_until_window_and_hold_are_over(void **state)
{
	enum { HOLD = 600, SECONDS = HOLD + 240 };
	static const uint16_t dead[] = {4};
	struct world *w = world_open_held(BUCKETS, 10000, NULL, NULL, HOLD);
	uint32_t since = UNIX, mark;

	(void)state;
	remove_dead(w, dead, 1, 0, 1);
	world_pass(w, 100 * 1000);
	world_move(w, 0, 1, 3); /* from 1, which is told generations for longer than of the dead one */
	world_pass(w, (SECONDS - 100 - 10) * 1000);
	mark = w->seen_count;
	world_pass(w, NOTICES_REFRESH_MS - 1);
	assert_true(removals_of(w, mark, 4, 8, since) >= 1);
	mark = w->seen_count;
	world_pass(w, 2 * NOTICES_REFRESH_MS);
	assert_int_equal(removals_of(w, mark, 4, 8, since), 0);
	assert_int_equal(w->seen_count, mark + 2); /* 1 is told generation 9 */
	assert_int_equal(w->seen[mark].notice.steer.generation, 9);
	world_close(w);
}

static void a_removed_server_that_lives_is_not_named(void **state)
{
	struct world *w = world_open(BUCKETS, 1000, NULL, NULL);

	(void)state;
	world_move(w, 0, BUCKETS, 3);
	change_backend(w, 4, FL_BACKEND_REMOVED);
	change_backend(w, 2, FL_BACKEND_REMOVED);
	world_pass(w, 3 * NOTICES_REFRESH_MS);
	assert_int_equal(removals_of(w, 0, 4, 9, UNIX), 0);
	world_close(w);
}

/*
 * A server would follow it, as of the generation that removed the dead one, and not of an earlier one. Nor is the dead one
 * told of its own moves, which are most: they would come before the notices that say it is dead.
 */
static void no_move_from_a_dead_server_is_told(void **state)
{
	static const uint16_t dead[] = {2};
	struct world *w = world_open(BUCKETS, 100, NULL, NULL);

	(void)state;
	remove_dead(w, dead, 1, 8, 4);
	assert_int_equal(removals_of(w, 0, 2, 8, UNIX), BACKENDS - 1);
	for (uint32_t bucket = 0; bucket < 8; bucket++) {
		uint16_t owner = (uint16_t)(bucket % BACKENDS + 1), previous = owner % BACKENDS + 1;

		assert_int_equal(w->told[bucket], owner != 4 && owner != 2 && previous != 2);
	}
	assert_int_equal(notices_moves(w->notices), 2);
	world_close(w);
}

static void a_server_that_is_added_again_is_not_named(void **state)
{
	struct world *w = world_open(BUCKETS, 1000, NULL, NULL);
	uint32_t mark;

	(void)state;
	world_move(w, 0, BUCKETS, 3);
	change_backend(w, 4, DEAD);
	assert_int_equal(removals_of(w, 0, 4, 9, UNIX), BACKENDS - 1);
	world_pass(w, 2 * NOTICES_REPEAT_MS);
	change_backend(w, 4, 0);
	mark = w->seen_count;
	world_pass(w, 3 * NOTICES_REFRESH_MS);
	assert_int_equal(removals_of(w, mark, 4, 9, UNIX), 0);
	world_close(w);
}

static void a_dead_server_is_told_nothing(void **state)
{
	struct world *w = world_open(BUCKETS, 1000, NULL, NULL);
	uint32_t mark, moves;

	(void)state;
	world_move(w, 0, BUCKETS, 3); /* 4 loses buckets, too */
	world_pass(w, 2 * NOTICES_REPEAT_MS);
	change_backend(w, 4, DEAD);
	mark = w->seen_count;
	world_pass(w, 3 * NOTICES_REFRESH_MS);
	assert_int_equal(world_packets_to(w, mark, 4, &moves), 0);
	assert_true(w->seen_count > mark);
	world_close(w);
}

/* A snapshot does not say who is dead, but who is there. */
static void a_snapshot_ends_it_if_the_server_is_there(void **state)
{
	static const uint16_t dead[] = {4};

	(void)state;
	for (uint16_t backends = BACKENDS - 1; backends <= BACKENDS; backends++) {
		struct world *w = world_open(BUCKETS, 1000, NULL, NULL);
		struct delta image = image_snapshot(SERVICE, 20, BUCKETS, backends);
		struct reason why = {{0}};
		uint32_t mark;

		world_move(w, 0, 1, 2); /* from 1 */
		remove_dead(w, dead, 1, 0, 1);
		world_pass(w, 2 * NOTICES_REPEAT_MS);
		mark = w->seen_count;
		notices_before(w->notices, w->service, &image, false);
		assert_int_equal(tables_load(w->tables, w->service, &image, &why), 0);
		world_pass(w, 2 * NOTICES_REPEAT_MS);
		assert_true(w->seen_count > mark);
		assert_int_equal(removals_of(w, mark, 4, 9, UNIX), 0);
		world_pass(w, NOTICES_REFRESH_MS);
		assert_int_equal(removals_of(w, mark, 4, 9, UNIX), backends == BACKENDS ? 0 : 1);
		image_free(&image);
		world_close(w);
	}
}

/* Its servers use no memory. */
static void ipip_names_no_dead_server(void **state)
{
	struct world *w = world_open(BUCKETS, 1000, NULL, &encap_ipip);

	(void)state;
	change_backend(w, 4, DEAD);
	world_pass(w, 3 * NOTICES_REFRESH_MS);
	assert_int_equal(removals_of(w, 0, 4, 8, UNIX), 0);
	world_close(w);
}

/* What waits and is dropped: moves, not removals. */
static void removals_wait_with_moves(void **state)
{
	struct world *w = world_open(BUCKETS, 100, NULL, NULL);
	uint64_t waiting;

	(void)state;
	world_move(w, 0, BUCKETS, 3);
	world_pass(w, 5 * NOTICES_REPEAT_MS);
	w->error = -EAGAIN;
	waiting = notices_waiting(w->notices, SERVICE);
	change_backend(w, 4, DEAD);
	assert_int_equal(notices_waiting(w->notices, SERVICE), waiting + BACKENDS - 1 + BACKENDS - 1);
	w->error = 0;
	w->seen_count = 0;
	world_pass(w, NOTICES_PAUSE_MS);
	assert_int_equal(removals_of(w, 0, 4, 9, world_now(w)), BACKENDS - 1);
	world_close(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_dead_server_is_named),
	    cmocka_unit_test(several_dead_servers_are_named_to_the_others),
	    cmocka_unit_test(a_dead_server_is_named_until_window_and_hold_are_over),
	    cmocka_unit_test(a_removed_server_that_lives_is_not_named),
	    cmocka_unit_test(no_move_from_a_dead_server_is_told),
	    cmocka_unit_test(a_server_that_is_added_again_is_not_named),
	    cmocka_unit_test(a_dead_server_is_told_nothing),
	    cmocka_unit_test(a_snapshot_ends_it_if_the_server_is_there),
	    cmocka_unit_test(ipip_names_no_dead_server),
	    cmocka_unit_test(removals_wait_with_moves),
	};

	return cmocka_run_group_tests_name("removals", tests, NULL, NULL);
}
