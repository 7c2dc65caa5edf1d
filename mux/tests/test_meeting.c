/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fragments from worker to worker while services, rings and peers change: two workers with their own rings, each
 * fragment given to either, and a control thread. Each packet comes out once, with a verdict. Also runs under
 * ThreadSanitizer (scripts/testrun.py).
 */
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <rte_rcu_qsbr.h>
#include <rte_ring.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fragment/fragments.h"
#include "service/tables.h"
#include "frame.h"
#include "image.h"

enum {
	WORKERS = 2,
	BUCKETS = 1024,
	BACKENDS = 13,
	DATAGRAMS = 3000, /* of each worker, at least */
	CHANGES = 300,
	FRAGMENTS = 3, /* of each */
	NOW = 1700000100,
	MORE_FRAGMENTS = 0x2000,
};

struct world {
	struct tables *tables;
	struct service *service;
	struct rte_ring *rings[WORKERS];
	bool stop;        /* atomic */
	unsigned feeding; /* workers that still send packets; atomic */
};

struct worker {
	struct world *world;
	unsigned index;
	pthread_t thread;
	struct fragments *fragments;
	struct burst burst;
	uint64_t now_ms;
	uint64_t datagrams; /* atomic */
	uint64_t in, out;
	uint64_t taken; /* of what the other one has handed over */
	uint64_t verdicts[VERDICTS_ALL];
};

/* One of three fragments of a datagram: the first one has the ports. */
static struct rte_mbuf *make_fragment(struct worker *worker, uint32_t which)
{
	struct flow flow = frame_flow(IPPROTO_UDP);
	struct frame frame;
	uint8_t *ip = frame.bytes + FRAME_AT_IP;
	uint64_t number = worker->datagrams;

	flow.source.bytes[13] = (uint8_t)worker->index;
	flow.source.bytes[14] = (uint8_t)(number >> 16);
	flow.source_port = (uint16_t)(1 + number % 60000);
	frame = frame_new(&flow, 24);
	fl_store_be16(ip + 4, (uint16_t)number);
	fl_store_be16(ip + 6, (uint16_t)(which * 4 | (which + 1 < FRAGMENTS ? MORE_FRAGMENTS : 0)));
	frame_fix_checksum(&frame);
	return frame_wrap(&frame);
}

/* Steers and ends what is ready. */
static void finish(struct worker *worker)
{
	struct burst *burst = &worker->burst;

	while (fragments_ready(worker->fragments, burst)) {
		burst_steer_classified(burst);
		for (uint32_t i = 0; i < burst->count; i++) {
			worker->out++;
			worker->verdicts[burst->packets[i].verdict]++;
			frame_unwrap(burst->mbufs[i]);
		}
	}
}

static void begin_burst(struct worker *worker)
{
	worker->burst.lookup = tables_lookup(worker->world->tables);
	worker->burst.mac = mac_word(frame_mac);
	worker->burst.now = NOW;
	worker->burst.tag_flags = 0;
	worker->now_ms++;
}

static void feed(struct worker *worker, struct chance *chance)
{
	uint32_t first = chance_below(chance, FRAGMENTS); /* in any order */

	for (uint32_t i = 0; i < FRAGMENTS; i++) {
		struct burst *burst = &worker->burst;
		struct rte_mbuf *mbuf = make_fragment(worker, (first + i) % FRAGMENTS);
		struct packet packet;

		begin_burst(worker);
		burst->count = 1;
		burst->mbufs[0] = mbuf;
		burst_steer(burst);
		packet = burst->packets[0];
		worker->in++;
		if (packet.verdict == VERDICT_FRAGMENT) {
			fragments_take(worker->fragments, burst->lookup, mbuf, &packet, worker->now_ms);
		} else {
			worker->out++;
			worker->verdicts[packet.verdict]++;
			frame_unwrap(mbuf);
		}
		finish(worker);
	}
	__atomic_fetch_add(&worker->datagrams, 1, __ATOMIC_RELAXED);
}

static void run_fragments(struct worker *worker, uint64_t later_ms)
{
	begin_burst(worker);
	worker->now_ms += later_ms;
	worker->taken += fragments_run(worker->fragments, worker->burst.lookup, worker->now_ms);
	finish(worker);
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	struct world *world = worker->world;
	struct rte_rcu_qsbr *rcu = tables_rcu(world->tables);
	struct chance chance = {worker->index + 1};

	rte_rcu_qsbr_thread_register(rcu, worker->index);
	rte_rcu_qsbr_thread_online(rcu, worker->index);
	while (!__atomic_load_n(&world->stop, __ATOMIC_ACQUIRE)) {
		feed(worker, &chance);
		run_fragments(worker, 0);
		rte_rcu_qsbr_quiescent(rcu, worker->index);
	}
	__atomic_fetch_sub(&world->feeding, 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(&world->feeding, __ATOMIC_ACQUIRE)) {
		run_fragments(worker, 0);
		rte_rcu_qsbr_quiescent(rcu, worker->index);
		sched_yield();
	}
	while (rte_ring_count(world->rings[worker->index]))
		run_fragments(worker, 0);
	run_fragments(worker, FRAGMENTS_WAIT_MS); /* and nothing waits any more */
	rte_rcu_qsbr_thread_offline(rcu, worker->index);
	rte_rcu_qsbr_thread_unregister(rcu, worker->index);
	return NULL;
}

