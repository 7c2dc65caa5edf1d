/* SPDX-License-Identifier: Apache-2.0 */
/* The pool as the tree changes, and what the probe's node says of it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "agent/bucket_set.h"
#include "config/address.h"
#include "encap/encap.h"
#include "pool.h"
#include "results.h"
#include "cluster.h"
#include "vectors.h"

static const char *vectors_folder;

struct world {
	struct pool pool;
	struct probed *web;
	struct service_config config;
	struct check check;
	int probes; /* that the listener was told of and not yet told of again */
};

static void on_added(void *context, struct probe *probe)
{
	struct world *world = context;

	probe->due.slot = 1; /* as if it was scheduled */
	world->probes++;
}

static void on_removed(void *context, struct probe *probe)
{
	struct world *world = context;

	assert_int_equal(probe->due.slot, 1);
	world->probes--;
}

static struct fl_address address(const char *text)
{
	struct fl_address out;

	assert_true(address_parse(text, &out));
	return out;
}

/* "1=10.1.0.21 2=2001:db8::22 3-10.1.0.23": ids and addresses; - is removed. */
static int set(struct world *world, const char *list)
{
	struct fl_delta_backend backends[8];
	uint32_t count = 0;
	char text[64], sign;
	unsigned id;
	int at;

	for (; sscanf(list, "%u%c%63s%n", &id, &sign, text, &at) == 3; list += at)
		backends[count++] = (struct fl_delta_backend){
		    .id = (uint16_t)id, .flags = sign == '-' ? FL_BACKEND_REMOVED : 0, .address = address(text)};
	return pool_set(&world->pool, world->web, &world->config, &world->check, backends, count);
}

static int setup(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	world->pool = (struct pool){.outer = {address("10.1.0.11"), address("2001:db8::11")},
				    .inner = {address("10.1.0.11"), address("2001:db8::11")},
				    .listener = {on_added, on_removed, world}};
	world->config = (struct service_config){.id = 5,
						.vips_count = 2,
						.vips = {address("10.99.0.1"), address("2001:db8:99::1")},
						.ports_count = 1,
						.ports = {{IPPROTO_TCP, 80}},
						.encap = &encap_gue,
						.hash = FL_HASH_SIPHASH};
	world->check = (struct check){.kind = CHECK_TCP, .rise = 1, .fall = 1, .interval_ms = 1000, .timeout_ms = 500};
	world->web = pool_get(&world->pool, "web");
	world->web->config_written = 1234567890123;
	*state = world;
	return 0;
}

static int teardown(void **state)
{
	struct world *world = *state;

	pool_clear(&world->pool);
	assert_int_equal(world->probes, 0);
	free(world);
	return 0;
}

/* Each endpoint of the backend at this place gets a result. */
static void take(struct world *world, uint32_t at, enum outcome first, enum outcome second)
{
	judge_take(&world->web->targets[at]->probes[0].judge, first, 1, 1);
	judge_take(&world->web->targets[at]->probes[1].judge, second, 1, 1);
}

/* "1U 2? 3D": all backends, and what is known of each. */
static void expect(const struct world *world, const char *wanted)
{
	char text[128] = "";

	for (uint32_t i = 0; i < world->web->count; i++) {
		const struct probe *worst;
		const struct target *target = world->web->targets[i];

		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%u%c", i ? " " : "", target->id,
			 "?UD"[target_health(target, &worst)]);
	}
	assert_string_equal(text, wanted);
}

static void results_stay_with_their_backend(void **state)
{
	struct world *world = *state;

	assert_int_equal(set(world, "1=10.1.0.21 2=2001:db8::22 4=10.1.0.24"), 0);
	assert_int_equal(world->probes, 6);
	expect(world, "1? 2? 4?");
	take(world, 0, OUTCOME_OK, OUTCOME_OK);
	take(world, 1, OUTCOME_OK, OUTCOME_TIMEOUT);
	judge_take(&world->web->targets[2]->probes[0].judge, OUTCOME_OK, 1, 1);
	expect(world, "1U 2D 4?");
	assert_int_equal(set(world, "1=10.1.0.21 2=2001:db8::22 3=10.1.0.23 4-10.1.0.24"), 0);
	expect(world, "1U 2D 3?");
	assert_int_equal(set(world, "1=10.1.0.31 2=2001:db8::22"), 0); /* another machine */
	expect(world, "1? 2D");
	assert_int_equal(world->probes, 4);
	world->config.window = 60; /* nothing to do with probes */
	assert_int_equal(set(world, "1=10.1.0.31 2=2001:db8::22"), 0);
	expect(world, "1? 2D");
	world->check.rise = 2;
	assert_int_equal(set(world, "1=10.1.0.31 2=2001:db8::22"), 0);
	expect(world, "1? 2?");
	take(world, 0, OUTCOME_OK, OUTCOME_OK);
	world->config.vips_count = 1;
	assert_int_equal(set(world, "1=10.1.0.31"), 0);
	expect(world, "1?");
	assert_int_equal(world->probes, 1);
	world->check.kind = CHECK_NONE;
	assert_int_equal(set(world, "1=10.1.0.31"), 0);
	assert_int_equal(world->web->refusal, PROBED_NO_CHECK);
	assert_int_equal(world->probes, 0);
}

