/* SPDX-License-Identifier: Apache-2.0 */
/* The arrays of a steering method (labels.h) in the state on disk: restored with the ring, or refused with it. */
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "arrays_world.h"
#include "../image.h"

enum {
	GENERATION = 12345,
	NEWEST = 12340,
	PREVIOUS = 12001,
	AT_KIND = 12,
	AT_CLUSTER = 16,
	AT_LENGTHS = 88,
	AT_CRC = 112,
	LIST_LEN = 48,
	AT_NEWEST_FILE = 16, /* in the list */
	AT_PREVIOUS_FILE = 32,
};

static const struct arrays_version versions[] = {
    {0}, {NEWEST, false, 0}, {NEWEST, true, 0}, {NEWEST, true, PREVIOUS}, {GENERATION, true, NEWEST}};

static void save(const struct arrays_version *version)
{
	struct arrays_set arrays = arrays_world_make(version);

	arrays_world_load(GENERATION, &arrays);
	arrays_set_clear(&arrays);
	state_world_write_out();
}

static void they_are_restored_with_their_ring(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		const struct arrays_set *arrays;
		struct starting starting;

		save(&versions[i]);
		assert_int_equal(starting_restore(&starting), 1);
		assert_int_equal(starting.refused, 0);
		assert_ptr_equal(starting.published.service->config.steering, &labels);
		assert_int_equal(ring_generation(published_ring(&starting.published)), GENERATION);
		arrays = &starting.published.arrays;
		assert_true(arrays_version_equal(&arrays->version, &versions[i]));
		assert_int_equal(arrays->newest ? labels_generation(arrays->newest) : 0, versions[i].newest);
		assert_int_equal(arrays->previous ? labels_generation(arrays->previous) : 0, versions[i].previous);
		assert_int_equal(!service_steering_data(starting.published.service), !versions[i].newest);
		starting_end(&starting);
	}
}

/* --- damage ------------------------------------------------------------------------------------------------------ */

/* A service's files, each under its name. */
struct file {
	char name[STATE_NAME_MAX + 1];
	struct bytes bytes;
	bool is_absent;
};

struct files {
	struct file ring, newest, previous;
};

static uint8_t *list_of(struct files *files)
{
	return files->ring.bytes.data + files->ring.bytes.len - LIST_LEN;
}

static void set_length(struct bytes *file, int part, uint8_t len)
{
	file->data[AT_LENGTHS + 8 * part] = len;
}

/* Gives changed arrays the name that they now have by their checksum, and lists them under it. */
static void relist(struct files *files, struct file *arrays, uint32_t generation)
{
	uint8_t *listed = list_of(files) + (arrays == &files->newest ? AT_NEWEST_FILE : AT_PREVIOUS_FILE);
	uint32_t checksum;

	state_world_mend(&arrays->bytes);
	checksum = fl_load_le32(arrays->bytes.data + AT_CRC);
	state_name_of_arrays("web", generation, checksum, arrays->name);
	fl_store_le32(listed + 8, checksum);
	state_world_mend(&files->ring.bytes);
}

static void sector_of_zeros(struct files *files)
{
	memset(list_of(files), 0, LIST_LEN);
}

/* Cuts the list to its first bytes. */
static void cut_list(struct files *files, uint8_t len)
{
	files->ring.bytes.len -= LIST_LEN - len;
	set_length(&files->ring.bytes, 2, len);
	state_world_mend(&files->ring.bytes);
}

static void list_of_47(struct files *files)
{
	cut_list(files, 47);
}

static void list_of_one_file(struct files *files)
{
	cut_list(files, 32);
}

static void list_of_its_version(struct files *files)
{
	cut_list(files, 16);
}

static void list_of_49(struct files *files)
{
	bytes_append(&files->ring.bytes, "", 1);
	set_length(&files->ring.bytes, 2, LIST_LEN + 1);
	state_world_mend(&files->ring.bytes);
}

/* As files were before arrays had their own. */
static void arrays_in_the_ring_s_file(struct files *files)
{
	static const uint8_t end[24] = {NEWEST & 0xff, NEWEST >> 8, 0, 0, 1, 0, 0, 0, PREVIOUS & 0xff,
					PREVIOUS >> 8, 0,           0, 0, 0, 0, 0, 5};

	files->ring.bytes.len -= LIST_LEN;
	bytes_append(&files->ring.bytes, "1234012001", 10);
	bytes_append(&files->ring.bytes, end, sizeof(end));
	set_length(&files->ring.bytes, 2, 10 + sizeof(end));
	state_world_mend(&files->ring.bytes);
}

/* Changes one word of the list. */
static void set_word(struct files *files, int at, uint32_t value)
{
	fl_store_le32(list_of(files) + at, value);
	state_world_mend(&files->ring.bytes);
}

static void none_newest(struct files *files)
{
	set_word(files, 0, 0);
}

static void flag_of_2(struct files *files)
{
	set_word(files, 4, 2);
}

static void previous_without_its_flag(struct files *files)
{
	set_word(files, 4, 0);
}

