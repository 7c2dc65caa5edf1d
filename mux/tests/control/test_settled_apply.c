/* SPDX-License-Identifier: Apache-2.0 */
/* What a mux does about settled generations: when they count, what it promises, and which VIPs it announces meanwhile. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "control/service/config_node.h"
#include "control/service/service_list.h"
#include "control/cluster/settled_watch.h"
#include "../fake_tree.h"
#include "../image.h"

enum { BUCKETS = 256, WEB = 0, TLS, MAIL, SERVICES };

/* web and mail share no VIP; tls shares one with each. */
static const struct {
	const char *name;
	const char *vips[2];
} kinds[SERVICES] = {{"web", {"10.99.0.1"}}, {"tls", {"10.99.0.1", "10.99.0.2"}}, {"mail", {"10.99.0.2"}}};

struct world {
	struct tree *tree;
	struct service_sync_context context;
	struct service_sync *syncs[SERVICES];
	struct settled_watch *watch;
	uint64_t now;
};

/* By the service's id: how many VIPs are announced, and were at most since the test began. */
static unsigned announced[SERVICES + 1], most[SERVICES + 1];

int announce_service(struct announcer *announcer, uint32_t service, const struct fl_address *vips, unsigned count)
{
	(void)announcer, (void)vips;
	announced[service] = count;
	most[service] = count > most[service] ? count : most[service];
	return 0;
}

static void on_owner(void *owner)
{
	(void)owner;
}

static struct service_config config_of(unsigned which)
{
	struct service_config config = image_config((uint16_t)(which + 1), kinds[which].vips[0], BUCKETS);

	strcpy(config.name, kinds[which].name);
	config.ports[0].port = (uint16_t)(80 + which);
	if (kinds[which].vips[1])
		config.vips[config.vips_count++] = image_address(kinds[which].vips[1]);
	return config;
}

static struct published_service *published(const struct world *world, unsigned which)
{
	return &world->syncs[which]->ring.published;
}

static void load(const struct world *world, unsigned which, uint32_t generation)
{
	struct delta image = image_snapshot((uint16_t)(which + 1), generation, BUCKETS, 3);
	struct service_config config = config_of(which);
	struct reason why = {""};

	assert_int_equal(published_load(published(world, which), &config, &image, NULL, &why), 0);
	image_free(&image);
}

static bool apply(struct world *world)
{
	return settled_watch_apply(world->watch, world->syncs, SERVICES, NULL, world->now);
}

static int set_up(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	world->tree = fake_tree_new();
	world->now = 1000;
	memset(announced, 0, sizeof(announced));
	memset(most, 0, sizeof(most));
	world->context = (struct service_sync_context){.tree = world->tree,
						       .place = {.tables = tables_new(1, &image_hops),
								 .counters = counters_new(1),
								 .changes = change_log_new(),
								 .announcer = (struct announcer *)world,
								 .settles = true},
						       .root = "/fairlead",
						       .changed = on_owner,
						       .vanished = on_owner};
	for (unsigned i = 0; i < SERVICES; i++)
		world->syncs[i] = service_sync_new(&world->context, kinds[i].name);
	world->watch = settled_watch_new(world->tree, "/fairlead");
	assert_non_null(world->watch);
	*state = world;
	return 0;
}

static int tear_down(void **state)
{
	struct world *world = *state;

	for (unsigned i = 0; i < SERVICES; i++)
		service_sync_end(world->syncs[i]);
	fake_tree_free(world->tree);
	settled_watch_free(world->watch);
	free(world->context.place.changes);
	tables_free(world->context.place.tables);
	counters_free(world->context.place.counters);
	free(world);
	return 0;
}

/* Answers the oldest request for this node. */
static void answer(const struct world *world, const char *path, enum tree_result result, const char *text)
{
	const struct tree_reply reply = {
	    .result = result, .data = (const uint8_t *)text, .len = text ? strlen(text) : 0};
	size_t at = 0;

	while (at < fake_tree_count(world->tree) && strcmp(fake_tree_at(world->tree, at)->path, path) != 0)
		at++;
	assert_true(at < fake_tree_count(world->tree));
	fake_tree_answer(world->tree, at, &reply);
}