static void packets_go_by_the_backends_family(void **state)
{
	struct world *world = *state;

	assert_int_equal(set(world, "1=10.1.0.21 2=2001:db8::22"), 0);
	for (uint32_t i = 0; i < 2; i++) {
		const struct wrap *wrap = &world->web->targets[i]->wrap;

		assert_true(fl_address_equal(&wrap->source, &world->pool.outer[i]));
		assert_int_equal(wrap->service, 5);
		assert_ptr_equal(wrap->encap, &encap_gue);
	}
}

static void without_an_address_nothing_is_probed(void **state)
{
	struct world *world = *state;

	world->pool.outer[1] = (struct fl_address){{0}};
	assert_int_equal(set(world, "1=10.1.0.21 2-2001:db8::22"), 0);
	expect(world, "1?"); /* removed ones do not count */
	assert_int_equal(set(world, "2=2001:db8::22"), 0);
	assert_int_equal(world->web->refusal, PROBED_NO_SOURCE);
	assert_non_null(strstr(world->web->why.text, "backend 2 at 2001:db8::22"));
	world->pool.outer[1] = world->pool.inner[1];
	world->pool.inner[0] = (struct fl_address){{0}};
	assert_int_equal(set(world, "1=10.1.0.21"), 0);
	assert_int_equal(world->web->refusal, PROBED_NO_SOURCE);
	assert_non_null(strstr(world->web->why.text, "VIP 10.99.0.1"));
	assert_int_equal(world->probes, 0);
}

/* The ids of a set in JSON, ' '-separated. */
static void expect_ids(const json_t *set, const char *wanted)
{
	const char *word = NULL;
	struct bucket_set *ids = bucket_set_read(json_string_value(set), 65536, &word);
	char text[128] = "";

	assert_non_null(ids);
	for (uint32_t i = 0; i < 65536; i++)
		if (bucket_set_has(ids, i))
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%u", *text ? " " : "", i);
	free(ids);
	assert_string_equal(text, wanted);
}

/* A probe without IPv6 says which backends it does not probe; what it knows of the others stays. */
static void backends_of_another_family_are_skipped(void **state)
{
	struct world *world = *state;
	const json_t *web;
	json_t *root;
	char *text;

	world->pool.outer[1] = (struct fl_address){{0}};
	assert_int_equal(set(world, "1=10.1.0.21 3=10.1.0.23"), 0);
	take(world, 0, OUTCOME_OK, OUTCOME_OK);
	text = results_print(&world->pool, "mux1", "");
	root = json_loads(text, 0, NULL);
	web = json_object_get(json_object_get(root, "services"), "web");
	assert_null(json_object_get(web, "skipped"));
	assert_null(json_object_get(web, "why"));
	json_decref(root);
	free(text);
	assert_int_equal(set(world, "1=10.1.0.21 2=2001:db8::22 3=10.1.0.23 4-2001:db8::24 65535=2001:db8::25"), 0);
	expect(world, "1U 3?");
	assert_int_equal(world->probes, 4);
	text = results_print(&world->pool, "mux1", "");
	root = json_loads(text, 0, NULL);
	web = json_object_get(json_object_get(root, "services"), "web");
	expect_ids(json_object_get(web, "up"), "1");
	expect_ids(json_object_get(web, "skipped"), "2 65535");
	assert_non_null(strstr(json_string_value(json_object_get(web, "why")), "backend 2 at 2001:db8::22"));
	json_decref(root);
	free(text);
	assert_int_equal(set(world, "1=10.1.0.21 3=10.1.0.23"), 0);
	assert_int_equal(world->web->skipped_count, 0);
	assert_string_equal(world->web->why.text, "");
	expect(world, "1U 3?");
}

/* The node is the first of health.json, which controllers read. */
static void expect_vector(json_t *root)
{
	json_t *file = vectors_load(vectors_folder, "health.json");
	json_t *node = json_object_get(json_array_get(json_object_get(file, "nodes"), 0), "node");
	char *written, *wanted;

	json_object_set(root, "version", json_object_get(node, "version"));
	written = json_dumps(root, JSON_SORT_KEYS);
	wanted = json_dumps(node, JSON_SORT_KEYS);
	assert_string_equal(written, wanted);
	free(written);
	free(wanted);
	json_decref(file);
}

