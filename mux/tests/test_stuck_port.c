/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A port that takes no more packets from a real worker: its ring is full and nothing empties it.
 *
 *	frames -> kernel's ring -> worker -> wire's ring (full)	-> the mux has the ailment "port"
 *						  (emptied)	-> it is well
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

#include <rte_eal.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_ring.h>

#include "config/clock.h"
#include "threads/health.h"
#include "threads/worker.h"

enum { MBUFS = 2048, QUEUE = 64, BURST = 4, PAUSE_NS = 10 * 1000 * 1000, WAIT_MS = 60000, QUIET_MS = 1500 };

/* A DPDK port of two rings: what the worker receives from it, and what it sends to it. */
struct pipe {
	struct rte_ring *in, *out;
	uint16_t port;
};

struct rack {
	struct rte_mempool *pool;
	struct pipe wire, kernel;
	struct ports ports;
	struct beat beats[1];
	struct rte_ring *fragments[1];
	struct worker *worker;
	struct health health;
	struct sick_withdrawal withdrawal;
};

static struct rack rack;

static void pipe_open(struct pipe *pipe, const char *name, struct rte_mempool *pool)
{
	const struct rte_eth_conf conf = {.rxmode.mq_mode = RTE_ETH_MQ_RX_NONE};
	char text[RTE_RING_NAMESIZE];
	int port;

	snprintf(text, sizeof(text), "%s in", name);
	pipe->in = rte_ring_create(text, QUEUE, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	snprintf(text, sizeof(text), "%s out", name);
	pipe->out = rte_ring_create(text, QUEUE, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	assert_true(pipe->in && pipe->out);
	port = rte_eth_from_rings(name, &pipe->in, 1, &pipe->out, 1, 0);
	assert_true(port >= 0);
	pipe->port = (uint16_t)port;
	assert_int_equal(rte_eth_dev_configure(pipe->port, 1, 1, &conf), 0);
	assert_int_equal(rte_eth_rx_queue_setup(pipe->port, 0, QUEUE, 0, NULL, pool), 0);
	assert_int_equal(rte_eth_tx_queue_setup(pipe->port, 0, QUEUE, 0, NULL), 0);
	assert_int_equal(rte_eth_dev_start(pipe->port), 0);
}

static void pipe_empty(struct pipe *pipe)
{
	struct rte_mbuf *mbuf;

	while (!rte_ring_dequeue(pipe->out, (void **)&mbuf))
		rte_pktmbuf_free(mbuf);
}

/* Frames for the wire, a look, and a pause; is_emptied: the wire takes them. Returns what the mux has. */
static enum ailment step(bool is_emptied)
{
	static const struct timespec pause = {.tv_nsec = PAUSE_NS};

	for (int i = 0; i < BURST; i++) {
		struct rte_mbuf *mbuf = rte_pktmbuf_alloc(rack.pool);

		assert_non_null(mbuf);
		assert_non_null(rte_pktmbuf_append(mbuf, 60));
		if (rte_ring_enqueue(rack.kernel.in, mbuf))
			rte_pktmbuf_free(mbuf);
	}
	if (is_emptied)
		pipe_empty(&rack.wire);
	nanosleep(&pause, NULL);
	health_run(&rack.health, &rack.withdrawal, clock_ms());
	return rack.withdrawal.of_mux;
}

static void until(bool is_emptied, enum ailment wanted)
{
	uint64_t deadline = clock_ms() + WAIT_MS;

	while (step(is_emptied) != wanted)
		assert_true(clock_ms() < deadline);
}

static void a_full_ring_is_stuck_until_it_is_emptied(void **state)
{
	(void)state;
	uint64_t began = clock_ms();

	while (clock_ms() < began + QUIET_MS)
		assert_int_equal(step(true), AILMENT_NONE);
	until(false, AILMENT_PORT);
	assert_true(__atomic_load_n(&rack.beats[0].refused[rack.wire.port], __ATOMIC_RELAXED) > 0);
	until(true, AILMENT_NONE);
}

static void hop(void *context, const struct fl_address *address, struct next_hop *out)
{
	(void)context;
	(void)address;
	*out = (struct next_hop){.resolved = true};
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_full_ring_is_stuck_until_it_is_emptied)};
	static const struct next_hops hops = {.lookup = hop};
	static struct options options = {.memory = 64, .no_huge = true, .workers = 1, .spin = OPTIONS_SPIN};
	struct worker_place place = {.workers = 1, .options = &options, .beats = rack.beats, .rings = rack.fragments};
	struct reason why = {""};
	int failed;

	if (ports_environment(&options, &why)) {
		fprintf(stderr, "test_stuck_port: %s\n", why.text);
		return 1;
	}
	rack.pool = rte_pktmbuf_pool_create("packets", MBUFS, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	pipe_open(&rack.wire, "wire", rack.pool);
	pipe_open(&rack.kernel, "kernel", rack.pool);
	rack.ports.count = 1;
	rack.ports.port[0] =
	    (struct port){.kind = PORT_RAW, .id = rack.wire.port, .exception = rack.kernel.port, .arguments = "wire"};
	place.tables = tables_new(1, &hops);
	place.ports = &rack.ports;
	place.counters = counters_new(1);
	if (!rack.pool || !place.tables || !place.counters || worker_rings(rack.fragments, 1, &why) ||
	    worker_start(&rack.worker, 0, &place, &why)) {
		fprintf(stderr, "test_stuck_port: %s\n", why.text);
		return 1;
	}
	health_begin(&rack.health, rack.beats, 1, &rack.ports);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	worker_stop(rack.worker);
	tables_free(place.tables);
	counters_free(place.counters);
	rte_eal_cleanup();
	return failed;
}