/* What the node says of web and mail, 0: nothing. */
static void tell(struct world *world, uint32_t web, uint32_t mail)
{
	char text[128], first[32] = "", second[32] = "";

	if (web)
		snprintf(first, sizeof(first), "\"1\":%u%s", web, mail ? "," : "");
	if (mail)
		snprintf(second, sizeof(second), "\"3\":%u", mail);
	snprintf(text, sizeof(text), "{\"format\":1,\"services\":{%s%s}}", first, second);
	watched_node_release(&world->watch->node);
	answer(world, "/fairlead/settled", TREE_OK, text);
}

/* web is read again: the number of its latest generation is yet to come. */
static void refresh(const struct world *world)
{
	struct service_config config = config_of(WEB);
	char *text = config_node_print(&config);

	service_sync_refresh(world->syncs[WEB]);
	answer(world, "/fairlead/services/web/config", TREE_OK, text);
	free(text);
}

static void latest(const struct world *world, const char *number)
{
	answer(world, "/fairlead/services/web/ring/latest_gen", TREE_OK, number);
}

static void check(const struct world *world, unsigned which, bool announces, const char *withdrawn, uint32_t promised)
{
	const struct published_service *of = published(world, which);

	assert_int_equal(published_announces(of), announces);
	assert_int_equal(announced[which + 1] > 0, announces);
	if (withdrawn)
		assert_string_equal(published_withdrawn(of), withdrawn);
	else
		assert_null(published_withdrawn(of));
	assert_int_equal(of->promised, promised);
}

static uint32_t known(const struct world *world)
{
	return settled_find(&world->watch->known, 1);
}

static uint64_t refused(const struct world *world)
{
	return world->syncs[WEB]->ring.refused[REFUSAL_SETTLED];
}

/* web is announced with generation 5, and what it is told is settled. */
static void serve(struct world *world, uint32_t settled)
{
	load(world, WEB, 5);
	tell(world, settled, 0);
	assert_true(apply(world));
	check(world, WEB, true, NULL, 5);
	assert_false(apply(world));
}

static void a_ring_is_announced_once_it_is_judged(void **state)
{
	struct world *world = *state;

	load(world, WEB, 5);
	check(world, WEB, false, NULL, 0);
	tell(world, 6, 0);
	apply(world);
	check(world, WEB, false, "settled", 6);
	assert_int_equal(most[1], 0);
	load(world, WEB, 6);
	apply(world);
	check(world, WEB, true, NULL, 6);
}

static void what_is_announced_stays_while_it_is_read(void **state)
{
	struct world *world = *state;

	serve(world, 4);
	refresh(world);
	tell(world, 8, 0);
	apply(world);
	check(world, WEB, true, NULL, 5); /* nothing is promised that it does not keep */
	assert_int_equal(known(world), 4);
	latest(world, "8"); /* delta 6 is being read */
	world->now += SETTLED_WATCH_READ_MS - 1;
	apply(world);
	check(world, WEB, true, NULL, 5);
	load(world, WEB, 8);
	assert_true(apply(world));
	check(world, WEB, true, NULL, 8);
	assert_int_equal(known(world), 8);
	assert_int_equal(refused(world), 0);
}

static void what_takes_too_long_is_withdrawn(void **state)
{
	struct world *world = *state;

	serve(world, 4);
	refresh(world);
	tell(world, 8, 0);
	apply(world);
	latest(world, "9");
	world->now += SETTLED_WATCH_READ_MS / 2;
	tell(world, 9, 0); /* does not restart the time */
	apply(world);
	check(world, WEB, true, NULL, 5);
	world->now += SETTLED_WATCH_READ_MS / 2;
	assert_true(apply(world));
	check(world, WEB, false, "settled", 9);
	assert_int_equal(known(world), 9);
	assert_false(apply(world));
}

