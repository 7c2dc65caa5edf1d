/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the state on disk that are damaged, foreign, too new or no files: refused by name, and the others serve. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "state_world.h"

enum {
	AT_FORMAT = 8,
	AT_KIND = 12,
	AT_CLUSTER = 16,
	AT_LENGTHS = 88,
};

/* Replaces text by another of the same length. */
static void replace(struct bytes *file, const char *from, const char *to)
{
	uint8_t *at = memmem(file->data, file->len, from, strlen(from));

	assert_non_null(at);
	memcpy(at, to, strlen(to));
	state_world_mend(file);
}

static void nothing(struct bytes *file)
{
	file->len = 0;
}

static void cut_header(struct bytes *file)
{
	file->len = STATE_FILE_HEADER_LEN - 1;
}

static void other_magic(struct bytes *file)
{
	file->data[7] = 0;
	state_world_mend(file);
}

static void newer(struct bytes *file)
{
	fl_store_le32(file->data + AT_FORMAT, STATE_FILE_FORMAT + 1);
	state_world_mend(file);
}

static void longer(struct bytes *file)
{
	bytes_append(file, "", 1);
	state_world_mend(file);
}

static void part_beyond(struct bytes *file)
{
	memset(file->data + AT_LENGTHS, 0xff, 8);
	state_world_mend(file);
}

static void cut_in_the_middle(struct bytes *file)
{
	file->len = (file->len + STATE_FILE_HEADER_LEN) / 2;
}

static void zeros_at_the_end(struct bytes *file)
{
	memset(file->data + file->len - 16, 0, 16);
}

static void of_the_cluster(struct bytes *file)
{
	fl_store_le32(file->data + AT_KIND, STATE_CLUSTER);
	state_world_mend(file);
}

static void other_cluster(struct bytes *file)
{
	memcpy(file->data + AT_CLUSTER, "two", 3);
	state_world_mend(file);
}

static void no_cluster(struct bytes *file)
{
	memset(file->data + AT_CLUSTER, 0, 3);
	state_world_mend(file);
}

static void quote_in_cluster(struct bytes *file)
{
	file->data[AT_CLUSTER] = '"';
	state_world_mend(file);
}

static void other_name(struct bytes *file)
{
	replace(file, "\"name\":\"web\"", "\"name\":\"wob\"");
}

static void unknown_word(struct bytes *file)
{
	replace(file, "siphash", "siphahs");
}

static void other_id(struct bytes *file)
{
	replace(file, "\"id\":1", "\"id\":2");
}

static void newer_config(struct bytes *file)
{
	replace(file, "\"format\":1", "\"format\":2");
}

static void no_snapshot(struct bytes *file)
{
	replace(file, "FLS3", "FLS4");
}

static void arrays_without_a_method(struct bytes *file)
{
	file->data[AT_LENGTHS + 16] = 1;
	bytes_append(file, "x", 1);
	state_world_mend(file);
}

static const struct damage {
	const char *name;
	void (*apply)(struct bytes *file);
	const char *reason;
} damages[] = {
    {"empty", nothing, "truncated"},
    {"cut within the header", cut_header, "truncated"},
    {"another magic", other_magic, "magic"},
    {"of a newer version", newer, "format"},
    {"one byte more", longer, "length"},
    {"a part of 2^64 - 1 bytes", part_beyond, "length"},
    {"cut in the middle", cut_in_the_middle, "length"},
    {"its last sectors were never written", zeros_at_the_end, "checksum"},
    {"the cluster's file in its place", of_the_cluster, "kind"},
    {"another cluster's", other_cluster, "foreign"},
    {"no cluster's", no_cluster, "foreign"},
    {"a cluster's name that can't be logged", quote_in_cluster, "foreign"},
    {"another service's", other_name, "content"},
    {"a config that this mux does not know", unknown_word, "content"},
    {"a config of a newer format", newer_config, "content"},
    {"a ring of another service id", other_id, "content"},
    {"no snapshot", no_snapshot, "content"},
    {"arrays that no method reads", arrays_without_a_method, "content"},
};

static void every_damage_is_refused_by_name(void **state)
{
	char line[WORLD_PATH_LEN];

	(void)state;
	state_world_save(9);
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		struct bytes whole = state_world_read("web.service"), file = state_world_read("web.service");
		const char *reason;

		damages[i].apply(&file);
		state_world_write("web.service", file.data, file.len);
		reason = state_world_restore();
		if (!reason || strcmp(reason, damages[i].reason) != 0 || restored.services)
			fail_msg("%s: %s, %u services; expected %s", damages[i].name, reason ? reason : "accepted",
				 restored.services, damages[i].reason);
		fflush(stderr);
		snprintf(line, sizeof(line), "event=state_refused file=%s/web.service reason=%s why=\"", world.folder,
			 reason);
		assert_non_null(strstr(world.log, line));
		state_world_write("web.service", whole.data, whole.len);
		assert_null(state_world_restore());
		assert_int_equal(restored.services, 1);
		free(whole.data);
		free(file.data);
	}
}

