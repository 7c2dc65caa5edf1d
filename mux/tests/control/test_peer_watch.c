/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of muxes, and which of them are alive, with answers in any order: the set of peers is complete or unchanged,
 * only what has changed is read again, and failed requests are repeated.
 */
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "config/address.h"
#include "control/cluster/peer_watch.h"
#include "../fake_tree.h"

enum { OWNER = 7 }; /* the session of a node */

static const char folder[] = "/fairlead/muxes";

/* What the tables received. */
static struct {
	unsigned calls;
	int error; /* that they answer */
	uint32_t count;
	struct fl_address addresses[8];
} told;

int tables_set_peers(struct tables *tables, const struct fl_address *addresses, uint32_t count)
{
	(void)tables;
	told.calls++;
	if (told.error)
		return told.error;
	assert_true(count <= 8);
	told.count = count;
	memcpy(told.addresses, addresses, count * sizeof(*addresses));
	return 0;
}

struct world {
	struct tree *tree;
	struct peer_watch *watch;
};

static int set_up(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	memset(&told, 0, sizeof(told));
	world->tree = fake_tree_new();
	world->watch = peer_watch_new(world->tree, folder, NULL, NULL);
	assert_non_null(world->watch);
	*state = world;
	return 0;
}

static int tear_down(void **state)
{
	struct world *world = *state;

	fake_tree_free(world->tree);
	peer_watch_free(world->watch);
	free(world);
	return 0;
}

static void list(const struct world *world, int count)
{
	char *names[] = {"mux1", "mux2", "mux3", "mux4"};
	const struct tree_reply reply = {.result = TREE_OK, .children = names, .child_count = count};
	const struct fake_request *asked = fake_tree_at(world->tree, 0);

	assert_int_equal(fake_tree_count(world->tree), 1);
	assert_int_equal(asked->kind, FAKE_CHILDREN);
	assert_true(asked->watch);
	assert_string_equal(asked->path, folder);
	fake_tree_answer(world->tree, 0, &reply);
}

static void answer_text(const struct world *world, size_t i, const char *text)
{
	const struct tree_reply reply = {.result = TREE_OK, .data = (const uint8_t *)text, .len = strlen(text)};

	fake_tree_answer(world->tree, i, &reply);
}

/* The entry that was asked for i-th is that of a mux that is added; its node is then asked for last. */
static void entry(const struct world *world, size_t i, const char *text)
{
	const struct fake_request *asked = fake_tree_at(world->tree, i);

	assert_int_equal(asked->kind, FAKE_GET);
	assert_true(asked->watch);
	assert_memory_equal(asked->path, "/fairlead/muxes/mux", 19);
	assert_null(strchr(asked->path + 19, '/'));
	answer_text(world, i, text);
}

/* What comes of the node is asked for last. */
static void watched(const struct world *world, enum fake_kind kind, enum tree_result result)
{
	const struct tree_reply reply = {.result = result};
	size_t last = fake_tree_count(world->tree) - 1;
	const struct fake_request *asked = fake_tree_at(world->tree, last);

	assert_int_equal(asked->kind, kind);
	assert_true(asked->watch);
	assert_string_equal(asked->path + 20, "/live");
	fake_tree_answer(world->tree, last, &reply);
}

/* The node that was asked for i-th among those whose answer is missing; what watches it has no answer yet. */
static void read_node(const struct world *world, size_t i, enum tree_result result, const char *text)
{
	const struct tree_reply reply = {
	    .result = result, .data = (const uint8_t *)text, .len = text ? strlen(text) : 0, .owner = OWNER};

	assert_int_equal(fake_tree_at(world->tree, i)->kind, FAKE_GET);
	assert_false(fake_tree_at(world->tree, i)->watch); /* it is written often */
	assert_string_equal(fake_tree_at(world->tree, i)->path + 20, "/live");
	fake_tree_answer(world->tree, i, &reply);
}

static void node(const struct world *world, size_t i, enum tree_result result, const char *text)
{
	read_node(world, i, result, text);
	if (result == TREE_OK)
		watched(world, FAKE_CHILDREN, TREE_OK);
	else if (result == TREE_MISSING)
		watched(world, FAKE_EXISTS, TREE_MISSING);
}

