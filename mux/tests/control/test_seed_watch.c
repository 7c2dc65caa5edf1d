/* SPDX-License-Identifier: Apache-2.0 */
/* The seed that deals fragments out: used once it is read; read again after failures. */
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "control/cluster/seed_watch.h"
#include "../fake_tree.h"

static const char path[] = "/fairlead/fragment_seed";
static const char text[] = "000102030405060708090a0b0c0d0e0f";

/* What the tables were told. */
static struct {
	unsigned calls;
	int error; /* that they answer */
	struct fl_siphash_key seed;
} told;

int tables_set_seed(struct tables *tables, const struct fl_siphash_key *seed)
{
	(void)tables;
	told.calls++;
	if (!told.error)
		told.seed = *seed;
	return told.error;
}

struct world {
	struct tree *tree;
	struct seed_watch *watch;
};

static int set_up(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	memset(&told, 0, sizeof(told));
	world->tree = fake_tree_new();
	world->watch = seed_watch_new(world->tree, "/fairlead", NULL);
	assert_non_null(world->watch);
	*state = world;
	return 0;
}

static int tear_down(void **state)
{
	struct world *world = *state;

	fake_tree_free(world->tree);
	seed_watch_free(world->watch);
	free(world);
	return 0;
}

static void answer(const struct world *world, enum fake_kind kind, enum tree_result result, const char *data)
{
	const struct tree_reply reply = {
	    .result = result, .data = (const uint8_t *)data, .len = data ? strlen(data) : 0};

	assert_int_equal(fake_tree_count(world->tree), 1);
	assert_int_equal(fake_tree_at(world->tree, 0)->kind, kind);
	assert_string_equal(fake_tree_at(world->tree, 0)->path, path);
	assert_true(fake_tree_at(world->tree, 0)->watch);
	fake_tree_answer(world->tree, 0, &reply);
}

static void run(const struct world *world)
{
	watched_node_run(&world->watch->node, tree_now(world->tree));
	seed_watch_apply(world->watch);
}

static bool is_used(const struct world *world)
{
	struct fl_siphash_key used = world->watch->used;

	assert_true(used.k0 == told.seed.k0 && used.k1 == told.seed.k1);
	return used.k0 | used.k1;
}

static void assert_told(unsigned calls, uint64_t k0, uint64_t k1)
{
	assert_int_equal(told.calls, calls);
	assert_true(told.seed.k0 == k0 && told.seed.k1 == k1);
}

static const uint64_t K0 = 0x0706050403020100, K1 = 0x0f0e0d0c0b0a0908;

static void it_is_used_once_it_is_read(void **state)
{
	struct world *world = *state;

	watched_node_read(&world->watch->node);
	run(world);
	assert_told(0, 0, 0);
	answer(world, FAKE_GET, TREE_OK, text);
	watched_node_run(&world->watch->node, tree_now(world->tree)); /* the tree may be another cluster's */
	assert_told(0, 0, 0);
	run(world);
	assert_told(1, K0, K1);
	assert_true(is_used(world));
	run(world);
	assert_told(1, K0, K1);
}

/* Controllers create it, perhaps later than muxes start. */
static void a_node_that_is_not_there_is_waited_for(void **state)
{
	struct world *world = *state;

	watched_node_read(&world->watch->node);
	answer(world, FAKE_GET, TREE_MISSING, NULL);
	answer(world, FAKE_EXISTS, TREE_MISSING, NULL);
	fake_tree_set_now(world->tree, 100 * WATCHED_NODE_RETRY_MS);
	run(world);
	assert_int_equal(fake_tree_count(world->tree), 0);
	assert_told(0, 0, 0);
	watched_node_fired(&world->watch->node, "/fairlead/cluster");
	assert_int_equal(fake_tree_count(world->tree), 0);
	watched_node_fired(&world->watch->node, path);
	answer(world, FAKE_GET, TREE_OK, text);
	run(world);
	assert_told(1, K0, K1);
}

