/* SPDX-License-Identifier: Apache-2.0 */
/* The state on disk: what is written is restored, a crash leaves a whole file, and writing is bounded. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "ring/delta_decode.h"
#include "ring/ring.h"
#include "state_world.h"
#include "../image.h"

enum { KILL_BUCKETS = 4096 };

static void what_is_kept_is_restored(void **state)
{
	struct service_config config = image_config(1, "10.99.0.1", WORLD_BUCKETS);
	const struct ring *ring;

	(void)state;
	state_world_save(9);
	ring = published_ring(state_world_published());
	assert_null(state_world_restore());
	assert_string_equal(restored.cluster, "one");
	assert_int_equal(restored.muxes, 2);
	assert_int_equal(restored.services, 1);
	assert_int_equal(restored.generation, 9);
	assert_memory_equal(&restored.config, &config, sizeof(config));
	assert_int_not_equal(restored.sum, 0);
	assert_int_equal(ring_generation(ring), 9);
}

/* By which muxes deal fragments out; none takes no bytes, as in files from when there was none. */
static void the_seed_is_kept_and_each_change_of_it(void **state)
{
	static const struct fl_siphash_key seeds[] = {{3, 4}, {0, 0}, {0, 1}, {UINT64_MAX, UINT64_MAX - 1}};
	static const uint8_t bytes[] = {3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0};
	struct state_keeper *keeper;
	struct bytes file;

	(void)state;
	for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
		world.seed = seeds[i];
		state_world_save(9);
		assert_null(state_world_restore());
		assert_memory_equal(&restored.seed, &seeds[i], sizeof(seeds[i]));
		file = state_world_read("cluster");
		assert_int_equal(file.len, STATE_FILE_HEADER_LEN + 2 * 16 + (i == 1 ? 0 : 16));
		if (!i)
			assert_memory_equal(file.data + file.len - sizeof(bytes), bytes, sizeof(bytes));
		free(file.data);
	}
	keeper = state_world_keeper();
	state_world_settle(keeper);
	world.now += 60000;
	world.seed = seeds[0]; /* of one process, too */
	state_world_settle(keeper);
	state_keeper_free(keeper);
	assert_null(state_world_restore());
	assert_memory_equal(&restored.seed, &seeds[0], sizeof(seeds[0]));
}

/* What is promised is what is on disk: the ring, or that a later generation is settled. */
static void settled_generations_are_kept(void **state)
{
	struct settled_entry entries[] = {{.service = 1, .generation = 12}, {.service = 7, .generation = 3}};
	const struct published_service *published = state_world_published();
	struct rlimit small = {64, 0};
	struct state_keeper *keeper;
	struct rlimit before;

	(void)state;
	state_world_load(9);
	assert_int_equal(published->saved, 0);
	keeper = state_world_keeper();
	world.settled = (struct settled){.list = entries, .count = 2};
	assert_int_equal(settled_find(&keeper->settled, 1), 0);
	for (int i = 0; i < 3; i++, world.now += 60000)
		state_world_settle(keeper);
	assert_int_equal(published->saved, 9);
	assert_int_equal(settled_find(&keeper->settled, 1), 12);
	assert_int_equal(settled_find(&keeper->settled, 7), 3);
	assert_int_equal(settled_find(&keeper->settled, 8), 0);
	assert_int_equal(keeper->written, 2);

	entries[0].generation = 13; /* this alone changes */
	assert_int_equal(settled_find(&keeper->settled, 1), 12);
	state_world_settle(keeper);
	assert_int_equal(settled_find(&keeper->settled, 1), 13);
	assert_int_equal(keeper->written, 3);

	/* the disk is full: nothing new is promised before it is written */
	assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	entries[0].generation = 14;
	world.now += 60000;
	state_world_settle(keeper);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(keeper->failed, 1);
	assert_int_equal(settled_find(&keeper->settled, 1), 13);
	world.now += STATE_KEEPER_RETRY_MS;
	state_world_settle(keeper);
	assert_int_equal(settled_find(&keeper->settled, 1), 14);
	state_keeper_free(keeper);
	world.settled = (struct settled){0};
	assert_null(state_world_restore());
	assert_int_equal(restored.settled, 14);
	assert_int_equal(restored.generation, 9);
}

