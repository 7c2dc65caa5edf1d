/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays on disk: written once, removed when no ring needs them, and after a crash at any point those of the ring. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "arrays_world.h"
#include "control/service/config_node.h"
#include "../image.h"

enum { PATH_LEN = WORLD_PATH_LEN + STATE_NAME_MAX };

/* Until all is written, and what no ring needs is removed. */
static void settle(struct state_keeper *keeper)
{
	for (int i = 0; i < 4; i++, world.now += 60000)
		state_world_settle(keeper);
}

static void write_out(void)
{
	struct state_keeper *keeper = state_world_keeper();

	settle(keeper);
	state_keeper_free(keeper);
}

/* Of arrays that a set has, and one more reference. */
static void *keep(const struct arrays_set *set, uint32_t generation)
{
	return labels.arrays->keep(arrays_set_find(set, generation));
}

/* Of the only file with arrays of this generation: another one after each write. */
static ino_t inode(uint32_t generation)
{
	char name[STATE_NAME_MAX + 1], path[PATH_LEN];
	struct stat stat_of;

	arrays_world_find(generation, name);
	snprintf(path, sizeof(path), "%s/%s", world.folder, name);
	assert_int_equal(stat(path, &stat_of), 0);
	return stat_of.st_ino;
}

/* The arrays' generations by the folder's names, which has the cluster's file and the service's, too. */
static void check_folder(uint32_t first, uint32_t second)
{
	struct names names = arrays_world_names();

	assert_int_equal(names.count, 2 + !!first + !!second);
	assert_string_equal(names.name[0], "cluster");
	assert_string_equal(names.name[names.count - 1], "web.service");
	if (first)
		inode(first);
	if (second)
		inode(second);
}

/* A mux that starts now has this ring and these arrays, and refuses nothing. */
static void check_restored(uint32_t generation, const struct arrays_version *version)
{
	const struct arrays_set *arrays;
	struct starting starting;

	assert_int_equal(starting_restore(&starting), 1);
	assert_int_equal(starting.refused, 0);
	arrays = &starting.published.arrays;
	assert_int_equal(ring_generation(published_ring(&starting.published)), generation);
	assert_true(arrays_version_equal(&arrays->version, version));
	assert_int_equal(arrays->newest ? labels_generation(arrays->newest) : 0, version->newest);
	assert_int_equal(arrays->previous ? labels_generation(arrays->previous) : 0, version->previous);
	starting_end(&starting);
}

static void they_are_written_once(void **state)
{
	static const struct arrays_version both = {10, true, 5}, shifted = {22, true, 10}, settled = {22, false, 0};
	struct state_keeper *keeper = state_world_keeper();
	struct arrays_set first = arrays_world_make(&both), second = {.method = labels.arrays, .version = shifted};
	ino_t of_5, of_10, of_22;
	struct bytes before, after;

	(void)state;
	arrays_world_load(20, &first);
	settle(keeper);
	check_folder(5, 10);
	of_5 = inode(5);
	of_10 = inode(10);
	before = state_world_read("web.service");
	arrays_world_load(21, &first);
	settle(keeper);
	after = state_world_read("web.service");
	assert_true(before.len != after.len || memcmp(before.data, after.data, after.len) != 0);
	check_folder(5, 10);
	assert_true(of_5 == inode(5) && of_10 == inode(10));

	second.newest = labels_make(22);
	second.previous = keep(&first, 10);
	arrays_world_load(22, &second);
	settle(keeper);
	check_folder(10, 22);
	assert_true(of_10 == inode(10));
	of_22 = inode(22);
	labels.arrays->free(second.previous);
	second.previous = NULL;
	second.version = settled;
	arrays_world_load(23, &second);
	settle(keeper);
	check_folder(22, 0);
	assert_true(of_22 == inode(22));
	arrays_world_load(24, NULL);
	settle(keeper);
	check_folder(0, 0);
	assert_int_equal(keeper->failed, 0);
	state_keeper_free(keeper);
	arrays_set_clear(&first);
	arrays_set_clear(&second);
	free(before.data);
	free(after.data);
}

