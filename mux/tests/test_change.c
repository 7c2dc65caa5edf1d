/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader that steers while the ring, its backends and the whole lookup change never sees a state that did not
 * exist.
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

#include "packet/burst.h"
#include "encap/gue.h"
#include "service/tables.h"
#include "frame.h"
#include "image.h"
#include "sent.h"

enum {
	NOW = 1700000100,
	CHANGES = 1000,
	ROTATION = 13, /* backends */
	AHEAD = 3,     /* generations that may be published while a reader is busy: two, then the writer waits for it */
};

static struct flow random_flow(struct chance *chance)
{
	struct flow flow = frame_flow(IPPROTO_TCP);

	fl_store_be32(flow.source.bytes + 12, 0x0b000000 | (uint32_t)chance_next(chance) >> 8);
	flow.source_port = (uint16_t)(1 + chance_below(chance, 65535));
	return flow;
}

/* Steers one frame; the mbuf is the caller's to unwrap. */
static void steer(const struct tables *tables, const struct frame *frame, struct rte_mbuf **mbuf, struct burst *burst)
{
	*mbuf = frame_wrap(frame);
	burst->lookup = tables_lookup(tables);
	burst->tag_flags = 0;
	burst->mac = mac_word(frame_mac);
	burst->now = NOW;
	burst->count = 1;
	burst->mbufs[0] = *mbuf;
	burst_steer(burst);
}

/*
 * Generation g gives every bucket to backend 1 + g mod ROTATION, whose address ends in that number, in
 * turn by a delta that also lists a backend, by a plain delta, and by a snapshot; now and then another service is added
 * or removed, or all next hops change. A packet with generation g must go to the backend of g or of the next ones.
 */
struct reader {
	struct tables *tables;
	pthread_t thread;
	bool stop; /* atomic */
	uint64_t packets;
	const char *complaint;
};

static uint8_t owner(uint32_t generation)
{
	return (uint8_t)(1 + generation % ROTATION);
}

/* The list and the last byte of the backend's address, or why there is none. */
static const char *read_steered(const struct rte_mbuf *mbuf, const struct packet *packet, struct fl_list *list,
				uint8_t *backend)
{
	struct sent sent;

	if (packet->verdict != VERDICT_SERVICE)
		return verdict_name(packet->verdict);
	if (!sent_read(mbuf, &sent))
		return "a malformed header";
	*backend = sent.to.bytes[15];
	*list = sent.list;
	return NULL;
}

static const char *complain(const struct rte_mbuf *mbuf, const struct packet *packet, uint32_t *seen)
{
	struct fl_list header = {0};
	uint8_t backend = 0;
	const char *complaint = read_steered(mbuf, packet, &header, &backend);

	if (complaint)
		return complaint;
	if (header.generation < *seen)
		return "a generation lower than the previous one";
	*seen = header.generation;
	/* the row may be of a generation published while the burst ran */
	for (uint32_t ahead = 0; ahead <= AHEAD; ahead++)
		if (backend == owner(header.generation + ahead))
			return NULL;
	return "the backend of a distant generation";
}