static void what_is_not_being_read_is_withdrawn_at_once(void **state)
{
	struct world *world = *state;

	serve(world, 4);
	tell(world, 8, 0); /* the latest generation is not known */
	assert_true(apply(world));
	check(world, WEB, false, "settled", 8);
}

static void what_is_withdrawn_does_not_come_back_while_it_is_read(void **state)
{
	struct world *world = *state;

	serve(world, 4);
	published(world, WEB)->withdrawn_for_lag = true;
	published_announce(published(world, WEB));
	refresh(world);
	tell(world, 8, 0);
	apply(world);
	published(world, WEB)->withdrawn_for_lag = false; /* those that were ahead have ended */
	published_announce(published(world, WEB));
	check(world, WEB, false, NULL, 5);
	world->now += SETTLED_WATCH_READ_MS;
	apply(world);
	check(world, WEB, false, "settled", 8);
}

static void what_is_not_committed_does_not_count(void **state)
{
	struct world *world = *state;

	serve(world, 4);
	refresh(world);
	latest(world, "5");
	tell(world, UINT32_MAX, 0);
	apply(world);
	check(world, WEB, true, NULL, 5);
	assert_int_equal(known(world), 4);
	assert_int_equal(refused(world), 1);
	apply(world);
	assert_int_equal(refused(world), 1);
	tell(world, 7, 0);
	apply(world);
	check(world, WEB, true, NULL, 5);
	assert_int_equal(refused(world), 2);

	refresh(world); /* now it is committed, and the ring is read for a while */
	latest(world, "7");
	apply(world);
	check(world, WEB, true, NULL, 5);
	world->now += SETTLED_WATCH_READ_MS;
	apply(world);
	check(world, WEB, false, "settled", 7);
	assert_int_equal(refused(world), 2);
}

/* As it was told so while the latest generation was not known. */
static void what_counted_ends_when_it_is_not_committed(void **state)
{
	struct world *world = *state;

	serve(world, 4);
	tell(world, 9, 0);
	apply(world);
	check(world, WEB, false, "settled", 9);
	refresh(world);
	latest(world, "5");
	assert_true(apply(world));
	check(world, WEB, true, NULL, 5);
	assert_int_equal(known(world), 0);
	assert_int_equal(refused(world), 1);
}

/* Without ZooKeeper others say what is committed, and settled. */
static void what_others_say_counts(void **state)
{
	struct world *world = *state;

	serve(world, 4);
	refresh(world);
	latest(world, "5");
	lag_hear(&published(world, WEB)->lag, 8, world->now);
	published(world, WEB)->heard_settled = 7;
	apply(world);
	check(world, WEB, false, "settled", 7);
	published(world, WEB)->heard_settled = 6;
	apply(world);
	assert_int_equal(known(world), 7);
	tell(world, 4, 0); /* ZooKeeper again */
	apply(world);
	check(world, WEB, true, NULL, 5);
}

/* Rings of generation 5. */
static void who_shares_a_vip_is_withdrawn_too(void **state)
{
	static const struct {
		const char *name;
		uint32_t web, mail;
		bool announced[SERVICES];
	} rows[] = {
	    {"none is too old", 5, 5, {true, true, true}}, {"web is", 6, 5, {false, false, true}},
	    {"mail is", 5, 6, {true, false, false}},       {"both are", 6, 6, {false, false, false}},
	    {"web is again", 7, 1, {false, false, true}},  {"nothing is settled", 0, 0, {true, true, true}},
	};
	struct world *world = *state;

	for (unsigned i = 0; i < SERVICES; i++)
		load(world, i, 5);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		print_message("# %s\n", rows[i].name);
		tell(world, rows[i].web, rows[i].mail);
		apply(world);
		for (unsigned which = 0; which < SERVICES; which++) {
			assert_int_equal(published_announces(published(world, which)), rows[i].announced[which]);
			assert_int_equal(published_is_behind(published(world, which)), !rows[i].announced[which]);
		}
		assert_false(apply(world));
	}
}

