/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As in mux_packet, packets are written into a ring of buffers first, as a NIC would, then steered in bursts of 32 by the
 * functions that a worker calls; only steering is timed. Between bursts the worker is quiescent, so that the reader can
 * replace what it holds, and between orders it holds nothing.
 */
#include "packet_worker.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <rte_rcu_qsbr.h>

#include "flow_packet.h"
#include "host/mac.h"
#include "packet/burst.h"
#include "service/tables.h"

enum { RING = 2048 };

struct packet_worker {
	struct tables *tables;
	struct packet_worker_options options;
	struct flow_packets packets;
	uint32_t *flows;
	uint32_t at;
	int orders[2]; /* a pipe of milliseconds */
	struct burst burst;
};

struct steered {
	uint64_t packets, others, processor_ns, clock_ns;
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* xorshift64*, for the order of flows. */
static uint32_t draw_below(uint64_t *state, uint32_t bound)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (uint32_t)(((*state * 2685821657736338717ULL) >> 32) * bound >> 32);
}

static bool make_flows(struct packet_worker *worker)
{
	uint64_t state = worker->options.seed | 1;

	worker->flows = calloc(worker->options.flows, sizeof(*worker->flows));
	for (uint32_t i = 0; worker->flows && i < worker->options.flows; i++) {
		uint32_t other = draw_below(&state, i + 1);

		worker->flows[i] = worker->flows[other];
		worker->flows[other] = i;
	}
	return worker->flows;
}

static void write_ring(struct packet_worker *worker)
{
	for (uint32_t i = 0; i < RING; i++) {
		flow_packet_write(&worker->packets, i, worker->flows[worker->at], 1, false);
		worker->at = worker->at + 1 < worker->options.flows ? worker->at + 1 : 0;
	}
}

static void steer_ring(struct packet_worker *worker, struct steered *steered)
{
	struct rte_rcu_qsbr *rcu = tables_rcu(worker->tables);
	struct burst *burst = &worker->burst;
	uint64_t processor = clock_ns(CLOCK_THREAD_CPUTIME_ID), begun = clock_ns(CLOCK_MONOTONIC);

	burst->now = (uint32_t)time(NULL);
	for (uint32_t first = 0; first < RING; first += BURST_MAX) {
		burst->lookup = tables_lookup(worker->tables);
		burst->count = BURST_MAX;
		for (uint32_t i = 0; i < BURST_MAX; i++)
			burst->mbufs[i] = &worker->packets.mbufs[first + i];
		burst_steer(burst);
		for (uint32_t i = 0; i < BURST_MAX; i++)
			steered->others += burst->packets[i].verdict != VERDICT_SERVICE;
		rte_rcu_qsbr_quiescent(rcu, 0);
	}
	steered->processor_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - processor;
	steered->clock_ns += clock_ns(CLOCK_MONOTONIC) - begun;
	steered->packets += RING;
}

static int schedule(int priority)
{
	struct sched_param param = {.sched_priority = priority};

	return pthread_setschedparam(pthread_self(), priority ? SCHED_FIFO : SCHED_OTHER, &param);
}

static void steer(struct packet_worker *worker, uint32_t ms)
{
	struct rte_rcu_qsbr *rcu = tables_rcu(worker->tables);
	struct steered steered = {0};
	uint64_t end, whole;
	int error = schedule(worker->options.priority);

	if (error)
		fprintf(stderr, "mux_reader: priority %d: error %d\n", worker->options.priority, error);
	rte_rcu_qsbr_thread_online(rcu, 0);
	whole = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	end = clock_ns(CLOCK_MONOTONIC) + (uint64_t)ms * 1000000;
	while (clock_ns(CLOCK_MONOTONIC) < end) {
		write_ring(worker);
		steer_ring(worker, &steered);
	}
	rte_rcu_qsbr_thread_offline(rcu, 0);
	schedule(0);
	printf("steered %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", steered.packets,
	       steered.processor_ns, steered.clock_ns, steered.others, clock_ns(CLOCK_THREAD_CPUTIME_ID) - whole);
	fflush(stdout);
}

static void *loop(void *argument)
{
	struct packet_worker *worker = argument;
	uint32_t ms;

	rte_rcu_qsbr_thread_register(tables_rcu(worker->tables), 0);
	while (read(worker->orders[0], &ms, sizeof(ms)) == sizeof(ms))
		steer(worker, ms);
	return NULL;
}

struct packet_worker *packet_worker_new(struct tables *tables, const struct packet_worker_options *options)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 1};
	struct packet_worker *worker = aligned_alloc(64, (sizeof(*worker) + 63) & ~(size_t)63);
	pthread_t thread;
	cpu_set_t cores;

	if (!worker)
		return NULL;
	*worker = (struct packet_worker){.tables = tables, .options = *options};
	CPU_ZERO(&cores);
	CPU_SET((unsigned)options->core, &cores);
	errno = ENOMEM;
	if (!make_flows(worker) || !flow_packets_new(&worker->packets, RING) || pipe(worker->orders))
		return NULL;
	worker->burst.mac = mac_word(mac);
	errno = pthread_create(&thread, NULL, loop, worker);
	if (!errno)
		errno = pthread_setaffinity_np(thread, sizeof(cores), &cores);
	return errno ? NULL : worker;
}

void packet_worker_steer(struct packet_worker *worker, uint32_t ms)
{
	if (write(worker->orders[1], &ms, sizeof(ms)) != sizeof(ms))
		fprintf(stderr, "mux_reader: an order is lost\n");
}
