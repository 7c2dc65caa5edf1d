/* SPDX-License-Identifier: Apache-2.0 */
#include "threads/worker.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_net_crc.h>
#include <rte_pause.h>
#include <rte_rcu_qsbr.h>
#include <rte_ring.h>
#include <rte_thread.h>

#include "packet/answer.h"
#include "packet/burst.h"
#include "fragment/fragments.h"
#include "packet/path_check.h"
#include "service/lookup.h"
#include "observe/sampler.h"
#include "packet/transport.h"
#include "config/clock.h"
#include "config/options.h"
#include "threads/budget.h"
#include "threads/front.h"
#include "threads/privilege.h"

_Static_assert((int)BURST_MAX == (int)WORKER_BURST, "a worker's burst is a burst");

enum { STOP_SECONDS = 10 }; /* a turn takes microseconds, and 1 ms if it sleeps */

/* Packets to be sent at the end of the burst, by port. */
struct outbox {
	uint16_t count;
	struct rte_mbuf *mbufs[BURST_MAX];
};

struct worker {
	pthread_t thread;
	unsigned index;
	bool stop; /* atomic */
	struct tables *tables;
	const struct ports *ports;
	struct worker_counters *counters;
	struct beat *beat;
	uint64_t now_ms; /* monotonic clock at the start of the poll */
	struct fragments *fragments;
	struct sampler *sampler;       /* NULL: none */
	struct front *front;           /* NULL: none */
	struct path_check *path_check; /* NULL: none */
	struct budget *budgets;        /* of services, by slot */
	unsigned workers;              /* that share them */
	bool has_budgets;              /* a service has one, in this turn */
	unsigned spin_us;              /* without a packet before the first sleep */
	unsigned check_every;          /* bursts */
	unsigned until_check;          /* the same */
	struct limiter echoes;
	struct limiter errors;
	struct burst burst;
	struct outbox outbox[RTE_MAX_ETHPORTS];
	uint16_t queued[RTE_MAX_ETHPORTS]; /* ports whose outbox is not empty */
	uint16_t queued_count;
};

static inline void put(struct worker *worker, uint16_t port, struct rte_mbuf *mbuf)
{
	struct outbox *outbox = &worker->outbox[port];

	if (!outbox->count)
		worker->queued[worker->queued_count++] = port;
	outbox->mbufs[outbox->count++] = mbuf;
}

/* Drops what the port doesn't accept at once: a queue here would only add delay. */
static inline uint16_t send_all(struct worker *worker, uint16_t port, struct rte_mbuf **mbufs, uint16_t count)
{
	uint16_t sent = rte_eth_tx_burst(port, (uint16_t)worker->index, mbufs, count);

	if (unlikely(sent < count)) {
		rte_pktmbuf_free_bulk(mbufs + sent, count - sent);
		counter_add(&worker->beat->refused[port], count - sent);
	}
	return sent;
}

static inline void flush(struct worker *worker)
{
	struct worker_counters *counters = worker->counters;

	for (uint16_t i = 0; i < worker->queued_count; i++) {
		struct outbox *outbox = &worker->outbox[worker->queued[i]];
		uint16_t sent = send_all(worker, worker->queued[i], outbox->mbufs, outbox->count);

		counter_add(&counters->packets[VERDICT_SERVICE], sent);
		counter_add(&counters->packets[VERDICT_PORT_FULL], outbox->count - sent);
		outbox->count = 0;
	}
	worker->queued_count = 0;
}

/* Whether the source is a VIP or the mux itself: an answer would come back here. */
static bool is_from_here(const struct lookup *lookup, const struct rte_mbuf *mbuf, const struct packet *packet)
{
	const uint8_t *ip = rte_pktmbuf_mtod(mbuf, const uint8_t *) + packet->at_ip;

	if (packet->flags & PACKET_IPV6)
		return lookup_vip(lookup, transport_load64(ip + 8), transport_load64(ip + 16));
	return lookup_vip(lookup, 0, lookup_low_of_ipv4(transport_load32(ip + 12)));
}

/*
 * Answers an echo request, or reports to a sender that its packet was too big; out of line, since it is rare. Returns
 * the verdict to count: an answered echo request, or a dropped packet.
 */