#define ADDED "{\"format\": 1}"

/* Whether the mux that was asked for i-th is alive; its node is then asked for last. */
static void alive(const struct world *world, size_t i, bool is_alive)
{
	entry(world, i, ADDED);
	if (!is_alive)
		node(world, fake_tree_count(world->tree) - 1, TREE_MISSING, NULL);
}

/* The list has so many muxes, all of which are asked for, and alive. */
static void list_alive(const struct world *world, int count)
{
	list(world, count);
	assert_int_equal(fake_tree_count(world->tree), count);
	for (int i = 0; i < count; i++)
		alive(world, 0, true);
}

static void fail_first(const struct world *world, enum tree_result result)
{
	const struct tree_reply reply = {.result = result};

	fake_tree_answer(world->tree, 0, &reply);
}

static void at(const struct world *world, uint64_t now)
{
	fake_tree_set_now(world->tree, now);
	if (now >= world->watch->list.retry_at)
		watched_node_run(&world->watch->list, now);
}

static void assert_told(unsigned calls, uint32_t count, const char *const *addresses)
{
	assert_int_equal(told.calls, calls);
	assert_int_equal(told.count, count);
	for (uint32_t i = 0; i < count; i++) {
		struct fl_address address;

		assert_true(address_parse(addresses[i], &address));
		assert_memory_equal(&told.addresses[i], &address, sizeof(address));
	}
}

#define NODE(address) "{\"format\": 1, \"address\": \"" address "\"}"

/* The list is in the order of its answers, backwards here: mux2 is asked for first. */
static void two_muxes(const struct world *world)
{
	peer_watch_connected(world->watch);
	list_alive(world, 2);
	node(world, 1, TREE_OK, NODE("10.1.0.11"));
	node(world, 0, TREE_OK, NODE("10.1.0.12"));
}

static void peers_are_sorted_and_each_once(void **state)
{
	struct world *world = *state;

	peer_watch_connected(world->watch);
	assert_int_equal(world->watch->alive, 0);
	list_alive(world, 4);
	node(world, 2, TREE_OK, NODE("10.1.0.13"));
	node(world, 2, TREE_OK, "{\"address6\": \"2001:db8:1::14\"}");
	node(world, 1, TREE_OK, NODE("10.1.0.12"));
	assert_int_equal(told.calls, 0);
	node(world, 0, TREE_OK, NODE("10.1.0.13"));
	assert_told(1, 3, (const char *[]){"10.1.0.12", "10.1.0.13", "2001:db8:1::14"});
	assert_int_equal(world->watch->alive, 4);
	assert_true(world->watch->list.retry_at == UINT64_MAX);
}

static void an_unchanged_set_is_not_reported_again(void **state)
{
	struct world *world = *state;

	two_muxes(world);
	two_muxes(world);
	assert_told(1, 2, (const char *[]){"10.1.0.11", "10.1.0.12"});
}

/* Nor one that is removed, whose entry can't be deleted as it has hidden nodes below it. */
static void a_mux_that_is_added_and_not_alive_is_no_peer(void **state)
{
	static const char *const entries[] = {ADDED, "{\"format\": 1, \"removed\": false}", "", "{"};
	struct world *world = *state;

	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		peer_watch_connected(world->watch);
		list(world, 3);
		alive(world, 0, false);
		entry(world, 0, "{\"format\": 1, \"removed\": true}");
		entry(world, 0, entries[i]);
		node(world, 0, TREE_OK, NODE("10.1.0.11"));
		assert_told(1, 1, (const char *[]){"10.1.0.11"});
		assert_int_equal(world->watch->alive, 1);
	}
	peer_watch_watched(world->watch, "/fairlead/muxes/mux1");
	entry(world, 0, "{\"removed\": true}");
	assert_told(2, 0, NULL);
	assert_int_equal(world->watch->alive, 0);
	assert_int_equal(fake_tree_count(world->tree), 0);
}

