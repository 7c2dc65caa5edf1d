/* SPDX-License-Identifier: Apache-2.0 */
/* Settled generations: what their node may say, what the disk may have, and what a mux knows while ZooKeeper answers. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fairlead/delta.h>

#include "control/cluster/settled_watch.h"
#include "../fake_tree.h"

static const char path[] = "/fairlead/settled";

static void a_node_is_parsed_or_refused(void **state)
{
	static const struct {
		const char *json;
		const char *why; /* part of it; NULL: it is good */
		uint32_t first;  /* of service 1 */
		unsigned count;
	} rows[] = {
	    {"{\"format\":1,\"services\":{}}", NULL, 0, 0},
	    {"{\"format\":1,\"services\":{\"1\":1}}", NULL, 1, 1},
	    {"{\"format\":1,\"services\":{\"65535\":4294967295,\"1\":12}}", NULL, 12, 2},
	    {"{\"format\":1,\"services\":{\"2\":12},\"more\":[]}", NULL, 0, 1},
	    {"", "not JSON", 0, 0},
	    {"{", "not JSON", 0, 0},
	    {"[]", "format is missing", 0, 0},
	    {"{\"services\":{}}", "format is missing", 0, 0},
	    {"{\"format\":2,\"services\":{}}", "format is another", 0, 0},
	    {"{\"format\":\"1\",\"services\":{}}", "format is another", 0, 0},
	    {"{\"format\":1}", "services is missing", 0, 0},
	    {"{\"format\":1,\"services\":[1]}", "services is not an object", 0, 0},
	    {"{\"format\":1,\"services\":{\"1\":1,\"1\":2}}", "not JSON", 0, 0},
	    {"{\"format\":1,\"services\":{\"0\":1}}", "names '0'", 0, 0},
	    {"{\"format\":1,\"services\":{\"01\":1}}", "names '01'", 0, 0},
	    {"{\"format\":1,\"services\":{\"\":1}}", "names ''", 0, 0},
	    {"{\"format\":1,\"services\":{\"-1\":1}}", "names '-1'", 0, 0},
	    {"{\"format\":1,\"services\":{\"web\":1}}", "names 'web'", 0, 0},
	    {"{\"format\":1,\"services\":{\"65536\":1}}", "names '65536'", 0, 0},
	    {"{\"format\":1,\"services\":{\"99999999999999999999\":1}}", "names '9999", 0, 0},
	    {"{\"format\":1,\"services\":{\"1\":0}}", "services.1 is 0", 0, 0},
	    {"{\"format\":1,\"services\":{\"1\":-1}}", "services.1 is -1", 0, 0},
	    {"{\"format\":1,\"services\":{\"1\":4294967296}}", "services.1 is 4294967296", 0, 0},
	    {"{\"format\":1,\"services\":{\"1\":\"7\"}}", "services.1 is 0", 0, 0},
	    {"{\"format\":1,\"services\":{\"1\":1.5}}", "services.1 is 0", 0, 0},
	    {"{\"format\":1,\"services\":{\"1\":null}}", "services.1 is 0", 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct reason why = {""};
		struct settled settled;
		int error = settled_parse(rows[i].json, strlen(rows[i].json), &settled, &why);

		print_message("# %s: %s\n", rows[i].json, why.text);
		assert_int_equal(error, rows[i].why ? -EINVAL : 0);
		if (rows[i].why)
			assert_non_null(strstr(why.text, rows[i].why));
		assert_int_equal(settled.count, rows[i].count);
		assert_int_equal(settled_find(&settled, 1), rows[i].first);
		settled_clear(&settled);
	}
}