static struct rte_ring *make_ring(void)
{
	struct rte_ring *ring = aligned_alloc(64, ((size_t)rte_ring_get_memsize(FRAGMENTS_RING) + 63) & ~(size_t)63);

	assert_non_null(ring);
	assert_int_equal(rte_ring_init(ring, "test", FRAGMENTS_RING, RING_F_SC_DEQ), 0);
	return ring;
}

/* Every kind of change that the control thread makes. */
static void change(struct world *world, uint32_t n)
{
	const struct fl_address all[] = {image_address("10.1.0.11"), image_address("10.1.0.12")};
	struct service_config config = world->service->config;
	struct delta delta, none = {.service = 1, .buckets = BUCKETS};
	struct service *other;
	struct reason why = {""};
	uint32_t generation = 4 + n;

	delta = image_move(&none, generation, n * 7 % 512, 512, (uint16_t)(1 + n % BACKENDS), NOW);
	if (tables_apply(world->tables, world->service, &delta, NULL, &why))
		fail_msg("generation %u: %s", generation, why.text);
	image_free(&delta);
	if (n % 3 == 0)
		assert_int_equal(tables_set_peers(world->tables, all, n % 2 ? 2 : 1), 0);
	if (n % 5 == 0) {
		image_wire.source_mac[5]++;
		tables_refresh(world->tables);
	}
	if (n % 7 == 0) {
		config.mss = (uint16_t)(1000 + n % 100);
		config.window = 100 + n;
		assert_int_equal(tables_change(world->tables, world->service, &config, &why), 0);
	}
	if (n % 4)
		return;
	other = registry_find_id(&world->tables->registry, 9);
	if (other) {
		tables_remove(world->tables, other);
		return;
	}
	config = image_config(9, "10.99.0.9", 256);
	strcpy(config.name, "other");
	assert_int_equal(tables_add(world->tables, &config, &other, &why), 0);
}

static bool is_done(const struct worker *workers, uint32_t changes)
{
	for (int i = 0; i < WORKERS; i++)
		if (__atomic_load_n(&workers[i].datagrams, __ATOMIC_RELAXED) < DATAGRAMS)
			return false;
	return changes >= CHANGES;
}

static void open_world(struct world *world)
{
	const struct fl_address self = image_address("10.1.0.11"), none = {{0}};
	static const struct fl_siphash_key seed = {7, 7};
	struct service_config config = image_config(1, "10.99.0.1", BUCKETS);
	struct delta snapshot = image_snapshot(1, 3, BUCKETS, BACKENDS);
	struct reason why;

	config.ports_count = 2;
	config.ports[1] = (struct service_port){IPPROTO_UDP, 80};
	world->tables = tables_new(WORKERS, &image_hops);
	assert_non_null(world->tables);
	assert_int_equal(tables_set_self(world->tables, &self, &none, NULL), 0);
	assert_int_equal(tables_set_seed(world->tables, &seed), 0);
	assert_int_equal(tables_add(world->tables, &config, &world->service, &why), 0);
	assert_int_equal(tables_load(world->tables, world->service, &snapshot, NULL, &why), 0);
	image_free(&snapshot);
	for (int i = 0; i < WORKERS; i++)
		world->rings[i] = make_ring();
	world->feeding = WORKERS;
}

static void fragments_meet_while_everything_changes(void **state)
{
	struct worker *workers = aligned_alloc(64, WORKERS * ((sizeof(*workers) + 63) & ~(size_t)63));
	struct world world = {0};
	uint64_t in = 0, out = 0, verdicts[VERDICTS_ALL] = {0};

	(void)state;
	assert_non_null(workers);
	memset(workers, 0, WORKERS * sizeof(*workers));
	open_world(&world);
	for (unsigned i = 0; i < WORKERS; i++) {
		workers[i].world = &world;
		workers[i].index = i;
		workers[i].fragments = fragments_new(i, WORKERS, world.rings);
		assert_non_null(workers[i].fragments);
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (uint32_t n = 0; !is_done(workers, n); n++)
		change(&world, n);
	__atomic_store_n(&world.stop, true, __ATOMIC_RELEASE);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i].thread, NULL);
	for (int i = 0; i < WORKERS; i++) {
		in += workers[i].in;
		assert_true(workers[i].taken > 0 && workers[i].taken < workers[1 - i].in);
		out += workers[i].out;
		for (int v = 0; v < VERDICTS_ALL; v++)
			verdicts[v] += workers[i].verdicts[v];
		fragments_free(workers[i].fragments);
	}
	assert_int_equal(in, out);
	for (int v = 0; v < VERDICTS_ALL; v++)
		if (verdicts[v])
			printf("# %s %lu\n", verdict_name(v), (unsigned long)verdicts[v]);
	assert_true(verdicts[VERDICT_SERVICE] > 0 && verdicts[VERDICT_FRAGMENT_FORWARDED] > 0);
	assert_int_equal(verdicts[VERDICT_SERVICE] + verdicts[VERDICT_FRAGMENT_FORWARDED] +
			     verdicts[VERDICT_FRAGMENT_ALONE] + verdicts[VERDICT_FRAGMENT_FULL],
			 in);
	for (int i = 0; i < WORKERS; i++)
		free(world.rings[i]);
	tables_free(world.tables);
	free(workers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(fragments_meet_while_everything_changes)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