/* What happens between a reading and the watch that it sets is read. */
static void a_node_that_comes_or_goes_meanwhile_is_read_again(void **state)
{
	struct world *world = *state;

	peer_watch_connected(world->watch);
	list_alive(world, 1);
	read_node(world, 0, TREE_OK, NODE("10.1.0.11"));
	watched(world, FAKE_CHILDREN, TREE_MISSING);
	entry(world, 0, ADDED);
	read_node(world, 0, TREE_MISSING, NULL);
	watched(world, FAKE_EXISTS, TREE_OK);
	entry(world, 0, ADDED);
	read_node(world, 0, TREE_OK, NODE("10.1.0.12"));
	watched(world, FAKE_CHILDREN, TREE_DENIED); /* and hidden */
	entry(world, 0, ADDED);
	read_node(world, 0, TREE_MISSING, NULL);
	watched(world, FAKE_EXISTS, TREE_DENIED);
	entry(world, 0, ADDED);
	read_node(world, 0, TREE_DENIED, NULL);
	assert_told(0, 0, NULL);
	assert_int_equal(fake_tree_count(world->tree), 0);
}

/* Nobody tells when that changes; meanwhile the others are known. */
static void a_node_that_is_hidden_is_read_again(void **state)
{
	struct world *world = *state;
	uint64_t now = 0;

	peer_watch_connected(world->watch);
	list_alive(world, 2);
	node(world, 0, TREE_OK, NODE("10.1.0.12"));
	node(world, 0, TREE_DENIED, NULL);
	assert_told(1, 1, (const char *[]){"10.1.0.12"});
	for (int i = 0; i < 2; i++) {
		assert_int_equal(world->watch->list.retry_at, now += WATCHED_NODE_RETRY_MS);
		at(world, now);
		list(world, 2);
		alive(world, 0, true);
		node(world, 0, i ? TREE_OK : TREE_DENIED, NODE("10.1.0.11"));
		assert_int_equal(fake_tree_count(world->tree), 0);
	}
	assert_told(2, 2, (const char *[]){"10.1.0.11", "10.1.0.12"});
	assert_true(world->watch->list.retry_at == UINT64_MAX);
}

/* Nor one that stays without its mux, or that its mux hides from others: it can't keep them from knowing the rest. */
static void a_node_that_is_gone_or_says_nothing_is_no_peer(void **state)
{
	struct world *world = *state;

	const struct tree_reply persistent = {
	    .result = TREE_OK, .data = (const uint8_t *)NODE("10.1.0.14"), .len = strlen(NODE("10.1.0.14"))};

	peer_watch_connected(world->watch);
	list_alive(world, 4);
	fake_tree_answer(world->tree, 0, &persistent);
	watched(world, FAKE_EXISTS, TREE_OK);
	peer_watch_watched(world->watch, "/fairlead/muxes/mux4/live");
	fake_tree_answer(world->tree, 3, &(const struct tree_reply){.result = TREE_MISSING});
	node(world, 0, TREE_DENIED, NULL);
	node(world, 0, TREE_OK, "no JSON");
	node(world, 0, TREE_OK, NODE("10.1.0.12"));
	assert_told(1, 1, (const char *[]){"10.1.0.12"});
	peer_watch_watched(world->watch, "/fairlead/muxes/mux1");
	alive(world, 0, true);
	node(world, 0, TREE_OK, NODE("10.1.0"));
	assert_told(2, 0, NULL);
}

/* Of the others nothing is read. */
static void one_that_comes_or_goes_is_read_alone(void **state)
{
	struct world *world = *state;

	two_muxes(world);
	peer_watch_watched(world->watch, "/fairlead/muxes/mux2/live");
	assert_int_equal(fake_tree_count(world->tree), 1);
	alive(world, 0, false);
	assert_told(2, 1, (const char *[]){"10.1.0.11"});
	peer_watch_watched(world->watch, "/fairlead/muxes/mux2/live");
	alive(world, 0, true);
	node(world, 0, TREE_OK, NODE("10.1.0.22"));
	assert_told(3, 2, (const char *[]){"10.1.0.11", "10.1.0.22"});
	peer_watch_watched(world->watch, "/fairlead/muxes/mux9");
	peer_watch_watched(world->watch, "/fairlead/muxes/mux2/live2");
	peer_watch_watched(world->watch, "/fairlead/muxes/mux2/live/live");
	peer_watch_watched(world->watch, "/fairlead/muxesmux2");
	assert_int_equal(fake_tree_count(world->tree), 0);
}