static __attribute__((noinline)) enum verdict answer(struct worker *worker, const struct port *port,
						     struct rte_mbuf *mbuf, const struct packet *packet)
{
	bool echo = packet->verdict == VERDICT_ECHO;

	if ((!echo && is_from_here(worker->burst.lookup, mbuf, packet)) ||
	    !limiter_pass(echo ? &worker->echoes : &worker->errors, worker->now_ms) ||
	    !(echo ? answer_echo(mbuf, packet) : answer_too_big(mbuf, packet))) {
		rte_pktmbuf_free(mbuf);
		return echo ? VERDICT_ECHO_LIMIT : VERDICT_TOO_BIG_SILENT;
	}
	if (!send_all(worker, port->id, &mbuf, 1))
		return echo ? VERDICT_PORT_FULL : VERDICT_TOO_BIG_SILENT;
	return packet->verdict;
}

static inline void count_steered(struct service_counters *counters, uint32_t packets, uint32_t bytes)
{
	counter_add(&counters->packets, packets);
	counter_add(&counters->bytes, bytes);
}

static inline void count_drop(struct worker_counters *counters, const struct packet *packet, enum verdict verdict)
{
	counter_add(&counters->packets[verdict], 1);
	if (verdict_is_service_drop(verdict) && packet->service)
		counter_add(&counters->service_drops[packet->service->slot][verdict - SERVICE_DROP_FIRST], 1);
}

/*
 * Sends a burst without queueing if all its packets were steered and leave through one port, as in nearly all bursts.
 * False: not such a burst, and nothing was done.
 */
static inline bool send_whole(struct worker *worker)
{
	struct worker_counters *counters = worker->counters;
	struct burst *burst = &worker->burst;
	const struct packet *first = &burst->packets[0];
	uint32_t differ = first->verdict, run = 0, bytes = 0;
	uint16_t sent;

	for (uint32_t i = 0; i < burst->count; i++)
		differ |= burst->packets[i].verdict | (uint32_t)(burst->packets[i].port ^ first->port);
	if (differ)
		return false;
	for (uint32_t i = 0; i < burst->count; i++) {
		const struct packet *packet = &burst->packets[i];

		run++;
		bytes += packet->ip_len;
		if (i + 1 < burst->count && packet[1].service == packet->service)
			continue;
		count_steered(&counters->services[packet->service->slot], run, bytes);
		run = bytes = 0;
	}
	sent = send_all(worker, first->port, burst->mbufs, (uint16_t)burst->count);
	counter_add(&counters->packets[VERDICT_SERVICE], sent);
	counter_add(&counters->packets[VERDICT_PORT_FULL], burst->count - sent);
	return true;
}

/* The same if the packet path says that it is such a burst. */
static inline void send_one(struct worker *worker)
{
	struct worker_counters *counters = worker->counters;
	struct burst *burst = &worker->burst;
	uint16_t sent;

	count_steered(&counters->services[burst->one->slot], burst->count, burst->ip_bytes);
	sent = send_all(worker, burst->one_port, burst->mbufs, (uint16_t)burst->count);
	counter_add(&counters->packets[VERDICT_SERVICE], sent);
	if (unlikely(sent < burst->count))
		counter_add(&counters->packets[VERDICT_PORT_FULL], burst->count - sent);
}

