/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "host/mac.h"

enum { TAILROOM = 256 };

void world_environment(void)
{
	static char *arguments[] = {"p4",          "--no-huge",      "-m",          "768",   "--no-pci",
				    "--no-shconf", "--no-telemetry", "--log-level", "error", "--lcores",
				    "0@(0)"};

	if (rte_eal_init(sizeof(arguments) / sizeof(arguments[0]), arguments) < 0)
		exit(1);
}

void world_open(struct world *world, unsigned workers)
{
	struct reason why = {{0}};

	*world = (struct world){.options = {.workers = workers}, .ports = {.count = 2}};
	for (uint16_t i = 0; i < 2; i++)
		world->ports.port[i] = (struct port){.id = (uint16_t)(2 + i), .mac = mac_word(frame_mac)};
	world->tables = tables_new(workers, &image_hops);
	world->counters = counters_new(workers);
	world->mux = (struct mux){.options = &world->options,
				  .ports = &world->ports,
				  .tables = world->tables,
				  .counters = world->counters,
				  .address = image_address("10.1.0.11"),
				  .address6 = image_address("2001:db8:1::11")};
	assert_int_equal(tables_set_self(world->tables, &world->mux.address, &world->mux.address6, NULL), 0);
	if (pipelines_open(&world->front, &world->mux, &why))
		fail_msg("%s", why.text);
}

void world_close(struct world *world)
{
	while (world->tables->registry.count)
		tables_remove(world->tables, world->tables->registry.services[0]);
	pipelines_close(world->front);
	tables_free(world->tables);
	counters_free(world->counters);
}

static enum verdict steer_usually(struct world *world, struct rte_mbuf *mbuf, uint16_t *port)
{
	static struct burst burst;

	burst = (struct burst){.lookup = tables_lookup(world->tables),
			       .mac = mac_word(frame_mac),
			       .now = WORLD_NOW,
			       .count = 1,
			       .mbufs = {mbuf}};
	burst_steer(&burst);
	*port = burst.packets[0].port;
	return burst.packets[0].verdict;
}

struct world_sent world_send(struct world *world, const struct frame *frame)
{
	struct rte_mbuf *expected = frame_wrap_with(frame, TAILROOM), *mbuf = frame_wrap_with(frame, TAILROOM);
	struct front_burst burst = {
	    .now = WORLD_NOW, .count = 1, .mbufs = &mbuf, .counters = counters_of(world->counters, 0)};
	struct rte_mbuf *sent = mbuf;
	struct world_sent out = {VERDICT_SERVICE, false, false};
	uint16_t port;

	out.verdict = steer_usually(world, expected, &port);
	out.by_wire = port < 4 && rte_pktmbuf_mtod(expected, const uint8_t *)[12] != 0x81;
	world->front->take(world->front, &burst);
	assert_int_equal(burst.count + burst.steered, 1);
	if (burst.steered) {
		assert_int_equal(out.verdict, VERDICT_SERVICE);
		assert_ptr_equal(burst.out[0], sent);
		assert_int_equal(burst.leave_by[0], port);
		assert_int_equal(sent->pkt_len, expected->pkt_len);
		assert_int_equal(sent->data_len, expected->data_len);
		assert_memory_equal(rte_pktmbuf_mtod(sent, void *), rte_pktmbuf_mtod(expected, void *),
				    expected->pkt_len);
	} else {
		assert_int_equal(sent->pkt_len, frame->len);
		assert_int_equal(sent->data_off, FRAME_HEADROOM);
		assert_memory_equal(rte_pktmbuf_mtod(sent, void *), frame->bytes, frame->len);
	}
	frame_unwrap(expected);
	frame_unwrap(sent);
	out.taken = burst.steered;
	return out;
}