static void previous_without_its_number(struct files *files)
{
	set_word(files, 8, 0);
}

static void previous_is_the_newest(struct files *files)
{
	set_word(files, 8, NEWEST);
}

static void word_behind_the_version(struct files *files)
{
	set_word(files, 12, 1);
}

static void newest_of_no_bytes(struct files *files)
{
	set_word(files, AT_NEWEST_FILE, 0);
}

static void previous_of_4_gib(struct files *files)
{
	set_word(files, AT_PREVIOUS_FILE + 4, 1);
}

static void word_behind_the_file(struct files *files)
{
	set_word(files, AT_PREVIOUS_FILE + 12, 7);
}

static void newest_listed_as_longer(struct files *files)
{
	set_word(files, AT_NEWEST_FILE, 6);
}

static void of_the_ring_method(struct files *files)
{
	char *word = memmem(files->ring.bytes.data, files->ring.bytes.len, "\"labels\"", 8);

	assert_non_null(word);
	memcpy(word, "\"ring\"  ", 8);
	state_world_mend(&files->ring.bytes);
}

static void no_newest(struct files *files)
{
	files->newest.is_absent = true;
}

static void no_previous(struct files *files)
{
	files->previous.is_absent = true;
}

static void newest_is_cut(struct files *files)
{
	files->newest.bytes.len--;
}

static void newest_is_empty(struct files *files)
{
	files->newest.bytes.len = 0;
}

static void a_bit_of_previous(struct files *files)
{
	files->previous.bytes.data[files->previous.bytes.len - 1] ^= 1;
}

static void newest_of_another_kind(struct files *files)
{
	fl_store_le32(files->newest.bytes.data + AT_KIND, STATE_SERVICE);
	relist(files, &files->newest, NEWEST);
}

static void newest_of_another_cluster(struct files *files)
{
	memcpy(files->newest.bytes.data + AT_CLUSTER, "two", 3);
	relist(files, &files->newest, NEWEST);
}

/* Sound, but not the ring's: something else put a file of this name in its place. */
static void newest_of_another_time(struct files *files)
{
	files->newest.bytes.data[AT_LENGTHS - 8]++;
	state_world_mend(&files->newest.bytes);
}

static void they_are_swapped(struct files *files)
{
	struct bytes newest = files->newest.bytes;

	files->newest.bytes = files->previous.bytes;
	files->previous.bytes = newest;
}

static void previous_holds_others(struct files *files)
{
	files->previous.bytes.data[files->previous.bytes.len - 1]++;
	relist(files, &files->previous, PREVIOUS);
}

static void newest_has_a_second_part(struct files *files)
{
	bytes_append(&files->newest.bytes, "x", 1);
	set_length(&files->newest.bytes, 1, 1);
	relist(files, &files->newest, NEWEST);
}

static void newer_than_the_ring(struct files *files)
{
	memcpy(files->newest.bytes.data + files->newest.bytes.len - 5, "12346", 5);
	fl_store_le32(list_of(files), 12346);
	relist(files, &files->newest, 12346);
}

#define NAMES_NEWEST   "reason=content why=\"its arrays are in web.12340-"
#define NAMES_PREVIOUS "reason=content why=\"its arrays are in web.12001-"