/* The one place where a verdict becomes an action. */
static inline void act(struct worker *worker, const struct port *port)
{
	struct worker_counters *counters = worker->counters;
	struct burst *burst = &worker->burst;
	struct rte_mbuf *dropped[BURST_MAX], *passed[BURST_MAX];
	uint16_t drops = 0, passes = 0;

	if (burst->bytes)
		counter_add(&counters->bytes, burst->bytes);
	if (burst->moved)
		counter_add(&counters->moved, burst->moved);
	if (burst->second)
		counter_add(&counters->second, burst->second);
	if (burst->second_first)
		counter_add(&counters->second_first, burst->second_first);
	if (burst->second_syns)
		counter_add(&counters->second_syns, burst->second_syns);
	if (unlikely(worker->has_budgets))
		budgets_apply(worker->budgets, worker->workers, burst, worker->now_ms);
	if (unlikely(!burst->is_brief && worker->sampler && sampler_is_on(worker->sampler)))
		sampler_look(worker->sampler, worker->index, burst, port->id, counters);
	if (likely(burst->one)) {
		send_one(worker);
		return;
	}
	if (likely(send_whole(worker)))
		return;
	for (uint32_t i = 0; i < burst->count; i++) {
		const struct packet *packet = &burst->packets[i];

		switch (packet->verdict) {
		case VERDICT_SERVICE:
			count_steered(&counters->services[packet->service->slot], 1, packet->ip_len);
			put(worker, packet->port, burst->mbufs[i]);
			break;
		case VERDICT_NOT_OURS:
			passed[passes++] = burst->mbufs[i];
			break;
		case VERDICT_ECHO:
		case VERDICT_TOO_BIG:
			count_drop(counters, packet, answer(worker, port, burst->mbufs[i], packet));
			break;
		case VERDICT_FRAGMENT:
		case VERDICT_PEER:
			fragments_take(worker->fragments, burst->lookup, burst->mbufs[i], packet, worker->now_ms);
			break;
		case VERDICT_FRAGMENT_FORWARDED:
			if (send_all(worker, packet->port, &burst->mbufs[i], 1))
				counter_add(&counters->packets[VERDICT_FRAGMENT_FORWARDED], 1);
			else
				counter_add(&counters->packets[VERDICT_PORT_FULL], 1);
			break;
		default:
			count_drop(counters, packet, packet->verdict);
			dropped[drops++] = burst->mbufs[i];
		}
	}
	flush(worker);
	if (passes && port->exception != PORT_NONE) {
		uint16_t sent = send_all(worker, port->exception, passed, passes);

		counter_add(&counters->packets[VERDICT_NOT_OURS], sent);
		counter_add(&counters->packets[VERDICT_EXCEPTION_FULL], passes - sent);
	} else if (passes) {
		/* the kernel has its own copy (port.h) */
		counter_add(&counters->packets[VERDICT_NOT_OURS], passes);
		rte_pktmbuf_free_bulk(passed, passes);
	}
	if (drops)
		rte_pktmbuf_free_bulk(dropped, drops);
}

/* Steers fragments whose ports are known, as all packets; answers to them leave through this port. */
static inline void serve_fragments(struct worker *worker, const struct port *port)
{
	struct burst *burst = &worker->burst;

	while (fragments_ready(worker->fragments, burst)) {
		burst_steer_classified(burst);
		act(worker, port);
	}
}

/* Lets the front take its packets of the burst and sends them; what it leaves is the burst afterwards. */
static __attribute__((noinline)) void serve_front(struct worker *worker, unsigned port)
{
	struct burst *burst = &worker->burst;
	struct front_burst taken;

	taken.worker = worker->index;
	taken.port = port;
	taken.now = burst->now;
	taken.count = burst->count;
	taken.mbufs = burst->mbufs;
	taken.steered = 0;
	taken.counters = worker->counters;
	worker->front->take(worker->front, &taken);
	burst->count = taken.count;
	for (uint32_t i = 0; i < taken.steered; i++)
		put(worker, taken.leave_by[i], taken.out[i]);
	counter_add(&worker->counters->front, taken.steered);
	flush(worker);
}

/* The debug mode of --check-paths, before the burst is steered. */
static __attribute__((noinline)) void check_paths(struct worker *worker)
{
	struct path_check_result result;

	if (--worker->until_check)
		return;
	worker->until_check = worker->check_every;
	result = path_check(worker->path_check, &worker->burst, burst_steer);
	counter_add(&worker->counters->checked, result.packets);
	counter_add(&worker->counters->differed, result.differ);
}