static void one_that_is_created_meanwhile_is_read(void **state)
{
	struct world *world = *state;

	watched_node_read(&world->watch->node);
	answer(world, FAKE_GET, TREE_MISSING, NULL);
	answer(world, FAKE_EXISTS, TREE_OK, NULL);
	run(world);
	answer(world, FAKE_GET, TREE_OK, text);
	run(world);
	assert_told(1, K0, K1);
}

/* A lost connection changes nothing; what changes while it is read is read again. */
static void failures_keep_the_last_seed(void **state)
{
	static const enum tree_result losses[] = {TREE_FAILED, TREE_LOGIN_REFUSED, TREE_DENIED};
	struct world *world = *state;

	watched_node_read(&world->watch->node);
	answer(world, FAKE_GET, TREE_OK, text);
	run(world);
	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
		watched_node_read(&world->watch->node);
		answer(world, FAKE_GET, losses[i], NULL);
		fake_tree_set_now(world->tree, world->watch->node.retry_at - 1);
		run(world);
		assert_int_equal(fake_tree_count(world->tree), 0);
		fake_tree_set_now(world->tree, world->watch->node.retry_at);
		run(world);
		answer(world, FAKE_GET, TREE_OK, text);
	}
	assert_told(1, K0, K1);
	watched_node_read(&world->watch->node);
	watched_node_fired(&world->watch->node, path);
	answer(world, FAKE_GET, TREE_OK, "ffffffffffffffffffffffffffffffff");
	run(world);
	assert_told(1, K0, K1);
	answer(world, FAKE_GET, TREE_MISSING, NULL);
	answer(world, FAKE_EXISTS, TREE_MISSING, NULL);
	run(world);
	assert_told(2, 0, 0);
}

static void what_is_no_seed_is_none(void **state)
{
	static const char *const malformed[] = {
	    "",
	    "0",
	    "000102030405060708090a0b0c0d0e0",
	    "000102030405060708090a0b0c0d0e0f0",
	    "000102030405060708090a0b0c0d0e0f\n",
	    "000102030405060708090A0B0C0D0E0F",
	    "000102030405060708090a0b0c0d0e0g",
	    "0x0102030405060708090a0b0c0d0e0f",
	    "                                ",
	};
	struct world *world = *state;

	for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
		watched_node_read(&world->watch->node);
		answer(world, FAKE_GET, TREE_OK, text);
		run(world);
		assert_told(2 * (unsigned)i + 1, K0, K1);
		watched_node_fired(&world->watch->node, path);
		answer(world, FAKE_GET, TREE_OK, malformed[i]);
		run(world);
		assert_told(2 * (unsigned)i + 2, 0, 0);
	}
}

static void without_memory_it_is_told_later(void **state)
{
	struct world *world = *state;

	told.error = -1;
	watched_node_read(&world->watch->node);
	answer(world, FAKE_GET, TREE_OK, text);
	run(world);
	assert_false(is_used(world));
	told.error = 0;
	run(world);
	assert_told(2, K0, K1);
}

/* The others still use what they used: nothing changes before it is known what they use now. */
static void one_from_disk_is_used_until_the_tree_is_read(void **state)
{
	const struct fl_siphash_key kept = {3, 4};
	struct world *world = *state;

	seed_watch_restore(world->watch, &kept);
	assert_told(1, 3, 4);
	run(world);
	assert_told(1, 3, 4);
	watched_node_read(&world->watch->node);
	answer(world, FAKE_GET, TREE_FAILED, NULL);
	run(world);
	assert_told(1, 3, 4);
	fake_tree_set_now(world->tree, world->watch->node.retry_at);
	run(world);
	answer(world, FAKE_GET, TREE_OK, text);
	assert_told(1, 3, 4);
	run(world);
	assert_told(2, K0, K1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    CASE(it_is_used_once_it_is_read),
	    CASE(a_node_that_is_not_there_is_waited_for),
	    CASE(one_that_is_created_meanwhile_is_read),
	    CASE(failures_keep_the_last_seed),
	    CASE(what_is_no_seed_is_none),
	    CASE(without_memory_it_is_told_later),
	    CASE(one_from_disk_is_used_until_the_tree_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
