/* SPDX-License-Identifier: Apache-2.0 */
/* Which backends a mux's node says it can't send to, as next hops come and go, against a clock of the test. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "control/member/unreachable.h"
#include "ring/backend.h"
#include "ring/ring.h"
#include "service/service.h"
#include "../image.h"

enum { SERVICES = 2, START_MS = 50000, MANY = 700 };

enum way { WAY_OPEN, WAY_NO_NEIGHBOUR, WAY_LOOP };

/* By an address's last byte. */
static enum way ways[256];

static void lookup(void *context, const struct fl_address *address, struct next_hop *out)
{
	enum way way = ways[address->bytes[15]];

	(void)context;
	memset(out, 0, sizeof(*out));
	out->resolved = way == WAY_OPEN;
	out->loop = way == WAY_LOOP;
	out->mtu = 1500;
}

static const struct next_hops hops = {.lookup = lookup};

struct world {
	struct unreachable unreachable;
	struct service service[SERVICES];
	struct service_sync sync[SERVICES];
	struct service_sync *syncs[SERVICES];
	uint64_t now;
};

static void load(struct world *world, unsigned number, struct fl_delta_backend *list, uint32_t count)
{
	struct delta delta = {.service = 1, .backends_count = count, .backends = list};
	struct delta empty = image_snapshot(1, 1, FL_BUCKETS_MIN, 0);
	struct ring *ring = image_ring(&empty);
	struct reason why;

	image_free(&empty);
	backends_free(ring->backends);
	ring->backends = backends_new(&encap_gue, NULL, &delta, &hops, &why);
	assert_non_null(ring->backends);
	if (world->service[number].ring)
		ring_free(world->service[number].ring);
	world->service[number].ring = ring;
}

static struct world *new_world(void)
{
	struct fl_delta_backend first[] = {
	    {.id = 1, .address = image_address("10.1.0.21")},
	    {.id = 2, .address = image_address("10.1.0.22")},
	    {.id = 3, .flags = FL_BACKEND_REMOVED, .address = image_address("10.1.0.23")}};
	struct fl_delta_backend second[] = {{.id = 7, .address = image_address("10.1.0.22")},
					    {.id = 8, .address = image_address("2001:db8::24")}};
	struct world *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	memset(ways, 0, sizeof(ways));
	world->now = START_MS;
	for (unsigned i = 0; i < SERVICES; i++) {
		world->sync[i].ring.published.service = &world->service[i];
		world->syncs[i] = &world->sync[i];
	}
	load(world, 0, first, 3);
	load(world, 1, second, 2);
	return world;
}

static void free_world(struct world *world)
{
	for (unsigned i = 0; i < SERVICES; i++)
		ring_free(world->service[i].ring);
	free(world->unreachable.entries);
	free(world);
}

/* Next hops are looked up again, time passes, and a look is taken. Returns whether what is told has changed. */
static bool look(struct world *world, unsigned passed_ms)
{
	for (unsigned i = 0; i < SERVICES; i++) {
		struct ring *ring = world->service[i].ring;
		int error;
		struct backends *fresh = backends_refresh(ring->backends, 1, &hops, &error);

		assert_int_equal(error, 0);
		if (fresh) {
			backends_free(ring->backends);
			ring->backends = fresh;
		}
	}
	world->now += passed_ms;
	return unreachable_run(&world->unreachable, world->syncs, SERVICES, world->now);
}

static void assert_told(struct world *world, const char *expected)
{
	json_t *node = json_object();
	char *text;

	assert_int_equal(unreachable_describe(&world->unreachable, node), 0);
	text = json_dumps(node, JSON_COMPACT | JSON_SORT_KEYS);
	assert_string_equal(text, expected);
	free(text);
	json_decref(node);
}

static void all_can_be_sent_to(void **state)
{
	struct world *world = new_world();

	(void)state;
	for (int i = 0; i < 10; i++)
		assert_false(look(world, UNREACHABLE_LOOK_MS));
	assert_told(world, "{}");
	free_world(world);
}

static void one_that_stays_away_is_told_once(void **state)
{
	struct world *world = new_world();

	(void)state;
	ways[0x22] = ways[22] = WAY_NO_NEIGHBOUR; /* of both services */
	assert_false(look(world, 0));
	assert_false(look(world, UNREACHABLE_AFTER_MS - 1));
	assert_told(world, "{}");
	assert_true(look(world, UNREACHABLE_LOOK_MS));
	assert_told(world, "{\"unreachable\":{\"10.1.0.22\":\"no_neighbour\"}}");
	assert_false(look(world, UNREACHABLE_LOOK_MS));
	ways[0x22] = ways[22] = WAY_OPEN;
	assert_true(look(world, UNREACHABLE_LOOK_MS));
	assert_told(world, "{}");
	free_world(world);
}