static void restored_ones_are_not_written_again(void **state)
{
	static const struct arrays_version both = {10, true, 5};
	struct arrays_set arrays = arrays_world_make(&both);
	struct starting starting;
	ino_t of_5, of_10;

	(void)state;
	arrays_world_load(20, &arrays);
	write_out();
	of_5 = inode(5);
	of_10 = inode(10);
	assert_int_equal(starting_restore(&starting), 1);
	published_remove(state_world_published());
	arrays_world_load(21, &starting.published.arrays);
	write_out();
	check_folder(5, 10);
	assert_true(of_5 == inode(5) && of_10 == inode(10));
	starting_end(&starting);
	check_restored(21, &both);
	arrays_set_clear(&arrays);
}

/* An operator removes files, or a file system lost their end. */
static void lost_ones_are_written_again_with_the_next_ring(void **state)
{
	static const struct arrays_version both = {10, true, 5};
	struct arrays_set arrays = arrays_world_make(&both);
	struct state_keeper *keeper = state_world_keeper();
	char name[STATE_NAME_MAX + 1];

	(void)state;
	arrays_world_load(20, &arrays);
	settle(keeper);
	arrays_world_find(10, name);
	state_world_remove(name);
	arrays_world_find(5, name);
	state_world_write(name, "cut", 3);
	arrays_world_load(21, &arrays);
	settle(keeper);
	state_keeper_free(keeper);
	check_folder(5, 10);
	check_restored(21, &both);
	arrays_set_clear(&arrays);
}

/* --- crashes ----------------------------------------------------------------------------------------------------- */

/* What there may be in the folder. */
enum { OLD = 1, NEW = 2, UNFINISHED_ARRAYS = 4, UNFINISHED_RING = 8, ALL = 15 };

static const struct ring_row {
	uint32_t generation;
	struct arrays_version version;
	unsigned needs;
} rings[] = {
    {20, {10, false, 0}, OLD},
    {21, {21, true, 10}, OLD | NEW},
    {22, {21, false, 0}, NEW},
    {23, {0}, 0},
};

enum { RINGS = sizeof(rings) / sizeof(rings[0]), NO_RING = RINGS };

/* All files that these rings have in turn. */
struct saved_history {
	struct bytes ring[RINGS], arrays[2];
	char name[2][STATE_NAME_MAX + 1];
};

static struct saved_history write_history(void)
{
	struct arrays_set old = arrays_world_make(&rings[0].version), new = arrays_world_make(&rings[2].version);
	struct arrays_set both = {labels.arrays, rings[1].version, new.newest, old.newest, {0}, {0}};
	const struct arrays_set *sets[RINGS] = {&old, &both, &new, NULL};
	struct state_keeper *keeper = state_world_keeper();
	struct saved_history history;

	for (unsigned i = 0; i < RINGS; i++) {
		arrays_world_load(rings[i].generation, sets[i]);
		settle(keeper);
		history.ring[i] = state_world_read("web.service");
		if (i == 1) {
			arrays_world_find(10, history.name[0]);
			arrays_world_find(21, history.name[1]);
			history.arrays[0] = state_world_read(history.name[0]);
			history.arrays[1] = state_world_read(history.name[1]);
		}
	}
	state_keeper_free(keeper);
	arrays_set_clear(&old);
	arrays_set_clear(&new);
	return history;
}

static void write_mix(const struct saved_history *history, unsigned ring, unsigned mix)
{
	state_world_remove("web.service");
	state_world_remove(history->name[0]);
	state_world_remove(history->name[1]);
	if (ring != NO_RING)
		state_world_write("web.service", history->ring[ring].data, history->ring[ring].len);
	for (int i = 0; i < 2; i++)
		if (mix & OLD << i)
			state_world_write(history->name[i], history->arrays[i].data, history->arrays[i].len);
	if (mix & UNFINISHED_ARRAYS)
		state_world_write("web.arrays.new", history->arrays[1].data, history->arrays[1].len / 2);
	if (mix & UNFINISHED_RING)
		state_world_write("web.service.new", history->ring[1].data, history->ring[1].len / 2);
}

static void free_history(struct saved_history *history)
{
	for (unsigned i = 0; i < RINGS; i++)
		free(history->ring[i].data);
	free(history->arrays[0].data);
	free(history->arrays[1].data);
}