static void a_flush_waits_for_no_pause(void **state)
{
	const struct published_service *published = state_world_published();
	struct state_keeper *keeper = state_world_keeper();
	struct state_view view;

	(void)state;
	state_world_load(9);
	for (int i = 0; i < 3; i++, world.now += 60000)
		state_world_settle(keeper);
	state_world_load(10);
	state_world_settle(keeper);
	state_world_load(11);
	state_world_settle(keeper);
	assert_int_equal(published->saved, 10); /* the next is due in 5 s */
	view = state_world_view();
	state_keeper_flush(keeper, &view);
	assert_int_equal(published->saved, 11);
	state_keeper_free(keeper);
	assert_null(state_world_restore());
	assert_int_equal(restored.generation, 11);
}

/* --- crashes and full disks -------------------------------------------------------------------------------------- */

static struct state_job kill_job(uint32_t generation)
{
	struct state_job job = {.name = "web.service", .kind = STATE_SERVICE, .cluster = "one"};

	job.snapshot = image_snapshot(1, generation, KILL_BUCKETS, 1);
	for (uint32_t i = 0; i < KILL_BUCKETS; i++) {
		image_own(&job.snapshot, i, 0);
		image_was(&job.snapshot, i, 1, generation * 2654435761U + i);
	}
	return job;
}

/* Writes one generation after the other until it is killed. */
static void write_until_killed(uint32_t generation)
{
	struct reason why;
	struct state_folder *folder = state_folder_open(world.folder, &why);

	if (!folder)
		_exit(1);
	for (;;) {
		struct state_job job = kill_job(generation++);

		if (state_job_run(&job, folder))
			_exit(2);
		delta_free(&job.snapshot);
	}
}

/* The generation in the file, all of which must be of one generation; 0: there is no file yet. */
static uint32_t generation_on_disk(void)
{
	struct delta_expected expected = {.snapshot = true, .service = 1, .buckets = KILL_BUCKETS};
	struct fl_delta_header header = {0};
	struct state_file file;
	struct reason why = {""};
	struct delta read;
	struct bytes bytes;
	char path[WORLD_PATH_LEN];

	snprintf(path, sizeof(path), "%s/web.service", world.folder);
	if (access(path, F_OK))
		return 0;
	bytes = state_world_read("web.service");
	if (state_file_parse(bytes.data, bytes.len, STATE_SERVICE, "one", &file, &why))
		fail_msg("%s", why.text);
	assert_int_equal(fl_delta_header_parse(file.parts[1].data, file.parts[1].len, &header), FL_DELTA_OK);
	expected.generation = header.generation;
	if (delta_decode(file.parts[1].data, file.parts[1].len, &expected, &read, &why))
		fail_msg("%s", why.text);
	for (uint32_t i = 0; i < KILL_BUCKETS; i++)
		assert_int_equal(image_since(&read, i), header.generation * 2654435761U + i);
	delta_free(&read);
	free(bytes.data);
	return header.generation;
}

static void a_kill_at_any_point_leaves_a_whole_file(void **state)
{
	char path[WORLD_PATH_LEN];

	(void)state;
	state_world_kill(20261122, 0, write_until_killed, generation_on_disk);
	/* what a crash leaves beside it is removed by the next mux */
	state_world_write("web.service.new", "unfinished", 10);
	state_keeper_free(state_world_keeper());
	snprintf(path, sizeof(path), "%s/web.service.new", world.folder);
	assert_int_equal(access(path, F_OK), -1);
}