static void what_is_stored_is_loaded(void **state)
{
	static const char json[] = "{\"format\":1,\"services\":{\"65535\":4294967295,\"7\":12,\"1\":1}}";
	struct settled settled, loaded, copy = {0};
	struct reason why = {""};
	uint8_t *bytes;
	size_t len;

	(void)state;
	assert_int_equal(settled_parse(json, strlen(json), &settled, &why), 0);
	bytes = settled_store(&settled, &len);
	assert_non_null(bytes);
	assert_int_equal(len, 3 * 8);
	assert_int_equal(settled_load(bytes, len, &loaded, &why), 0);
	assert_true(settled_equal(&settled, &loaded));
	assert_true(settled_copy(&copy, &loaded));
	assert_int_equal(settled_find(&copy, 7), 12);
	assert_int_equal(settled_find(&copy, 8), 0);
	copy.list[1].generation++;
	assert_false(settled_equal(&copy, &loaded));
	settled_clear(&loaded);
	assert_false(settled_equal(&copy, &loaded));
	settled_clear(&copy);
	settled_clear(&settled);
	free(bytes);
}

static void they_are_set_one_by_one(void **state)
{
	static const struct {
		uint16_t service;
		uint32_t generation;
		unsigned count; /* afterwards */
	} rows[] = {{7, 3, 1}, {1, 5, 2}, {65535, 9, 3}, {4, 1, 4}, {7, 2, 4},
		    {4, 0, 3}, {4, 0, 3}, {65535, 0, 2}, {1, 6, 2}};
	struct settled settled = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		print_message("# %u is %u\n", rows[i].service, rows[i].generation);
		assert_true(settled_set(&settled, rows[i].service, rows[i].generation));
		assert_int_equal(settled_find(&settled, rows[i].service), rows[i].generation);
		assert_int_equal(settled.count, rows[i].count);
		for (unsigned at = 1; at < settled.count; at++)
			assert_true(settled.list[at - 1].service < settled.list[at].service);
	}
	assert_int_equal(settled_find(&settled, 1), 6);
	assert_int_equal(settled_find(&settled, 7), 2);
	settled_clear(&settled);
}