static void it_ends_with_the_other_service(void **state)
{
	struct world *world = *state;

	for (unsigned i = 0; i < SERVICES; i++)
		load(world, i, 5);
	tell(world, 6, 6);
	apply(world);
	load(world, WEB, 6); /* mail is still too old */
	apply(world);
	check(world, WEB, true, NULL, 6);
	check(world, TLS, false, "settled", 5);
	published_remove(published(world, MAIL));
	assert_true(apply(world));
	check(world, TLS, true, NULL, 5);
	load(world, MAIL, 5);
	load(world, TLS, 6);
	check(world, TLS, true, NULL, 5);
	apply(world);
	check(world, TLS, false, "settled", 6);
	check(world, MAIL, false, "settled", 6);
}

/* A VIP that it has not announced before, either. */
static void a_vip_is_added_that_another_service_has(void **state)
{
	struct service_config config = config_of(WEB);
	struct reason why = {""};
	struct world *world = *state;

	load(world, WEB, 5);
	load(world, MAIL, 5);
	tell(world, 0, 6);
	apply(world);
	check(world, WEB, true, NULL, 5);
	config.vips[config.vips_count++] = image_address(kinds[MAIL].vips[0]);
	assert_int_equal(published_change_config(published(world, WEB), &config, &why), 0);
	assert_true(apply(world));
	check(world, WEB, false, "settled", 5);
	assert_int_equal(most[1], 1);
}

/* tls and mail are both too old, and both have the VIP: neither comes back alone. */
static void two_that_are_too_old_wait_for_each_other(void **state)
{
	struct world *world = *state;

	load(world, TLS, 5);
	load(world, MAIL, 5);
	watched_node_release(&world->watch->node);
	answer(world, "/fairlead/settled", TREE_OK, "{\"format\":1,\"services\":{\"2\":6,\"3\":6}}");
	apply(world);
	load(world, TLS, 6);
	apply(world);
	check(world, TLS, false, "settled", 6);
	load(world, MAIL, 6);
	apply(world);
	check(world, TLS, true, NULL, 6);
	check(world, MAIL, true, NULL, 6);
}

/* A list that was requested before the tree became another cluster's: what became of it is said, and nothing follows. */
static void a_held_list_says_what_became_of_it(void **state)
{
	struct world *world = *state;
	struct tree_access access = {0};
	struct service_list *list = service_list_new(&world->context, &access);

	watched_node_read(&list->node);
	answer(world, "/fairlead/services", TREE_DENIED, NULL);
	assert_true(access.is_denied);
	watched_node_read(&list->node);
	answer(world, "/fairlead/services", TREE_MISSING, NULL);
	assert_true(list->is_missing);
	watched_node_read(&list->node);
	answer(world, "/fairlead/services", TREE_OK, NULL);
	assert_false(list->is_known);
	assert_true(list->node.retry_at == UINT64_MAX);
	service_list_free(list);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    CASE(a_ring_is_announced_once_it_is_judged),
	    CASE(what_is_announced_stays_while_it_is_read),
	    CASE(what_takes_too_long_is_withdrawn),
	    CASE(what_is_not_being_read_is_withdrawn_at_once),
	    CASE(what_is_withdrawn_does_not_come_back_while_it_is_read),
	    CASE(what_is_not_committed_does_not_count),
	    CASE(what_counted_ends_when_it_is_not_committed),
	    CASE(what_others_say_counts),
	    CASE(who_shares_a_vip_is_withdrawn_too),
	    CASE(it_ends_with_the_other_service),
	    CASE(a_vip_is_added_that_another_service_has),
	    CASE(two_that_are_too_old_wait_for_each_other),
	    CASE(a_held_list_says_what_became_of_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