static void one_that_is_added_or_removed_is_read_alone(void **state)
{
	struct world *world = *state;

	two_muxes(world);
	peer_watch_watched(world->watch, folder);
	list(world, 3);
	assert_int_equal(fake_tree_count(world->tree), 1);
	alive(world, 0, true);
	node(world, 0, TREE_OK, NODE("10.1.0.13"));
	assert_told(2, 3, (const char *[]){"10.1.0.11", "10.1.0.12", "10.1.0.13"});
	peer_watch_watched(world->watch, folder);
	list(world, 1);
	assert_int_equal(fake_tree_count(world->tree), 0);
	assert_told(3, 1, (const char *[]){"10.1.0.11"});
}

/* It was asked for when the list still had it. */
static void one_that_is_removed_while_it_is_read_is_no_peer(void **state)
{
	static const enum tree_result answers[] = {TREE_OK, TREE_MISSING, TREE_FAILED};
	struct world *world = *state;

	two_muxes(world);
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		const struct tree_reply reply = {.result = answers[i]};
		char *names[] = {"mux1", "mux2"};
		const struct tree_reply one = {.result = TREE_OK, .children = names, .child_count = 1};

		peer_watch_watched(world->watch, "/fairlead/muxes/mux2");
		peer_watch_watched(world->watch, folder);
		fake_tree_answer(world->tree, 1, &one);
		fake_tree_answer(world->tree, 0, &reply);
		if (answers[i] == TREE_OK)
			node(world, 0, TREE_MISSING, NULL);
		assert_int_equal(fake_tree_count(world->tree), 0);
		assert_int_equal(told.count, 1);
		assert_true(world->watch->list.retry_at == UINT64_MAX);
		peer_watch_watched(world->watch, folder);
		list(world, 2);
		alive(world, 0, true);
		node(world, 0, TREE_OK, NODE("10.1.0.12"));
		assert_int_equal(told.count, 2);
	}
}

/* A connection lost in the middle leaves the known peers, and what is not known is read again. */
static void a_partial_reading_is_no_set_of_peers(void **state)
{
	static const enum tree_result losses[] = {TREE_FAILED, TREE_LOGIN_REFUSED, TREE_FAILED};
	struct world *world = *state;
	uint64_t now = 0;

	two_muxes(world);
	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
		peer_watch_connected(world->watch);
		list_alive(world, 2);
		node(world, 0, losses[i], NULL);
		node(world, 0, TREE_OK, NODE("10.1.0.11"));
		assert_told(1, 2, (const char *[]){"10.1.0.11", "10.1.0.12"});
		assert_int_equal(fake_tree_count(world->tree), 0);
		at(world, now + WATCHED_NODE_RETRY_MS - 1);
		assert_int_equal(fake_tree_count(world->tree), 0);
		at(world, now += WATCHED_NODE_RETRY_MS);
		list(world, 2);
		fail_first(world, losses[i]);
		at(world, now += WATCHED_NODE_RETRY_MS);
		list(world, 2);
		alive(world, 0, true);
		node(world, 0, TREE_OK, NODE("10.1.0.12"));
	}
	assert_told(1, 2, (const char *[]){"10.1.0.11", "10.1.0.12"});
}

static void a_failed_list_is_requested_again(void **state)
{
	struct world *world = *state;

	two_muxes(world);
	peer_watch_watched(world->watch, folder);
	fail_first(world, TREE_FAILED);
	at(world, WATCHED_NODE_RETRY_MS);
	list(world, 1);
	assert_told(2, 1, (const char *[]){"10.1.0.11"});
}