static const struct crash {
	const char *during;
	unsigned ring, mix; /* what it leaves */
} crashes[] = {
    {"the first arrays are written", NO_RING, UNFINISHED_ARRAYS},
    {"they are there, and the first ring is written", NO_RING, OLD | UNFINISHED_RING},
    {"new arrays are written", 0, OLD | UNFINISHED_ARRAYS},
    {"they are there, the ring is not begun", 0, OLD | NEW},
    {"the ring is written", 0, OLD | NEW | UNFINISHED_RING},
    {"a ring is written that needs the newest only", 1, OLD | NEW | UNFINISHED_RING},
    {"that ring is there, the old arrays not removed", 2, OLD | NEW},
    {"a ring without arrays is written", 2, NEW | UNFINISHED_RING},
    {"that ring is there, its arrays not removed", 3, NEW},
    {"the service was deleted, its arrays not removed", NO_RING, OLD | NEW},
};

/* The ring that was served last, and what the next change leaves. */
static void a_crash_at_any_point_leaves_a_pair(void **state)
{
	static const struct arrays_version version = {21, false, 0};
	struct saved_history history = write_history();
	struct arrays_set arrays = arrays_world_make(&version);

	(void)state;
	for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++) {
		const struct crash *crash = &crashes[i];
		struct starting starting;

		print_message("while %s\n", crash->during);
		write_mix(&history, crash->ring, crash->mix);
		if (crash->ring != NO_RING) {
			check_restored(rings[crash->ring].generation, &rings[crash->ring].version);
		} else {
			assert_int_equal(starting_restore(&starting), 0);
			assert_int_equal(starting.refused, 0);
			starting_end(&starting);
		}
		arrays_world_load(30, &arrays);
		write_out();
		check_folder(21, 0);
		check_restored(30, &version);
		arrays_world_find(21, history.name[1]); /* to be removed */
	}
	arrays_set_clear(&arrays);
	free_history(&history);
}

/* Whatever is there: a ring is restored with its own arrays, or refused. */
static void no_mix_of_files_is_served(void **state)
{
	struct saved_history history = write_history();
	unsigned served = 0, refused = 0;

	(void)state;
	for (unsigned ring = 0; ring <= NO_RING; ring++) {
		for (unsigned mix = 0; mix <= ALL; mix++) {
			struct starting starting;

			write_mix(&history, ring, mix);
			if (ring != NO_RING && !(rings[ring].needs & ~mix)) {
				check_restored(rings[ring].generation, &rings[ring].version);
				served++;
				continue;
			}
			assert_int_equal(starting_restore(&starting), 0);
			assert_int_equal(starting.refused, ring == NO_RING ? 0 : 2);
			assert_int_equal(starting.content, ring == NO_RING ? 0 : 1);
			assert_null(published_ring(&starting.published));
			starting_end(&starting);
			refused += ring != NO_RING;
		}
	}
	print_message("%u mixes served, %u refused\n", served, refused);
	assert_int_equal(served + refused, RINGS * (ALL + 1));
	free_history(&history);
}

/* Arrays change with every third generation, and settle before the next ones. */
static struct arrays_version version_of(uint32_t generation)
{
	uint32_t newest = generation - generation % 3;
	bool has_previous = generation % 3 != 2;

	return (struct arrays_version){newest, has_previous, has_previous && newest > 3 ? newest - 3 : 0};
}

/* Those of a generation: the held ones where they go on. */
static struct arrays_set next_arrays(const struct arrays_set *held, uint32_t generation)
{
	struct arrays_set next = {.method = labels.arrays, .version = version_of(generation)};
	uint32_t newest = next.version.newest, previous = next.version.previous;

	next.newest = arrays_set_find(held, newest) ? keep(held, newest) : labels_make(newest);
	if (previous)
		next.previous = arrays_set_find(held, previous) ? keep(held, previous) : labels_make(previous);
	arrays_set_learn_files(&next, held);
	return next;
}

static void write_until_killed(uint32_t generation)
{
	struct service_config config = image_config(1, "10.99.0.1", WORLD_BUCKETS);
	struct state_folder *folder;
	struct arrays_set held = {0};
	struct reason why;
	char *text;

	config.steering = &labels;
	text = config_node_print(&config);
	folder = state_folder_open(world.folder, &why);
	if (!text || !folder)
		_exit(1);
	for (;; generation++) {
		struct state_job job = {
		    .name = "web.service",
		    .kind = STATE_SERVICE,
		    .cleans = true,
		    .cluster = "one",
		    .saved = generation,
		    .parts = {{(uint8_t *)text, strlen(text)}},
		    .snapshot = image_snapshot(1, generation, WORLD_BUCKETS, 1),
		    .arrays = next_arrays(&held, generation),
		};

		if (state_job_run(&job, folder))
			_exit(2);
		delta_free(&job.snapshot);
		arrays_set_clear(&held);
		held = job.arrays;
	}
}