/* Polls one port; returns the number of packets received. */
static inline uint16_t serve(struct worker *worker, unsigned index, uint32_t now)
{
	const struct port *port = &worker->ports->port[index];
	struct burst *burst = &worker->burst;
	uint32_t count;

	burst->count = rte_eth_rx_burst(port->id, (uint16_t)worker->index, burst->mbufs, BURST_MAX);
	if (!burst->count)
		return 0;
	burst->lookup = tables_lookup(worker->tables);
	burst->mac = __atomic_load_n(&port->mac, __ATOMIC_RELAXED);
	burst->now = now;
	burst->tag_flags = worker->burst.tag_flags;
	count = burst->count;
	if (unlikely(worker->front && !(worker->sampler && sampler_is_on(worker->sampler)))) {
		serve_front(worker, index);
		if (!burst->count)
			return (uint16_t)count;
	}
	if (unlikely(worker->path_check))
		check_paths(worker);
	burst_steer(burst);
	act(worker, port);
	serve_fragments(worker, port);
	return (uint16_t)count;
}

/* Sends what the kernel sent to the exception port through the port it belongs to. */
static inline uint16_t serve_exception(struct worker *worker, const struct port *port)
{
	struct worker_counters *counters = worker->counters;
	struct rte_mbuf *mbufs[BURST_MAX];
	uint16_t count = rte_eth_rx_burst(port->exception, (uint16_t)worker->index, mbufs, BURST_MAX), sent;

	if (!count)
		return 0;
	sent = send_all(worker, port->id, mbufs, count);
	counter_add(&counters->packets[VERDICT_FROM_KERNEL], sent);
	counter_add(&counters->packets[VERDICT_PORT_FULL], count - sent);
	return count;
}

/* Sleeps for the back-off's next step; no writer waits for this worker meanwhile. */
static void back_off(struct worker *worker, struct rte_rcu_qsbr *rcu, uint32_t *sleep)
{
	struct timespec pause = {.tv_nsec = *sleep};

	rte_rcu_qsbr_thread_offline(rcu, worker->index);
	nanosleep(&pause, NULL);
	rte_rcu_qsbr_thread_online(rcu, worker->index);
	*sleep = *sleep * 2 < WORKER_SLEEP_MAX ? *sleep * 2 : WORKER_SLEEP_MAX;
}

static void loop(struct worker *worker)
{
	struct rte_rcu_qsbr *rcu = tables_rcu(worker->tables);
	uint64_t spin = rte_get_tsc_hz() / 1000000 * worker->spin_us, idle_since = 0; /* 0: a packet came */
	uint32_t sleep = WORKER_SLEEP_MIN;

	while (!__atomic_load_n(&worker->stop, __ATOMIC_RELAXED)) {
		uint32_t now = __atomic_load_n(&worker->tables->lists->now, __ATOMIC_RELAXED), got = 0;

		worker->now_ms = clock_ns(CLOCK_MONOTONIC_COARSE) / 1000000;
		worker->has_budgets = __atomic_load_n(&worker->tables->has_budgets, __ATOMIC_RELAXED);
		worker->burst.is_brief = !worker->has_budgets && !(worker->sampler && sampler_is_on(worker->sampler));
		for (unsigned i = 0; i < worker->ports->count; i++) {
			const struct port *port = &worker->ports->port[i];

			got += serve(worker, i, now);
			if (port->exception != PORT_NONE)
				got += serve_exception(worker, port);
		}
		worker->burst.lookup = tables_lookup(worker->tables);
		worker->burst.now = now;
		got += fragments_run(worker->fragments, worker->burst.lookup, worker->now_ms);
		serve_fragments(worker, &worker->ports->port[0]);
		rte_rcu_qsbr_quiescent(rcu, worker->index);
		counter_add(&worker->beat->turns, 1);
		if (got) {
			idle_since = 0;
			sleep = WORKER_SLEEP_MIN;
		} else if (!idle_since) {
			idle_since = rte_rdtsc();
		} else if (rte_rdtsc() - idle_since > spin) {
			back_off(worker, rcu, &sleep);
		} else {
			rte_pause();
		}
	}
}