/* Things in the place of a file. */
static void what_is_no_file_is_refused(void **state)
{
	char path[WORLD_PATH_LEN];

	(void)state;
	state_world_save(9);
	snprintf(path, sizeof(path), "%s/mail.service", world.folder);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_string_equal(state_world_restore(), "unreadable");
	assert_int_equal(restored.services, 1);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(symlink("web.service", path), 0);
	assert_string_equal(state_world_restore(), "unreadable");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_string_equal(state_world_restore(), "unreadable"); /* and nothing waits for a writer */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(close(open(path, O_WRONLY | O_CREAT, 0600)), 0);
	assert_int_equal(truncate(path, 1LL << 40), 0);
	assert_string_equal(state_world_restore(), "unreadable"); /* 1 TB of nothing */
	assert_int_equal(restored.services, 1);
}

static void without_the_cluster_s_file_nothing_is_restored(void **state)
{
	struct bytes file;

	(void)state;
	state_world_save(9);
	file = state_world_read("cluster");
	file.data[AT_CLUSTER] ^= 1;
	state_world_write("cluster", file.data, file.len);
	assert_string_equal(state_world_restore(), "checksum");
	assert_int_equal(restored.services, 0);
	state_world_remove("cluster");
	assert_string_equal(state_world_restore(), "unreadable");
	assert_int_equal(restored.services, 0);
	free(file.data);
}

/* A file whose parts are sound, but are no addresses and no seed. */
static void what_the_cluster_s_file_must_not_hold_is_refused(void **state)
{
	static const uint64_t lengths[][STATE_FILE_PARTS] = {
	    {32, 0, 15}, {32, 0, 17}, {32, 0, 32}, {31, 0, 16}, {32, 1, 16}, {32, 16, 0},
	};

	(void)state;
	world.seed = (struct fl_siphash_key){3, 4};
	state_world_save(9);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct bytes whole = state_world_read("cluster"), file = {0};

		bytes_append(&file, whole.data, STATE_FILE_HEADER_LEN);
		for (int part = 0; part < STATE_FILE_PARTS; part++) {
			fl_store_le32(file.data + AT_LENGTHS + 8 * part, (uint32_t)lengths[i][part]);
			for (uint64_t at = 0; at < lengths[i][part]; at++)
				bytes_append(&file, "", 1);
		}
		state_world_mend(&file);
		state_world_write("cluster", file.data, file.len);
		assert_string_equal(state_world_restore(), "content");
		assert_int_equal(restored.services, 0);
		state_world_write("cluster", whole.data, whole.len);
		assert_null(state_world_restore());
		assert_int_equal(restored.services, 1);
		free(whole.data);
		free(file.data);
	}
}

static void every_flipped_bit_and_every_cut_is_found(void **state)
{
	struct bytes whole;
	struct state_file file;
	struct reason why;

	(void)state;
	state_world_save(9);
	whole = state_world_read("web.service");
	assert_int_equal(state_file_parse(whole.data, whole.len, STATE_SERVICE, "one", &file, &why), STATE_OK);
	for (size_t bit = 0; bit < whole.len * 8; bit++) {
		whole.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_not_equal(state_file_parse(whole.data, whole.len, STATE_SERVICE, "one", &file, &why),
				     STATE_OK);
		whole.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (size_t len = 0; len < whole.len; len++) {
		uint8_t *cut = malloc(len + !len); /* exactly, so that the sanitizer sees a read beyond */

		assert_non_null(cut);
		memcpy(cut, whole.data, len);
		assert_int_not_equal(state_file_parse(cut, len, STATE_SERVICE, "one", &file, &why), STATE_OK);
		free(cut);
	}
	free(whole.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(every_damage_is_refused_by_name, state_world_set_up, state_world_tear_down),
	    cmocka_unit_test_setup_teardown(what_is_no_file_is_refused, state_world_set_up, state_world_tear_down),
	    cmocka_unit_test_setup_teardown(what_the_cluster_s_file_must_not_hold_is_refused, state_world_set_up,
					    state_world_tear_down),
	    cmocka_unit_test_setup_teardown(without_the_cluster_s_file_nothing_is_restored, state_world_set_up,
					    state_world_tear_down),
	    cmocka_unit_test_setup_teardown(every_flipped_bit_and_every_cut_is_found, state_world_set_up,
					    state_world_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
