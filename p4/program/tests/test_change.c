/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker that lets packets through its pipeline while the control thread changes rings, backends, next hops, services
 * never sends one by a state that did not exist: as mux/tests/test_change.c has it for the C mux.
 */
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <rte_rcu_qsbr.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "encap/gue.h"
#include "world.h"

enum {
	CHANGES = 600,
	ROTATION = 13, /* backends */
	AHEAD = 3,     /* generations that may be published while a packet is in the pipeline */
	BUCKETS = 256,
};

/*
 * Generation g gives every bucket to backend 1 + g mod ROTATION, whose address ends in that number. Every third one is a
 * snapshot without former owners; in others the owner before is the only one.
 */
static uint8_t owner(uint32_t generation)
{
	return (uint8_t)(1 + generation % ROTATION);
}

struct worker {
	struct world *world;
	pthread_t thread;
	bool stop;              /* atomic */
	uint64_t steered, left; /* atomic */
	const char *complaint;  /* atomic */
	uint32_t seen;
};

static struct frame random_packet(struct chance *chance)
{
	struct flow flow = frame_flow(IPPROTO_TCP);

	fl_store_be32(flow.source.bytes + 12, 0x0b000000 | (uint32_t)chance_next(chance) >> 8);
	flow.source_port = (uint16_t)(1 + chance_below(chance, 65535));
	return frame_new(&flow, 40);
}

/* Whether a list is the one that rows of a generation have: the owner before, but after a snapshot. */
static bool is_list(const struct fl_list *list, uint32_t generation)
{
	if (list->count != (generation % 3 != 2) || list->left != list->count)
		return false;
	return !list->count || list->candidate[0].bytes[15] == owner(generation - 1);
}

static const char *complain(struct worker *worker, const struct rte_mbuf *mbuf)
{
	const uint8_t *out = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	struct fl_list header;

	if (fl_list_parse(out + GUE_AT_GUE, out + mbuf->data_len, mbuf->data_len - GUE_AT_GUE, false, false, &header))
		return "a malformed header";
	if (header.generation < worker->seen)
		return "a generation lower than the previous one";
	worker->seen = header.generation;
	for (uint32_t generation = header.generation; generation <= header.generation + AHEAD; generation++)
		if (out[ENCAP_AT_IP + 19] == owner(generation))
			return is_list(&header, generation) ? NULL : "the list of another row";
	return "the backend of a distant generation";
}

static void serve(struct worker *worker, struct chance *chance)
{
	struct rte_mbuf *mbufs[BURST_MAX];
	struct front_burst burst = {.now = WORLD_NOW,
				    .count = 1 + chance_below(chance, BURST_MAX),
				    .mbufs = mbufs,
				    .counters = counters_of(worker->world->counters, 0)};

	for (uint32_t i = 0; i < burst.count; i++) {
		struct frame frame = random_packet(chance);

		mbufs[i] = frame_wrap_with(&frame, 128);
	}
	worker->world->front->take(worker->world->front, &burst);
	for (uint32_t i = 0; i < burst.steered; i++) {
		const char *complaint = complain(worker, burst.out[i]);

		if (complaint)
			__atomic_store_n(&worker->complaint, complaint, __ATOMIC_RELAXED);
		frame_unwrap(burst.out[i]);
	}
	for (uint32_t i = 0; i < burst.count; i++)
		frame_unwrap(mbufs[i]);
	__atomic_fetch_add(&worker->steered, burst.steered, __ATOMIC_RELAXED);
	__atomic_fetch_add(&worker->left, burst.count, __ATOMIC_RELAXED);
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	struct rte_rcu_qsbr *rcu = tables_rcu(worker->world->tables);
	struct chance chance = {1};

	rte_rcu_qsbr_thread_register(rcu, 0);
	rte_rcu_qsbr_thread_online(rcu, 0);
	while (!__atomic_load_n(&worker->stop, __ATOMIC_ACQUIRE)) {
		serve(worker, &chance);
		rte_rcu_qsbr_quiescent(rcu, 0);
	}
	rte_rcu_qsbr_thread_offline(rcu, 0);
	rte_rcu_qsbr_thread_unregister(rcu, 0);
	return NULL;
}