static void a_full_disk_keeps_the_old_file(void **state)
{
	struct rlimit before, small = {STATE_FILE_HEADER_LEN + 100, RLIM_INFINITY};
	struct state_job job = kill_job(1);
	struct state_folder *folder;
	struct reason why;
	char path[WORLD_PATH_LEN];

	(void)state;
	folder = state_folder_open(world.folder, &why);
	assert_non_null(folder);
	assert_int_equal(state_job_run(&job, folder), 0);
	delta_free(&job.snapshot);
	job = kill_job(2);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(state_job_run(&job, folder), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(generation_on_disk(), 1);
	snprintf(path, sizeof(path), "%s/web.service.new", world.folder);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(state_job_run(&job, folder), 0);
	assert_int_equal(generation_on_disk(), 2);
	state_folder_close(folder);
	delta_free(&job.snapshot);
}

/* --- how often --------------------------------------------------------------------------------------------------- */

/* A ring that changes ten times a second for a minute; and, under ThreadSanitizer, nothing is shared with the saver. */
static void writing_is_bounded(void **state)
{
	enum { SECONDS = 60, STEP_MS = 100 };
	struct state_keeper *keeper = state_world_keeper();
	uint64_t end = world.now + SECONDS * 1000;
	uint32_t generation = 9;

	(void)state;
	state_world_load(generation);
	state_world_settle(keeper); /* the cluster's */
	for (; world.now < end; world.now += STEP_MS) {
		struct state_view now = state_world_view();

		state_world_load(++generation);
		state_keeper_run(keeper, &now, world.now);
		state_world_load(++generation);
		state_world_settle(keeper);
	}
	print_message("%u writes for %u generations in %d s\n", (unsigned)keeper->written, generation, SECONDS);
	assert_true(keeper->written <= 2 + SECONDS * 1000 / STATE_KEEPER_SERVICE_MS);
	assert_true(keeper->written >= SECONDS * 1000 / STATE_KEEPER_SERVICE_MS / 2);
	for (int i = 0; i < 3; i++, world.now += 60000)
		state_world_settle(keeper);
	assert_false(published_is_unsaved(state_world_published()));
	state_keeper_free(keeper);
	assert_null(state_world_restore());
	assert_int_equal(restored.generation, generation);
}

static void what_is_not_listed_is_removed(void **state)
{
	struct state_keeper *keeper;
	struct bytes file;
	struct state_view unlisted = state_world_view();

	(void)state;
	state_world_save(9);
	file = state_world_read("web.service");
	state_world_write("mail.service", file.data, file.len);
	keeper = state_world_keeper();
	unlisted.is_listed = false;
	for (int i = 0; i < 20; i++, world.now += 1000)
		state_keeper_run(keeper, &unlisted, world.now);
	free(state_world_read("mail.service").data); /* nothing is removed before the list is known */
	for (int i = 0; i < 3; i++, world.now += 60000)
		state_world_settle(keeper);
	assert_int_equal(keeper->failed, 0);
	state_keeper_free(keeper);
	assert_null(state_world_restore());
	assert_int_equal(restored.services, 1);
	free(file.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(a_kill_at_any_point_leaves_a_whole_file, state_world_set_up,
					    state_world_tear_down),
	    cmocka_unit_test_setup_teardown(a_full_disk_keeps_the_old_file, state_world_set_up, state_world_tear_down),
	    cmocka_unit_test_setup_teardown(what_is_kept_is_restored, state_world_set_up, state_world_tear_down),
	    cmocka_unit_test_setup_teardown(a_flush_waits_for_no_pause, state_world_set_up, state_world_tear_down),
	    cmocka_unit_test_setup_teardown(settled_generations_are_kept, state_world_set_up, state_world_tear_down),
	    cmocka_unit_test_setup_teardown(the_seed_is_kept_and_each_change_of_it, state_world_set_up,
					    state_world_tear_down),
	    cmocka_unit_test_setup_teardown(writing_is_bounded, state_world_set_up, state_world_tear_down),
	    cmocka_unit_test_setup_teardown(what_is_not_listed_is_removed, state_world_set_up, state_world_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