static void *read_on(void *argument)
{
	struct reader *reader = argument;
	struct rte_rcu_qsbr *rcu = tables_rcu(reader->tables);
	struct chance chance = {1};
	uint32_t seen = 0;

	rte_rcu_qsbr_thread_register(rcu, 0);
	rte_rcu_qsbr_thread_online(rcu, 0);
	while (!__atomic_load_n(&reader->stop, __ATOMIC_ACQUIRE) && !reader->complaint) {
		struct flow flow = random_flow(&chance);
		struct frame frame = frame_new(&flow, 0);
		struct rte_mbuf *mbuf;
		struct burst burst;

		steer(reader->tables, &frame, &mbuf, &burst);
		__atomic_store_n(&reader->complaint, complain(mbuf, &burst.packets[0], &seen), __ATOMIC_RELAXED);
		frame_unwrap(mbuf);
		__atomic_fetch_add(&reader->packets, 1, __ATOMIC_RELAXED);
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

static void change(struct tables *tables, struct service *service, struct delta *snapshot, uint32_t generation)
{
	struct fl_delta_backend named = {.id = owner(generation),
					 .address = snapshot->backends[owner(generation) - 1].address};
	struct delta delta;
	struct reason why = {{0}};
	int error;

	if (generation % 3 == 2) {
		rotate(snapshot, generation);
		error = tables_load(tables, service, snapshot, NULL, &why);
	} else {
		delta = image_move(snapshot, generation, 0, snapshot->buckets, owner(generation), NOW);
		delta.backends_count = generation % 3 == 0;
		delta.backends = &named;
		error = tables_apply(tables, service, &delta, NULL, &why);
		delta.backends = NULL;
		image_free(&delta);
	}
	if (error)
		fail_msg("generation %u: %s", generation, why.text);
}

static void bystander(struct tables *tables, uint32_t generation)
{
	struct service_config config = image_config(4, "10.99.0.2", 256);
	struct service *other = registry_find_id(&tables->registry, 4);
	struct reason why;

	if (generation % 5)
		return;
	strcpy(config.name, "bystander");
	if (other)
		tables_remove(tables, other);
	else
		assert_int_equal(tables_add(tables, &config, &other, &why), 0);
	image_wire.mac[5]++;
	image_wire.source_mac[5]++;
	tables_refresh(tables);
}

static bool reader_is_done(const struct reader *reader, uint32_t generation)
{
	if (__atomic_load_n(&reader->complaint, __ATOMIC_RELAXED))
		return true;
	return generation > CHANGES && __atomic_load_n(&reader->packets, __ATOMIC_RELAXED) > 10 * CHANGES;
}

static void a_reader_under_change_sees_only_what_was(void **state)
{
	struct delta snapshot = image_snapshot(3, 2, 256, ROTATION);
	struct service_config config = image_config(3, "10.99.0.1", 256);
	struct reader reader = {.tables = tables_new(1, &image_hops)};
	struct service *service;
	struct reason why;

	(void)state;
	for (uint8_t i = 0; i < ROTATION; i++)
		snapshot.backends[i].address.bytes[15] = (uint8_t)(i + 1);
	rotate(&snapshot, 2);
	assert_int_equal(tables_add(reader.tables, &config, &service, &why), 0);
	assert_int_equal(tables_load(reader.tables, service, &snapshot, NULL, &why), 0);
	assert_int_equal(pthread_create(&reader.thread, NULL, read_on, &reader), 0);
	/* both sides must make progress even on one core */
	for (uint32_t generation = 3; !reader_is_done(&reader, generation); generation++) {
		change(reader.tables, service, &snapshot, generation);
		bystander(reader.tables, generation);
	}
	__atomic_store_n(&reader.stop, true, __ATOMIC_RELEASE);
	pthread_join(reader.thread, NULL);
	if (reader.complaint)
		fail_msg("after %lu packets: %s", (unsigned long)reader.packets, reader.complaint);
	image_free(&snapshot);
	tables_free(reader.tables);
}

/*
 * Two workers under ten per cent of moves at a time. Generation g moves the buckets of number g modulo 10, each to the
 * next backend, from one by chance on, so the owner of any bucket in any generation can be computed.
 */
enum { MANY = 65536, TENTH = 10, WORKERS = 2, MOVES = 60, BURSTS = 2000 };

static uint16_t mover(uint32_t generation, uint32_t bucket)
{
	struct chance chance = {bucket + 1};

	chance_next(&chance);
	return (uint16_t)(1 + (chance_below(&chance, ROTATION) + generation / TENTH) % ROTATION);
}

/* Of the snapshot's generation TENTH on. */
static uint32_t moved_at(uint32_t generation, uint32_t bucket)
{
	return generation - (generation + TENTH - bucket % TENTH) % TENTH;
}

static uint16_t owner_at(uint32_t generation, uint32_t bucket)
{
	return mover(moved_at(generation, bucket), bucket);
}

struct world {
	struct tables *tables;
	struct service *service;
};

struct mover_reader {
	struct world *world;
	pthread_t thread;
	unsigned index;
	bool stop; /* atomic */
	uint64_t bursts;
	uint64_t moved;
	const char *complaint; /* atomic */
};

/* newest: the ring's generation after the burst; the row may be of any since the one that is stamped. */
static const char *complain_of_move(const struct rte_mbuf *mbuf, const struct packet *packet, uint32_t oldest,
				    uint32_t newest)
{
	struct fl_list header = {0};
	uint8_t backend = 0;
	const char *complaint = read_steered(mbuf, packet, &header, &backend);

	if (complaint)
		return complaint;
	if (header.generation < oldest || header.generation > newest)
		return "a generation that was never published";
	for (uint32_t g = header.generation; g <= newest + 1; g++)
		if (backend == owner_at(g, packet->bucket)) {
			uint32_t before = moved_at(g, packet->bucket) - 1;

			if (!header.count)
				return before >= TENTH ? "a former owner is missing" : NULL;
			if (header.candidate[0].bytes[15] == owner_at(before, packet->bucket))
				return NULL;
		}
	return "a backend that did not own the bucket in any near generation";
}

static const char *read_burst(struct mover_reader *reader, struct chance *chance, uint64_t *moved)
{
	struct frame frame;
	struct burst burst = {
	    .lookup = tables_lookup(reader->world->tables), .mac = mac_word(frame_mac), .now = NOW, .count = BURST_MAX};
	const char *complaint = NULL;
	uint32_t oldest, newest;

	for (uint32_t i = 0; i < BURST_MAX; i++) {
		struct flow flow = random_flow(chance);

		frame = frame_new(&flow, 0);
		burst.mbufs[i] = frame_wrap(&frame);
	}
	oldest = ring_generation(service_ring(reader->world->service));
	burst_steer(&burst);
	newest = ring_generation(service_ring(reader->world->service));
	for (uint32_t i = 0; i < BURST_MAX; i++) {
		if (!complaint)
			complaint = complain_of_move(burst.mbufs[i], &burst.packets[i], oldest, newest);
		frame_unwrap(burst.mbufs[i]);
	}
	*moved += burst.moved;
	return complaint;
}

static void *read_moves(void *argument)
{
	struct mover_reader *reader = argument;
	struct rte_rcu_qsbr *rcu = tables_rcu(reader->world->tables);
	struct chance chance = {reader->index + 1};

	rte_rcu_qsbr_thread_register(rcu, reader->index);
	rte_rcu_qsbr_thread_online(rcu, reader->index);
	while (!__atomic_load_n(&reader->stop, __ATOMIC_ACQUIRE)) {
		const char *complaint = read_burst(reader, &chance, &reader->moved);

		if (complaint)
			__atomic_store_n(&reader->complaint, complaint, __ATOMIC_RELEASE);
		__atomic_fetch_add(&reader->bursts, 1, __ATOMIC_RELAXED);
		rte_rcu_qsbr_quiescent(rcu, reader->index);
	}
	rte_rcu_qsbr_thread_offline(rcu, reader->index);
	rte_rcu_qsbr_thread_unregister(rcu, reader->index);
	return NULL;
}

static void move_a_tenth(struct world *world, uint32_t generation)
{
	struct fl_delta_run *runs = calloc(MANY / TENTH + 1, sizeof(*runs));
	struct fl_delta_release *releases = calloc(MANY / TENTH + 1, sizeof(*releases));
	struct delta delta = {.service = 3,
			      .generation = generation,
			      .base = generation - 1,
			      .buckets = MANY,
			      .committed = NOW,
			      .runs = runs,
			      .releases = releases};
	struct reason why = {{0}};

	assert_true(runs && releases);
	for (uint32_t bucket = generation % TENTH; bucket < MANY; bucket += TENTH) {
		runs[delta.runs_count++] = (struct fl_delta_run){bucket, 1, owner_at(generation, bucket), 0};
		releases[delta.releases_count++] = (struct fl_delta_release){bucket, 1, 0};
	}
	if (tables_apply(world->tables, world->service, &delta, NULL, &why))
		fail_msg("generation %u: %s", generation, why.text);
	free(runs);
	free(releases);
}

static bool readers_are_done(const struct mover_reader *readers, uint32_t generation)
{
	bool done = generation > TENTH + MOVES;

	for (int i = 0; i < WORKERS; i++) {
		if (__atomic_load_n(&readers[i].complaint, __ATOMIC_ACQUIRE))
			return true;
		done = done && __atomic_load_n(&readers[i].bursts, __ATOMIC_RELAXED) > BURSTS;
	}
	return done;
}

static void two_workers_under_moves_send_to_owners_alone(void **state)
{
	struct world world = {.tables = tables_new(WORKERS, &image_hops)};
	struct service_config config = image_config(3, "10.99.0.1", MANY);
	struct delta snapshot = image_snapshot(3, TENTH, MANY, ROTATION);
	struct mover_reader readers[WORKERS];
	struct reason why;

	(void)state;
	for (uint8_t i = 0; i < ROTATION; i++)
		snapshot.backends[i].address.bytes[15] = (uint8_t)(i + 1);
	for (uint32_t bucket = 0; bucket < MANY; bucket++)
		image_own(&snapshot, bucket, owner_at(TENTH, bucket));
	assert_int_equal(tables_add(world.tables, &config, &world.service, &why), 0);
	assert_int_equal(tables_load(world.tables, world.service, &snapshot, NULL, &why), 0);
	for (unsigned i = 0; i < WORKERS; i++) {
		readers[i] = (struct mover_reader){.world = &world, .index = i};
		assert_int_equal(pthread_create(&readers[i].thread, NULL, read_moves, &readers[i]), 0);
	}
	for (uint32_t generation = TENTH + 1; !readers_are_done(readers, generation); generation++)
		move_a_tenth(&world, generation);
	for (int i = 0; i < WORKERS; i++)
		__atomic_store_n(&readers[i].stop, true, __ATOMIC_RELEASE);
	for (int i = 0; i < WORKERS; i++) {
		pthread_join(readers[i].thread, NULL);
		if (readers[i].complaint)
			fail_msg("worker %d after %lu bursts: %s", i, (unsigned long)readers[i].bursts,
				 readers[i].complaint);
		assert_true(readers[i].moved > 0);
	}
	image_free(&snapshot);
	tables_free(world.tables);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_reader_under_change_sees_only_what_was),
	    cmocka_unit_test(two_workers_under_moves_send_to_owners_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