static void rotate(struct delta *snapshot, uint32_t generation)
{
	snapshot->generation = generation;
	for (uint32_t i = 0; i < snapshot->buckets; i++)
		image_own(snapshot, i, owner(generation));
}

/* In turn by a snapshot, by a delta that lists a backend, by a plain delta. */
static void change(struct world *world, struct service *service, struct delta *snapshot, uint32_t generation)
{
	struct fl_delta_backend named = {.id = owner(generation),
					 .address = snapshot->backends[owner(generation) - 1].address};
	struct delta delta;
	struct reason why = {{0}};
	int error;

	if (generation % 3 == 2) {
		rotate(snapshot, generation);
		error = tables_load(world->tables, service, snapshot, NULL, &why);
	} else {
		delta = image_move(snapshot, generation, 0, BUCKETS, owner(generation), WORLD_NOW);
		delta.backends_count = generation % 3 == 0;
		delta.backends = &named;
		error = tables_apply(world->tables, service, &delta, NULL, &why);
		delta.backends = NULL;
		image_free(&delta);
	}
	if (error)
		fail_msg("generation %u: %s", generation, why.text);
}

static void bystander(struct world *world, uint32_t generation)
{
	struct service_config config = image_config(4, "10.99.0.2", BUCKETS);
	struct service *other = registry_find_id(&world->tables->registry, 4);
	struct reason why;

	if (generation % 5)
		return;
	strcpy(config.name, "bystander");
	if (other)
		tables_remove(world->tables, other);
	else
		assert_int_equal(tables_add(world->tables, &config, &other, &why), 0);
	image_wire.mac[5]++;
	image_wire.source_mac[5]++;
	tables_refresh(world->tables);
}

static bool is_done(const struct worker *worker, uint32_t generation)
{
	return __atomic_load_n(&worker->complaint, __ATOMIC_RELAXED) ||
	       (generation > CHANGES && __atomic_load_n(&worker->steered, __ATOMIC_RELAXED) > 10 * CHANGES);
}

static void a_worker_under_change_sends_by_what_was(void **state)
{
	struct delta snapshot = image_snapshot(3, 2, BUCKETS, ROTATION);
	struct service_config config = image_config(3, "10.99.0.1", BUCKETS);
	struct world world;
	struct worker worker = {.world = &world};
	struct service *service;
	struct reason why;

	(void)state;
	for (uint8_t i = 0; i < ROTATION; i++)
		snapshot.backends[i].address.bytes[15] = (uint8_t)(i + 1);
	rotate(&snapshot, 2);
	config.hash = FL_HASH_CRC32;
	world_open(&world, 1);
	assert_int_equal(tables_add(world.tables, &config, &service, &why), 0);
	assert_int_equal(tables_load(world.tables, service, &snapshot, NULL, &why), 0);
	assert_int_equal(pthread_create(&worker.thread, NULL, work, &worker), 0);
	for (uint32_t generation = 3; !is_done(&worker, generation); generation++) {
		change(&world, service, &snapshot, generation);
		bystander(&world, generation);
		tables_close_windows(world.tables, WORLD_NOW); /* uses lists again */
	}
	__atomic_store_n(&worker.stop, true, __ATOMIC_RELEASE);
	pthread_join(worker.thread, NULL);
	print_message("# %llu packets by the pipeline, %llu left while its gate was closed\n",
		      (unsigned long long)worker.steered, (unsigned long long)worker.left);
	if (worker.complaint)
		fail_msg("%s", worker.complaint);
	world_close(&world);
	image_free(&snapshot);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_worker_under_change_sends_by_what_was),
	};

	world_environment();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
