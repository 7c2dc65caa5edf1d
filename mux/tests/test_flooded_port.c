/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a flood to one service costs the service beside it, where a port takes a quarter of what comes: with a real
 * worker, without a budget and with one.
 *
 *	16 frames of a flood, 1 of the other service, in any order -> worker -> the port's ring, emptied by 4 at a time
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include <rte_eal.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_ring.h>

#include "config/clock.h"
#include "service/tables.h"
#include "threads/worker.h"
#include "frame.h"
#include "image.h"

enum {
	MBUFS = 2047,
	QUEUE = 64,
	FLOOD = 16, /* frames a round */
	TAKEN = 4,  /* by the port */
	ROUNDS = 4000,
	BUCKETS = 256,
	BUDGET = 100, /* packets a second: at once a sixth of the port's ring */
	WAIT_MS = 60000,
};

static struct rte_mempool *pool;
static struct rte_ring *in, *out;
static struct tables *tables;
static struct counters *counters;
static struct service *flooded;
static uint64_t fed;
static struct chance chance = {1};

/* Whether a buffer has a frame of the other service. */
static bool *is_beside(struct rte_mbuf *mbuf)
{
	return rte_mbuf_to_priv(mbuf);
}

static void feed(bool beside)
{
	struct flow flow = frame_flow(IPPROTO_TCP);
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);
	struct frame frame;
	char *bytes;

	assert_non_null(mbuf);
	flow.source_port = (uint16_t)(1024 + chance_below(&chance, 60000));
	if (beside)
		flow.destination = image_address("10.99.0.2");
	frame = frame_new(&flow, 0);
	bytes = rte_pktmbuf_append(mbuf, (uint16_t)frame.len);
	assert_non_null(bytes);
	memcpy(bytes, frame.bytes, frame.len);
	*is_beside(mbuf) = beside;
	assert_int_equal(rte_ring_enqueue(in, mbuf), 0);
	fed++;
}

static void await_counted(void)
{
	uint64_t deadline = clock_ms() + WAIT_MS, counted;

	do {
		counted = 0;
		for (unsigned verdict = 0; verdict < VERDICTS; verdict++)
			counted += counters_packets(counters, verdict);
		assert_true(clock_ms() < deadline);
	} while (counted < fed);
}

/* Returns how many frames of the other service the port has taken. */
static uint32_t take(uint32_t most)
{
	struct rte_mbuf *mbuf;
	uint32_t found = 0;

	while (most-- && !rte_ring_dequeue(out, (void **)&mbuf)) {
		found += *is_beside(mbuf);
		rte_pktmbuf_free(mbuf);
	}
	return found;
}

/* The share of the other service's frames that the port has not got. */
static double lost(uint32_t budget)
{
	struct service_config config = flooded->config;
	uint32_t arrived = 0;
	struct reason why;

	config.packets_per_second = budget;
	assert_int_equal(tables_change(tables, flooded, &config, &why), 0);
	for (int round = 0; round < ROUNDS; round++) {
		uint32_t place = chance_below(&chance, FLOOD + 1);

		for (uint32_t i = 0; i <= FLOOD; i++)
			feed(i == place);
		await_counted();
		arrived += take(TAKEN);
	}
	return 1 - (double)(arrived + take(UINT32_MAX)) / ROUNDS;
}

static void a_budget_keeps_the_service_beside_it(void **state)
{
	double without = lost(0), with = lost(BUDGET);

	(void)state;
	printf("# of the other service's packets were lost: %.1f %% without a budget, %.2f %% with one\n",
	       100 * without, 100 * with);
	assert_true(without > 0.5);
	assert_true(with <= 0.01);
	assert_true(counters_service_drops(counters, flooded, VERDICT_OVER_BUDGET) > 0);
}

static uint16_t open_port(void)
{
	const struct rte_eth_conf conf = {.rxmode.mq_mode = RTE_ETH_MQ_RX_NONE};
	int port;

	in = rte_ring_create("in", QUEUE, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	out = rte_ring_create("out", QUEUE, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	assert_true(in && out);
	port = rte_eth_from_rings("wire", &in, 1, &out, 1, 0);
	assert_true(port >= 0);
	assert_int_equal(rte_eth_dev_configure((uint16_t)port, 1, 1, &conf), 0);
	assert_int_equal(rte_eth_rx_queue_setup((uint16_t)port, 0, QUEUE, 0, NULL, pool), 0);
	assert_int_equal(rte_eth_tx_queue_setup((uint16_t)port, 0, QUEUE, 0, NULL), 0);
	assert_int_equal(rte_eth_dev_start((uint16_t)port), 0);
	return (uint16_t)port;
}

static struct service *serve(uint16_t id, const char *vip)
{
	struct service_config config = image_config(id, vip, BUCKETS);
	struct delta snapshot = image_snapshot(id, 1, BUCKETS, 4);
	struct service *service;
	struct reason why;

	snprintf(config.name, sizeof(config.name), "service%u", id);
	if (tables_add(tables, &config, &service, &why) || tables_load(tables, service, &snapshot, NULL, &why))
		fail_msg("%s", why.text);
	image_free(&snapshot);
	return service;
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_budget_keeps_the_service_beside_it)};
	const struct fl_address self = image_address("10.1.0.11"), none = {{0}};
	static struct next_hop wire;
	static const struct next_hops hops = {.context = &wire, .lookup = image_hop};
	static struct options options = {.memory = 64, .no_huge = true, .workers = 1, .spin = OPTIONS_SPIN};
	static struct ports ports = {.count = 1};
	static struct beat beats[1];
	static struct rte_ring *fragments[1];
	struct worker_place place = {
	    .workers = 1, .options = &options, .beats = beats, .rings = fragments, .ports = &ports};
	struct worker *worker;
	struct reason why = {""};
	int failed;

	if (ports_environment(&options, &why)) {
		fprintf(stderr, "test_flooded_port: %s\n", why.text);
		return 1;
	}
	pool = rte_pktmbuf_pool_create("packets", MBUFS, 0, 8, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	wire = image_wire;
	ports.port[0] = (struct port){.kind = PORT_RAW,
				      .id = open_port(),
				      .exception = PORT_NONE,
				      .mtu = wire.mtu,
				      .mac = mac_word(frame_mac),
				      .arguments = "wire"};
	wire.port = (uint8_t)ports.port[0].id;
	tables = tables_new(1, &hops);
	counters = counters_new(1);
	if (!pool || !tables || !counters || tables_set_self(tables, &self, &none, NULL)) {
		fprintf(stderr, "test_flooded_port: no memory\n");
		return 1;
	}
	tables->options = &options;
	flooded = serve(1, "10.99.0.1");
	serve(2, "10.99.0.2");
	place.tables = tables;
	place.counters = counters;
	if (worker_rings(fragments, 1, &why) || worker_start(&worker, 0, &place, &why)) {
		fprintf(stderr, "test_flooded_port: %s\n", why.text);
		return 1;
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	worker_stop(worker);
	tables_free(tables);
	counters_free(counters);
	rte_eal_cleanup();
	return failed;
}
