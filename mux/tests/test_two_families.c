/* SPDX-License-Identifier: Apache-2.0 */
/* Servers of both families in one pool: each path of a packet names them as the reference does. */
#include <string.h>

#include <netinet/in.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "encap/encap.h"
#include "host/mac.h"
#include "packet/burst.h"
#include "ring/backend.h"
#include "service/tables.h"
#include "steering/hunt/hunt.h"
#include "steering/ring/steering_ring.h"
#include "frame.h"
#include "image.h"

enum { BUCKETS = 256, BACKENDS = 6, COUNT = 32, TAILROOM = 100 };

struct world {
	struct tables *tables;
	struct service *service;
	struct delta snapshot;
};

static void world_new(struct world *world, const struct steering *steering)
{
	struct service_config config = image_config(1, "10.99.0.1", BUCKETS);
	struct reason why;

	config.steering = steering;
	world->tables = tables_new(1, &image_hops);
	world->snapshot = image_snapshot(1, 9, BUCKETS, BACKENDS);
	assert_non_null(world->tables);
	for (uint32_t i = 0; i < BACKENDS; i += 2)
		world->snapshot.backends[i].address.bytes[0] = 0x20; /* 2000::ffff:…, IPv6 */
	if (tables_add(world->tables, &config, &world->service, &why))
		fail_msg("%s", why.text);
}

static void world_load(struct world *world)
{
	struct reason why;

	if (tables_load(world->tables, world->service, &world->snapshot, NULL, &why))
		fail_msg("%s", why.text);
}

static void world_free(struct world *world)
{
	tables_free(world->tables);
	image_free(&world->snapshot);
}

static void steer(const struct world *world, struct burst *burst, enum burst_path path, uint32_t round)
{
	struct flow flow = frame_flow(IPPROTO_TCP);

	memset(burst, 0, sizeof(*burst));
	burst->lookup = tables_lookup(world->tables);
	burst->mac = mac_word(frame_mac);
	burst->count = COUNT;
	for (uint32_t i = 0; i < COUNT; i++) {
		struct frame frame;

		flow.source_port = (uint16_t)(1000 + round * COUNT + i);
		frame = frame_new(&flow, 20);
		burst->mbufs[i] = frame_wrap_with(&frame, TAILROOM);
	}
	burst_steer_by(burst, path);
}

static void assert_paths_agree(const struct world *world)
{
	static struct burst wanted, found;

	for (uint32_t round = 0; round < 100; round++) {
		steer(world, &wanted, BURST_REFERENCE, round);
		for (int path = BURST_REFERENCE + 1; path < BURST_PATHS; path++) {
			if (!burst_paths[path].has_cpu())
				continue;
			steer(world, &found, (enum burst_path)path, round);
			for (uint32_t i = 0; i < COUNT; i++) {
				struct rte_mbuf *a = wanted.mbufs[i], *b = found.mbufs[i];

				assert_int_equal(wanted.packets[i].verdict, VERDICT_SERVICE);
				assert_int_equal(b->data_len, a->data_len);
				assert_memory_equal(rte_pktmbuf_mtod(b, uint8_t *), rte_pktmbuf_mtod(a, uint8_t *),
						    a->data_len);
				frame_unwrap(b);
			}
		}
		for (uint32_t i = 0; i < COUNT; i++)
			frame_unwrap(wanted.mbufs[i]);
	}
}

static void test_second_owners(void **state)
{
	struct chance chance = {1};
	struct world world;

	(void)state;
	world_new(&world, &steering_hunt);
	for (uint32_t i = 0; i < BUCKETS; i++)
		image_own(&world.snapshot, i, (uint16_t)(1 + chance_below(&chance, BACKENDS)));
	world_load(&world);
	assert_paths_agree(&world);
	world_free(&world);
}

/* Workers may read old rows with the next generation's table of backends; here no machine of that table has IPv6. */
static void newer_table(const struct steering *steering)
{
	struct reason why;
	struct world world;
	struct ring *ring;
	struct backends *newer, *older;
	struct delta delta = {.service = 1, .generation = 10, .base = 9, .buckets = BUCKETS};
	struct fl_delta_backend moved[BACKENDS];

	world_new(&world, steering);
	for (uint32_t i = 0; i < BUCKETS; i++) {
		image_own(&world.snapshot, i, (uint16_t)(2 + i % 2 * 2)); /* IPv4 */
		image_was(&world.snapshot, i, (uint16_t)(1 + i % 3 * 2), 5);
	}
	world_load(&world);
	for (uint32_t i = 0; i < BACKENDS; i++) {
		moved[i] = world.snapshot.backends[i];
		moved[i].address = image_address("10.1.0.90");
		moved[i].address.bytes[15] += (uint8_t)i;
	}
	delta.backends = moved;
	delta.backends_count = BACKENDS;
	ring = service_ring(world.service);
	older = ring->backends;
	newer = backends_new(&encap_gue, older, &delta, &image_hops, &why);
	assert_non_null(newer);
	assert_true(backends_narrowest(older) & BACKENDS_IPV6);
	assert_false(backends_narrowest(newer) & BACKENDS_IPV6);
	ring->backends = newer;
	assert_paths_agree(&world);
	ring->backends = older;
	backends_free(newer);
	world_free(&world);
}

static void test_a_newer_table_ring(void **state)
{
	(void)state;
	newer_table(&steering_ring);
}

static void test_a_newer_table_hunt(void **state)
{
	(void)state;
	newer_table(&steering_hunt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_second_owners),
	    cmocka_unit_test(test_a_newer_table_ring),
	    cmocka_unit_test(test_a_newer_table_hunt),
	};

	return cmocka_run_group_tests_name("two families", tests, NULL, NULL);
}