/* A restored ZooKeeper gets the folder later: the last peers are kept until then. */
static void a_missing_folder_is_watched(void **state)
{
	struct world *world = *state;

	two_muxes(world);
	peer_watch_connected(world->watch);
	fail_first(world, TREE_MISSING);
	assert_int_equal(fake_tree_at(world->tree, 0)->kind, FAKE_EXISTS);
	assert_true(fake_tree_at(world->tree, 0)->watch);
	fail_first(world, TREE_MISSING);
	at(world, 10 * WATCHED_NODE_RETRY_MS);
	assert_int_equal(fake_tree_count(world->tree), 0);
	assert_told(1, 2, (const char *[]){"10.1.0.11", "10.1.0.12"});
	peer_watch_watched(world->watch, folder);
	list_alive(world, 1);
	node(world, 0, TREE_OK, NODE("10.1.0.11"));
	assert_told(2, 1, (const char *[]){"10.1.0.11"});
}

/* Another cluster's tree has other muxes, or none; in the end it is ours, and its muxes count. */
static void while_held_the_last_peers_stay(void **state)
{
	struct world *world = *state;

	two_muxes(world);
	world->watch->is_held = true;
	peer_watch_connected(world->watch);
	list(world, 0);
	assert_told(1, 2, (const char *[]){"10.1.0.11", "10.1.0.12"});
	assert_int_equal(world->watch->alive, 2);
	peer_watch_watched(world->watch, folder);
	list_alive(world, 1);
	node(world, 0, TREE_OK, NODE("10.1.0.11"));
	assert_told(1, 2, (const char *[]){"10.1.0.11", "10.1.0.12"});
	peer_watch_release(world->watch);
	assert_told(2, 1, (const char *[]){"10.1.0.11"});
	peer_watch_release(world->watch);
	assert_told(2, 1, (const char *[]){"10.1.0.11"});
}

static void a_change_while_reading_causes_one_more_reading(void **state)
{
	char *names[] = {"mux1"};
	const struct tree_reply one = {.result = TREE_OK, .children = names, .child_count = 1};
	struct world *world = *state;

	peer_watch_connected(world->watch);
	peer_watch_watched(world->watch, folder);
	peer_watch_watched(world->watch, folder);
	assert_int_equal(fake_tree_count(world->tree), 1);
	list(world, 1);
	assert_int_equal(fake_tree_count(world->tree), 2); /* the mux, and the list once more */
	peer_watch_watched(world->watch, "/fairlead/muxes/mux1");
	alive(world, 0, false);
	fake_tree_answer(world->tree, 0, &one);
	assert_int_equal(fake_tree_count(world->tree), 1);
	assert_int_equal(told.calls, 0);
	alive(world, 0, true);
	node(world, 0, TREE_OK, NODE("10.1.0.11"));
	assert_int_equal(fake_tree_count(world->tree), 0);
	assert_told(1, 1, (const char *[]){"10.1.0.11"});
}

static void without_memory_they_are_reported_later(void **state)
{
	struct world *world = *state;

	told.error = -1;
	two_muxes(world);
	assert_int_equal(told.calls, 1);
	told.error = 0;
	at(world, WATCHED_NODE_RETRY_MS);
	list(world, 1);
	assert_told(2, 1, (const char *[]){"10.1.0.11"});
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    CASE(peers_are_sorted_and_each_once),
	    CASE(an_unchanged_set_is_not_reported_again),
	    CASE(a_mux_that_is_added_and_not_alive_is_no_peer),
	    CASE(a_node_that_comes_or_goes_meanwhile_is_read_again),
	    CASE(a_node_that_is_hidden_is_read_again),
	    CASE(a_node_that_is_gone_or_says_nothing_is_no_peer),
	    CASE(one_that_comes_or_goes_is_read_alone),
	    CASE(one_that_is_added_or_removed_is_read_alone),
	    CASE(one_that_is_removed_while_it_is_read_is_no_peer),
	    CASE(a_partial_reading_is_no_set_of_peers),
	    CASE(a_failed_list_is_requested_again),
	    CASE(a_missing_folder_is_watched),
	    CASE(while_held_the_last_peers_stay),
	    CASE(a_change_while_reading_causes_one_more_reading),
	    CASE(without_memory_they_are_reported_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