static void what_the_disk_can_not_have_is_refused(void **state)
{
	static const struct {
		const char *name;
		uint32_t words[4];
		size_t len;
		bool is_good;
	} rows[] = {
	    {"nothing", {0}, 0, true},
	    {"two", {1, 5, 2, 1}, 16, true},
	    {"seven bytes", {1, 5}, 7, false},
	    {"id 0", {0, 5}, 8, false},
	    {"an id of 17 bits", {65536, 5}, 8, false},
	    {"generation 0", {1, 0}, 8, false},
	    {"the same id twice", {1, 5, 1, 6}, 16, false},
	    {"ids that fall", {2, 5, 1, 6}, 16, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct reason why = {""};
		struct settled settled;
		uint8_t bytes[16];

		for (int word = 0; word < 4; word++)
			fl_store_le32(bytes + 4 * word, rows[i].words[word]);
		print_message("# %s\n", rows[i].name);
		assert_int_equal(settled_load(bytes, rows[i].len, &settled, &why), rows[i].is_good ? 0 : -EINVAL);
		assert_int_equal(settled.count, rows[i].is_good ? rows[i].len / 8 : 0);
		settled_clear(&settled);
	}
}

/* --- what a mux knows --------------------------------------------------------------------------------------------- */

struct world {
	struct tree *tree;
	struct settled_watch *watch;
};

static int set_up(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	world->tree = fake_tree_new();
	world->watch = settled_watch_new(world->tree, "/fairlead");
	assert_non_null(world->watch);
	*state = world;
	return 0;
}

static int tear_down(void **state)
{
	struct world *world = *state;

	fake_tree_free(world->tree);
	settled_watch_free(world->watch);
	free(world);
	return 0;
}

/* The oldest request is of this kind, and is answered so. */
static void answer(const struct world *world, enum fake_kind kind, enum tree_result result, const char *text)
{
	const struct tree_reply reply = {
	    .result = result, .data = (const uint8_t *)text, .len = text ? strlen(text) : 0};

	assert_true(fake_tree_count(world->tree) > 0);
	assert_int_equal(fake_tree_at(world->tree, 0)->kind, kind);
	fake_tree_answer(world->tree, 0, &reply);
}

static uint32_t known(const struct world *world)
{
	settled_watch_apply(world->watch, NULL, 0, NULL, 0);
	return settled_find(&world->watch->known, 1);
}

#define SETTLED(generation) "{\"format\":1,\"services\":{\"1\":" generation "}}"

static void the_node_is_followed(void **state)
{
	struct world *world = *state;

	watched_node_release(&world->watch->node);
	answer(world, FAKE_GET, TREE_MISSING, NULL);
	answer(world, FAKE_EXISTS, TREE_MISSING, NULL);
	assert_int_equal(known(world), 0);
	watched_node_fired(&world->watch->node, "/fairlead/clock");
	assert_int_equal(fake_tree_count(world->tree), 0);
	watched_node_fired(&world->watch->node, path);
	watched_node_fired(&world->watch->node, path); /* changed again while it is read: */
	answer(world, FAKE_GET, TREE_OK, SETTLED("5"));
	answer(world, FAKE_GET, TREE_OK, SETTLED("6")); /* read again */
	assert_int_equal(known(world), 6);

	watched_node_fired(&world->watch->node, path);
	answer(world, FAKE_GET, TREE_OK, "{}"); /* malformed: as before */
	assert_int_equal(known(world), 6);
	watched_node_fired(&world->watch->node, path);
	answer(world, FAKE_GET, TREE_FAILED, NULL);
	assert_int_equal(known(world), 6);
	watched_node_run(&world->watch->node, world->watch->node.retry_at - 1);
	assert_int_equal(fake_tree_count(world->tree), 0);
	watched_node_run(&world->watch->node, world->watch->node.retry_at);
	answer(world, FAKE_GET, TREE_OK, SETTLED("7"));
	assert_int_equal(known(world), 7);

	watched_node_fired(&world->watch->node, path);
	answer(world, FAKE_GET, TREE_MISSING,
	       NULL); /* the tree was restored: its generations are higher than all before */
	assert_int_equal(known(world), 0);
}

static void created_between_both_looks(void **state)
{
	struct world *world = *state;

	watched_node_release(&world->watch->node);
	answer(world, FAKE_GET, TREE_MISSING, NULL);
	answer(world, FAKE_EXISTS, TREE_OK, NULL);
	watched_node_run(&world->watch->node, world->watch->node.retry_at);
	answer(world, FAKE_GET, TREE_OK, SETTLED("5"));
	assert_int_equal(known(world), 5);
}

static void another_clusters_tree_says_nothing(void **state)
{
	struct world *world = *state;
	struct settled_entry entry = {.service = 1, .generation = 9};
	const struct settled restored = {.list = &entry, .count = 1};

	settled_watch_restore(world->watch, &restored);
	watched_node_fired(&world->watch->node, path);
	watched_node_run(&world->watch->node, UINT64_MAX);
	assert_int_equal(fake_tree_count(world->tree), 0); /* held */
	assert_int_equal(known(world), 9);
	watched_node_release(&world->watch->node);
	watched_node_hold(&world->watch->node);
	answer(world, FAKE_GET, TREE_OK, SETTLED("5"));
	assert_int_equal(known(world), 9);
	watched_node_release(&world->watch->node);
	watched_node_hold(&world->watch->node);
	watched_node_release(&world->watch->node); /* while the first read is under way */
	answer(world, FAKE_GET, TREE_MISSING, NULL);
	answer(world, FAKE_GET, TREE_OK, SETTLED("5"));
	assert_int_equal(known(world), 5);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_node_is_parsed_or_refused),
	    cmocka_unit_test(what_is_stored_is_loaded),
	    cmocka_unit_test(they_are_set_one_by_one),
	    cmocka_unit_test(what_the_disk_can_not_have_is_refused),
	    CASE(the_node_is_followed),
	    CASE(created_between_both_looks),
	    CASE(another_clusters_tree_says_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