static const struct damage {
	const char *name;
	void (*apply)(struct files *files);
	const char *refusal;   /* of the ring's file */
	const char *of_arrays; /* of their own file, NULL: none */
} damages[] = {
    {"the last sector was never written", sector_of_zeros, "reason=checksum why=", NULL},
    {"a list that is cut", list_of_47, "reason=content why=\"a list of arrays of 47 bytes; allowed: 0, 32 or 48\"",
     NULL},
    {"a list without files", list_of_its_version,
     "reason=content why=\"a list of arrays of 16 bytes; allowed: 0, 32 or 48\"", NULL},
    {"a byte more", list_of_49, "reason=content why=\"a list of arrays of 49 bytes; allowed: 0, 32 or 48\"", NULL},
    {"a list of one file with two generations", list_of_one_file,
     "reason=content why=\"a list of arrays of 32 bytes; allowed with previous 12001: 48\"", NULL},
    {"those before without their number", previous_without_its_number,
     "reason=content why=\"a list of arrays of 48 bytes; allowed with previous 0: 32\"", NULL},
    {"arrays in the ring's file", arrays_in_the_ring_s_file,
     "reason=content why=\"a list of arrays of 34 bytes; allowed: 0, 32 or 48\"", NULL},
    {"newest of generation 0", none_newest, "reason=content why=\"arrays of generation 0 with previous 1, 12001;",
     NULL},
    {"a flag of 2", flag_of_2, "reason=content why=\"arrays of generation 12340 with previous 2, 12001;", NULL},
    {"those before without their flag", previous_without_its_flag,
     "reason=content why=\"arrays of generation 12340 with previous 0, 12001;", NULL},
    {"those before are the newest", previous_is_the_newest,
     "reason=content why=\"arrays of generation 12340 with previous 1, 12340;", NULL},
    {"bytes behind the version", word_behind_the_version,
     "reason=content why=\"arrays of generation 12340 with previous 1, 12001;", NULL},
    {"newest of no bytes", newest_of_no_bytes,
     "reason=content why=\"arrays of generation 12340: length 0, then 0; allowed: 1..1073741824, then 0\"", NULL},
    {"those before of 4 GiB", previous_of_4_gib,
     "reason=content why=\"arrays of generation 12001: length 4294967301, then 0; allowed: 1..1073741824, then 0\"",
     NULL},
    {"bytes behind a file", word_behind_the_file,
     "reason=content why=\"arrays of generation 12001: length 5, then 7; allowed: 1..1073741824, then 0\"", NULL},
    {"of a method that has none", of_the_ring_method,
     "reason=content why=\"a list of arrays of 48 bytes; allowed with this steering: none\"", NULL},
    {"newest are listed as longer", newest_listed_as_longer, "reason=content why=\"web.12340-", NULL},
    {"newest are of another time", newest_of_another_time, "reason=content why=\"web.12340-", NULL},
    {"newest have a second part", newest_has_a_second_part, "reason=content why=\"web.12340-", NULL},
    {"they are swapped", they_are_swapped, "reason=content why=\"web.12340-", NULL},
    {"those before are another generation's", previous_holds_others, "reason=content why=\"web.12001-", NULL},
    {"newer than the ring", newer_than_the_ring,
     "reason=content why=\"arrays of generation 12346; allowed: at most 12345, the ring's\"", NULL},
    {"no newest", no_newest, NAMES_NEWEST, "reason=unreadable"},
    {"none before", no_previous, NAMES_PREVIOUS, "reason=unreadable"},
    {"newest are cut", newest_is_cut, NAMES_NEWEST, "reason=length"},
    {"newest are empty", newest_is_empty, NAMES_NEWEST, "reason=truncated"},
    {"a bit of those before", a_bit_of_previous, NAMES_PREVIOUS, "reason=checksum"},
    {"newest are of another kind", newest_of_another_kind, NAMES_NEWEST, "reason=kind"},
    {"newest are another cluster's", newest_of_another_cluster, NAMES_NEWEST, "reason=foreign"},
};

static void read_file(struct file *file)
{
	file->bytes = state_world_read(file->name);
}

static struct files read_files(void)
{
	struct files files = {.ring = {.name = "web.service"}};

	arrays_world_find(NEWEST, files.newest.name);
	arrays_world_find(PREVIOUS, files.previous.name);
	read_file(&files.ring);
	read_file(&files.newest);
	read_file(&files.previous);
	return files;
}

static void write_file(const struct file *file)
{
	if (!file->is_absent)
		state_world_write(file->name, file->bytes.data, file->bytes.len);
}

static void remove_files(const struct files *files)
{
	state_world_remove(files->ring.name);
	state_world_remove(files->newest.name);
	state_world_remove(files->previous.name);
}

static void write_files(const struct files *files)
{
	write_file(&files->ring);
	write_file(&files->newest);
	write_file(&files->previous);
}

static void free_files(struct files *files)
{
	free(files->ring.bytes.data);
	free(files->newest.bytes.data);
	free(files->previous.bytes.data);
}

/* Since the log was that long. */
static void check_logged(const struct damage *damage, size_t logged, const struct file *file, const char *refusal)
{
	char line[3 * WORLD_PATH_LEN];

	fflush(stderr);
	snprintf(line, sizeof(line), "event=state_refused file=%s/%s %s", world.folder, file->name, refusal);
	if (!strstr(world.log + logged, line))
		fail_msg("%s: '%s' is not logged, but: %s", damage->name, line, world.log + logged);
}

static void damaged_ones_are_refused_by_name(void **state)
{
	(void)state;
	save(&versions[3]);
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		const struct damage *damage = &damages[i];
		struct files whole = read_files(), files = read_files();
		const struct file *arrays = strstr(damage->refusal, ".12001-") ? &files.previous : &files.newest;
		struct starting starting;
		size_t logged;

		damage->apply(&files);
		remove_files(&whole);
		write_files(&files);
		fflush(stderr);
		logged = world.log_len;
		if (starting_restore(&starting) || starting.refused != (damage->of_arrays ? 2 : 1))
			fail_msg("%s: %u files are refused", damage->name, (unsigned)starting.refused);
		assert_null(published_ring(&starting.published));
		starting_end(&starting);
		check_logged(damage, logged, &files.ring, damage->refusal);
		if (damage->of_arrays)
			check_logged(damage, logged, arrays, damage->of_arrays);
		remove_files(&files);
		write_files(&whole);
		assert_int_equal(starting_restore(&starting), 1);
		assert_int_equal(starting.refused, 0);
		starting_end(&starting);
		free_files(&whole);
		free_files(&files);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(they_are_restored_with_their_ring, state_world_set_up,
					    arrays_world_tear_down),
	    cmocka_unit_test_setup_teardown(damaged_ones_are_refused_by_name, state_world_set_up,
					    arrays_world_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