static void the_node_names_groups_with_their_reasons(void **state)
{
	struct world *world = *state;
	struct probed *other = pool_get(&world->pool, "other");
	const json_t *web, *down;
	json_t *root;
	char *text;

	assert_non_null(pool_get(&world->pool, "unchecked"));
	pool_refuse(&world->pool, pool_find(&world->pool, "unchecked"), PROBED_NO_CHECK, "");
	pool_refuse(&world->pool, other, PROBED_CHECK, "healthCheck.kind is 'icmp'");
	assert_int_equal(set(world, "1=10.1.0.21 2=10.1.0.22 3=10.1.0.23 4=10.1.0.24 6=10.1.0.26 65535=10.1.0.27"), 0);
	take(world, 0, OUTCOME_OK, OUTCOME_OK);
	take(world, 1, OUTCOME_TIMEOUT, OUTCOME_TIMEOUT);
	take(world, 2, OUTCOME_OK, OUTCOME_TIMEOUT);
	take(world, 3, OUTCOME_TIMEOUT, OUTCOME_UNROUTABLE);
	take(world, 5, OUTCOME_REFUSED, OUTCOME_OK);
	text = results_print(&world->pool, "mux1", "http://10.1.0.11:9109/metrics");
	assert_non_null(text);
	root = json_loads(text, 0, NULL);
	web = json_object_get(json_object_get(root, "services"), "web");
	assert_int_equal(json_integer_value(json_object_get(root, "format")), 1);
	assert_string_equal(json_string_value(json_object_get(root, "id")), "mux1");
	assert_string_equal(json_string_value(json_object_get(root, "metrics")), "http://10.1.0.11:9109/metrics");
	assert_int_equal(json_integer_value(json_object_get(web, "config")), 1234567890123);
	assert_int_equal(json_integer_value(json_object_get(web, "id")), 5);
	expect_ids(json_object_get(web, "up"), "1");
	expect_ids(json_object_get(web, "silent"), "2 4");
	down = json_object_get(web, "down");
	assert_int_equal(json_array_size(down), 3);
	expect_ids(json_object_get(json_array_get(down, 0), "backends"), "2 4");
	assert_string_equal(json_string_value(json_object_get(json_array_get(down, 0), "reason")), "timeout");
	assert_string_equal(json_string_value(json_object_get(json_array_get(down, 0), "vip")), "10.99.0.1");
	expect_ids(json_object_get(json_array_get(down, 1), "backends"), "3");
	assert_string_equal(json_string_value(json_object_get(json_array_get(down, 1), "vip")), "2001:db8:99::1");
	expect_ids(json_object_get(json_array_get(down, 2), "backends"), "65535");
	assert_string_equal(json_string_value(json_object_get(json_array_get(down, 2), "reason")), "refused");
	assert_null(json_object_get(json_object_get(root, "services"), "unchecked"));
	web = json_object_get(json_object_get(root, "services"), "other");
	assert_string_equal(json_string_value(json_object_get(web, "unprobed")), "check");
	assert_string_equal(json_string_value(json_object_get(web, "why")), "healthCheck.kind is 'icmp'");
	assert_null(json_object_get(root, "omitted"));
	assert_int_equal(json_object_del(root, "metrics"), 0); /* not in the vector */
	expect_vector(root);
	json_decref(root);
	free(text);
}

static void generations_of_the_mux(void **state)
{
	static const struct {
		const char *json;
		uint32_t generation;
	} rows[] = {
	    {"{\"services\":{\"web\":{\"generation\":12,\"state\":\"serving\"}}}", 12},
	    {"{\"services\":{\"web\":{\"generation\":4294967295}}}", 4294967295U},
	    {"{\"services\":{\"web\":{\"generation\":4294967296}}}", 0},
	    {"{\"services\":{\"web\":{\"generation\":-1}}}", 0},
	    {"{\"services\":{\"web\":{\"generation\":\"12\"}}}", 0},
	    {"{\"services\":{\"other\":{\"generation\":12}}}", 0},
	    {"{\"services\":[]}", 0},
	    {"[]", 0},
	    {"", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(cluster_mux_generation(rows[i].json, strlen(rows[i].json), "web"), rows[i].generation);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(results_stay_with_their_backend, setup, teardown),
	    cmocka_unit_test_setup_teardown(packets_go_by_the_backends_family, setup, teardown),
	    cmocka_unit_test_setup_teardown(without_an_address_nothing_is_probed, setup, teardown),
	    cmocka_unit_test_setup_teardown(backends_of_another_family_are_skipped, setup, teardown),
	    cmocka_unit_test_setup_teardown(the_node_names_groups_with_their_reasons, setup, teardown),
	    cmocka_unit_test(generations_of_the_mux),
	};

	vectors_folder = argc > 1 ? argv[1] : ".";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