static void *run(void *argument)
{
	struct worker *worker = argument;
	struct rte_rcu_qsbr *rcu = tables_rcu(worker->tables);

	privilege_drop("worker");
	prctl(PR_SET_TIMERSLACK, 1000UL); /* the default of 50 us would double the first sleeps */
	rte_rcu_qsbr_thread_register(rcu, worker->index);
	rte_rcu_qsbr_thread_online(rcu, worker->index);
	__atomic_store_n(&worker->beat->thread, gettid(), __ATOMIC_RELEASE);
	loop(worker);
	__atomic_store_n(&worker->beat->thread, 0, __ATOMIC_RELEASE);
	rte_rcu_qsbr_thread_offline(rcu, worker->index);
	rte_rcu_qsbr_thread_unregister(rcu, worker->index);
	return NULL;
}

/* DPDK gives registered threads caches of their own in the packet pool, and does not pin them. */
static void *registered(void *argument)
{
	struct worker *worker = argument;

	if (rte_thread_register() < 0)
		fprintf(stderr, "fairlead-mux: worker %u runs without a packet cache: too many threads\n",
			worker->index);
	run(worker);
	rte_thread_unregister();
	return NULL;
}

int worker_rings(struct rte_ring **rings, unsigned workers, struct reason *why)
{
	for (unsigned i = 0; i < workers; i++) {
		char name[RTE_RING_NAMESIZE];

		snprintf(name, sizeof(name), "fragments %u", i);
		rings[i] = rte_ring_create(name, FRAGMENTS_RING, SOCKET_ID_ANY, RING_F_SC_DEQ);
		if (!rings[i])
			return reason_set(why, -ENOMEM, "worker %u: no memory for fragments", i);
	}
	return 0;
}

/* What worker_start() has made so far. */
static void worker_free(struct worker *worker)
{
	path_check_free(worker->path_check);
	free(worker->budgets);
	if (worker->fragments)
		fragments_free(worker->fragments);
	free(worker);
}

int worker_start(struct worker **out, unsigned index, const struct worker_place *place, struct reason *why)
{
	struct worker *worker = aligned_alloc(64, (sizeof(*worker) + 63) & ~(size_t)63);
	char name[16];
	int error = 0;

	if (!worker)
		return reason_set(why, -ENOMEM, "worker %u: no memory", index);
	memset(worker, 0, sizeof(*worker));
	worker->index = index;
	worker->tables = place->tables;
	worker->ports = place->ports;
	worker->counters = counters_of(place->counters, index);
	worker->beat = &place->beats[index];
	worker->sampler = place->sampler;
	worker->front = place->front;
	worker->burst.tag_flags = tag_key_flags(place->tag_key);
	worker->burst.worker = index;
	worker->spin_us = place->options->spin;
	worker->check_every = worker->until_check = place->options->check_paths;
	worker->workers = place->workers;
	worker->budgets = calloc(REGISTRY_SERVICES_MAX, sizeof(*worker->budgets));
	worker->fragments = fragments_new(index, place->workers, place->rings);
	if (worker->check_every)
		worker->path_check = path_check_new();
	if (!worker->fragments)
		error = reason_set(why, -ENOMEM, "worker %u: no memory for fragments", index);
	else if (!worker->budgets)
		error = reason_set(why, -ENOMEM, "worker %u: no memory for budgets", index);
	else if (!worker->check_every != !worker->path_check)
		error = reason_set(why, -ENOMEM, "worker %u: no memory to check paths", index);
	if (!error) {
		/* DPDK chooses its CRC-32 in the first call, which two workers must not make at once */
		rte_net_crc_calc("", 0, RTE_NET_CRC32_ETH);
		error = -pthread_create(&worker->thread, NULL, registered, worker);
		if (error)
			reason_set(why, error, "worker %u: can't start a thread: %s", index, strerror(-error));
	}
	if (error) {
		worker_free(worker);
		return error;
	}
	snprintf(name, sizeof(name), "worker %u", index);
	pthread_setname_np(worker->thread, name);
	*out = worker;
	return 0;
}

bool worker_stop(struct worker *worker)
{
	struct timespec until;

	if (!worker)
		return true;
	__atomic_store_n(&worker->stop, true, __ATOMIC_RELAXED);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += STOP_SECONDS;
	if (pthread_clockjoin_np(worker->thread, NULL, CLOCK_MONOTONIC, &until))
		return false;
	worker_free(worker);
	return true;
}
