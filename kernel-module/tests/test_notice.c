// SPDX-License-Identifier: Apache-2.0
/*
 * notice.json against the module: a notice teaches what one packet of each of its buckets would, and nothing if its tag
 * or its form is wrong; it never goes on to the stack.
 */
#include <string.h>

#include "notice_row.h"
#include "stand.h"

static struct fl_siphash_key key;

/* A server that remembers nothing, with the key or without. */
static struct config set_anew(bool is_tagged)
{
	struct config config = rig_config_both();

	config.program.tagged = is_tagged;
	config.program.tag_key = key;
	module_detach(stand_client());
	stand_set(&config);
	return config;
}

static void check_taught(const struct notice_row_taught *taught)
{
	static const struct fl_bucket_memory nothing;
	struct fl_bucket_memory memory;
	size_t i;

	assert_int_equal(stand_generation(taught->service), taught->generation);
	assert_int_equal(stand_learned(), taught->learned);
	for (i = 0; i < taught->count; i++) {
		struct fl_memory_key at = {.service = taught->service, .bucket = taught->moves[i].bucket};

		if (!stand_memory(&at, &memory))
			memory = nothing;
		assert_memory_equal(&memory, &taught->moves[i].memory, sizeof(memory));
	}
}

static void check_nothing_taught(void)
{
	static struct module_state now;

	assert_int_equal(module_get(stand_client(), &now), 0);
	assert_int_equal(now.memory_entries, 0);
	assert_int_equal(stand_generation(RIG_SERVICE), 0);
	assert_int_equal(stand_learned(), 0);
}

/* False if the clock moved on meanwhile. */
static bool teach(const json_t *row, enum rig_family family, size_t padding)
{
	struct packet packet = notice_row_packet(row, family, padding);
	struct config config = set_anew(false);
	struct notice_row_taught taught;
	fl_u64 now = stand_clock();
	enum fl_counter counter = stand_send(&packet);

	if (stand_clock() != now)
		return false;
	assert_int_equal(counter, FL_COUNTER_NOTICE);
	notice_row_teach(row, &config, now, &taught);
	check_taught(&taught);
	return true;
}

static void valid(void **state)
{
	enum rig_family family;

	for (family = RIG_IPV4; family < RIG_FAMILIES; family++)
		while (!teach(*state, family, family == RIG_IPV4 ? 18 : 0))
			;
}

static void malformed(void **state)
{
	struct packet packet = notice_row_packet(*state, RIG_IPV4, 0);
	enum fl_counter expected = notice_row_malformed(*state), counter;

	set_anew(false);
	counter = stand_send(&packet);
	assert_int_not_equal(counter, FL_COUNTER_NOTICE);
	if (expected == FL_COUNTERS)
		return;
	assert_int_equal(counter, expected);
	check_nothing_taught();
}

static void tagged(void **state)
{
	struct packet packet = notice_row_packet(*state, RIG_IPV4, 0);
	enum fl_counter expected = notice_row_tagged(*state);

	set_anew(true);
	assert_int_equal(stand_send(&packet), expected);
	if (expected == FL_COUNTER_NOTICE)
		assert_int_equal(stand_generation(RIG_SERVICE), RIG_GENERATION);
	else
		check_nothing_taught();
}

int main(int argc, char **argv)
{
	json_t *file = vectors_load(argc > 1 ? argv[1] : ".", "notice.json");
	struct vectors_tests tests = {NULL, 0};
	int failed;

	key = vectors_key(file, "key");
	stand_open();
	vectors_add(&tests, file, "valid", valid);
	vectors_add(&tests, file, "malformed", malformed);
	vectors_add(&tests, file, "tags", tagged);
	failed = vectors_run("notices by the module", &tests);
	json_decref(file);
	return failed;
}