static void one_that_answers_in_time_is_not_told(void **state)
{
	struct world *world = new_world();

	(void)state;
	ways[21] = WAY_NO_NEIGHBOUR;
	assert_false(look(world, 0));
	ways[21] = WAY_OPEN;
	assert_false(look(world, UNREACHABLE_LOOK_MS));
	ways[21] = WAY_NO_NEIGHBOUR; /* it counts from here */
	assert_false(look(world, UNREACHABLE_AFTER_MS - UNREACHABLE_LOOK_MS));
	assert_false(look(world, UNREACHABLE_AFTER_MS - 1));
	assert_told(world, "{}");
	free_world(world);
}

static void looks_are_a_second_apart(void **state)
{
	struct world *world = new_world();

	(void)state;
	assert_false(look(world, 0));
	ways[21] = WAY_NO_NEIGHBOUR;
	assert_false(look(world, UNREACHABLE_LOOK_MS - 1)); /* not seen yet */
	assert_false(look(world, UNREACHABLE_AFTER_MS));
	assert_told(world, "{}");
	free_world(world);
}

static void the_word_changes_with_the_reason(void **state)
{
	struct world *world = new_world();

	(void)state;
	ways[0x24] = WAY_NO_NEIGHBOUR;
	look(world, 0);
	assert_true(look(world, UNREACHABLE_AFTER_MS));
	assert_told(world, "{\"unreachable\":{\"2001:db8::24\":\"no_neighbour\"}}");
	ways[0x24] = WAY_LOOP;
	assert_true(look(world, UNREACHABLE_LOOK_MS));
	assert_told(world, "{\"unreachable\":{\"2001:db8::24\":\"loop\"}}");
	free_world(world);
}

static void removed_backends_and_services_without_a_ring_do_not_count(void **state)
{
	struct world *world = new_world();

	(void)state;
	ways[23] = WAY_NO_NEIGHBOUR; /* was removed */
	look(world, 0);
	assert_false(look(world, UNREACHABLE_AFTER_MS));
	world->sync[1].ring.published.service = NULL;
	assert_false(look(world, UNREACHABLE_LOOK_MS));
	assert_told(world, "{}");
	free_world(world);
}

static bool is_cut_off(const struct world *world, unsigned number)
{
	return world->sync[number].ring.published.is_cut_off;
}

/* A service is, once it could be sent to and no backend can; not while neighbours of a new one have not answered. */
static void a_service_without_any_way_is_cut_off(void **state)
{
	struct world *world = new_world();

	(void)state;
	ways[21] = ways[22] = WAY_NO_NEIGHBOUR;
	look(world, 0);
	assert_false(is_cut_off(world, 0));
	ways[22] = WAY_OPEN;
	look(world, UNREACHABLE_LOOK_MS);
	assert_false(is_cut_off(world, 0));
	ways[22] = WAY_NO_NEIGHBOUR;
	look(world, UNREACHABLE_LOOK_MS);
	assert_true(is_cut_off(world, 0));
	assert_false(is_cut_off(world, 1)); /* by its second backend */
	ways[21] = WAY_OPEN;
	look(world, UNREACHABLE_LOOK_MS);
	assert_false(is_cut_off(world, 0));
	free_world(world);
}

static void of_very_many_the_number_is_told(void **state)
{
	struct world *world = new_world();
	struct fl_delta_backend *list = calloc(MANY, sizeof(*list));
	json_t *node = json_object();

	(void)state;
	assert_non_null(list);
	for (unsigned i = 0; i < MANY; i++) {
		list[i].id = (fl_u16)(i + 1);
		list[i].address = image_address("10.2.0.99");
		list[i].address.bytes[14] = (fl_u8)(i >> 8);
		list[i].address.bytes[13] = (fl_u8)i;
	}
	ways[99] = WAY_NO_NEIGHBOUR;
	load(world, 1, list, MANY);
	look(world, 0);
	assert_true(look(world, UNREACHABLE_AFTER_MS));
	assert_int_equal(unreachable_describe(&world->unreachable, node), 0);
	assert_int_equal(json_object_size(json_object_get(node, "unreachable")), UNREACHABLE_TOLD);
	assert_int_equal(json_integer_value(json_object_get(node, "unreachableMore")), MANY - UNREACHABLE_TOLD);
	json_decref(node);
	free(list);
	free_world(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(all_can_be_sent_to),
	    cmocka_unit_test(one_that_stays_away_is_told_once),
	    cmocka_unit_test(one_that_answers_in_time_is_not_told),
	    cmocka_unit_test(looks_are_a_second_apart),
	    cmocka_unit_test(the_word_changes_with_the_reason),
	    cmocka_unit_test(removed_backends_and_services_without_a_ring_do_not_count),
	    cmocka_unit_test(a_service_without_any_way_is_cut_off),
	    cmocka_unit_test(of_very_many_the_number_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