/* The generation that a mux which starts now restores, with its arrays. */
static uint32_t restored_pair(void)
{
	struct arrays_version version;
	struct starting starting;
	uint32_t found;

	assert_int_equal(starting_restore(&starting), 1);
	found = ring_generation(published_ring(&starting.published));
	starting_end(&starting);
	version = version_of(found);
	check_restored(found, &version);
	return found;
}

static void a_kill_at_any_point_leaves_a_pair(void **state)
{
	struct arrays_version version = version_of(30);
	struct arrays_set arrays = arrays_world_make(&version);
	uint32_t generation;

	(void)state;
	arrays_world_load(30, &arrays);
	write_out();
	generation = state_world_kill(20261123, 30, write_until_killed, restored_pair);
	arrays_set_clear(&arrays);
	version = (struct arrays_version){generation + 1, false, 0};
	arrays = arrays_world_make(&version);
	arrays_world_load(generation + 1, &arrays);
	write_out();
	check_folder(generation + 1, 0); /* the next change removes what they left over */
	arrays_set_clear(&arrays);
}

/* --- full disks, and services that are gone ---------------------------------------------------------------------- */

/* room: of the largest file. What is there stays as it is; what could be written is not written again. */
static void check_full_disk(size_t room, bool has_new)
{
	static const struct arrays_version before = {10, false, 0}, after = {21, false, 0};
	struct arrays_set old = arrays_world_make(&before), new = arrays_world_make(&after);
	struct state_keeper *keeper = state_world_keeper();
	struct rlimit unlimited, small;
	ino_t of_21 = 0;

	arrays_world_load(20, &old);
	settle(keeper);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
	small = (struct rlimit){room, unlimited.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	arrays_world_load(21, &new);
	settle(keeper);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
	assert_true(keeper->failed >= 1);
	assert_true(published_is_unsaved(state_world_published()));
	state_keeper_free(keeper);
	check_folder(10, has_new ? 21 : 0);
	if (has_new)
		of_21 = inode(21);
	check_restored(20, &before);
	write_out();
	check_folder(21, 0);
	assert_true(!has_new || of_21 == inode(21));
	check_restored(21, &after);
	arrays_set_clear(&old);
	arrays_set_clear(&new);
}

static void without_room_for_arrays_both_stay(void **state)
{
	(void)state;
	check_full_disk(STATE_FILE_HEADER_LEN + 1, false);
}

static void without_room_for_the_ring_both_stay(void **state)
{
	(void)state;
	check_full_disk(STATE_FILE_HEADER_LEN + 10, true);
}

static void those_of_services_that_are_gone_are_removed(void **state)
{
	static const struct arrays_version version = {10, true, 5};
	struct arrays_set arrays = arrays_world_make(&version);
	struct names names = {0};
	struct bytes file;

	(void)state;
	arrays_world_load(20, &arrays);
	write_out();
	file = state_world_read("web.service");
	state_world_write("mail.service", file.data, file.len);
	state_world_write("mail.7-00000001.arrays", file.data, file.len);
	state_world_write("news.8-00000002.arrays", "", 1); /* a crash was before its first ring */
	names = arrays_world_names();
	assert_int_equal(names.count, 2 + 2 + 3);
	write_out();
	check_folder(5, 10);
	check_restored(20, &version);
	arrays_set_clear(&arrays);
	free(file.data);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, state_world_set_up, arrays_world_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_kill_at_any_point_leaves_a_pair),           TEST(they_are_written_once),
	    TEST(restored_ones_are_not_written_again),         TEST(lost_ones_are_written_again_with_the_next_ring),
	    TEST(a_crash_at_any_point_leaves_a_pair),          TEST(no_mix_of_files_is_served),
	    TEST(without_room_for_arrays_both_stay),           TEST(without_room_for_the_ring_both_stay),
	    TEST(those_of_services_that_are_gone_are_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
