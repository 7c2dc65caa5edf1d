/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An hour of changes in a few seconds. At the end of each simulated minute the configuration is as at the start, and
 * the mux must hold as much memory as then: to the byte under AddressSanitizer.
 *
 *	each second	a generation of each service, from bytes: backends come and go, buckets move, now and then a snapshot
 *			services come, go and get other VIPs; muxes and next hops change
 *			random frames (random_frame.h): steered, fragments that wait, ICMP errors, echo requests
 *	each minute	all services replaced by their initial state; waiting fragments expire
 *
 * The clock and the seed are injected:	test_churn [--seed N]
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_ring.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "ring/huge.h"
#include "packet/answer.h"
#include "packet/general.h"
#include "ring/backend.h"
#include "fragment/fragments.h"
#include "control/service/published_service.h"
#include "../delta_bytes.h"
#include "../frame.h"
#include "../random_frame.h"
#include "ring/backend_list.h"
#include "ring/delta_decode.h"
#include "ring/fold.h"

enum {
	BEGIN = 1700000000, /* Unix seconds */
	MINUTES = 60,
	WARM_UP = 2, /* minutes */
	SERVICES = 6,
	BUCKETS = 1024,
	BACKENDS = 20, /* of a new service */
	IDS = 200,     /* backend ids in use */
	MUXES = 20,
	FRAMES = 128, /* per second */
	WIDE = 1600,  /* next hops' MTU */
	NARROW = 700,
	SLACK_MALLOC = 65536 /* without a sanitizer: malloc's own caches count as memory in use */
};

struct one {
	struct published_service published;
	struct service_config config;
	char name[16];
	struct delta image; /* what is served, as a controller knows it */
};

struct world {
	struct published_place place;
	struct fragments *fragments;
	struct rte_ring *ring;
	struct limiter limiter;
	struct one services[SERVICES];
	struct chance chance;
	uint32_t now;
	uint64_t generations, snapshots, frames, verdicts[VERDICTS_ALL];
};

static uint64_t seed = 1;
static int64_t mapped; /* bytes that the mux has mapped itself: large tables of backends */

void *__real_mmap64(void *at, size_t length, int protection, int flags, int fd, off_t offset);
int __real_munmap(void *at, size_t length);
void *__wrap_mmap64(void *at, size_t length, int protection, int flags, int fd, off_t offset);
int __wrap_munmap(void *at, size_t length);

void *__wrap_mmap64(void *at, size_t length, int protection, int flags, int fd, off_t offset)
{
	mapped += (int64_t)length;
	return __real_mmap64(at, length, protection, flags, fd, offset);
}

int __wrap_munmap(void *at, size_t length)
{
	mapped -= (int64_t)length;
	return __real_munmap(at, length);
}

/* Of rings and tables of backends. */
static int64_t held(void)
{
	return mapped + (int64_t)huge_bytes();
}

/* Of the sanitizer's allocator, where the test is built with one. */
size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

static int64_t heap(void)
{
	struct mallinfo2 info;

	if (__sanitizer_get_current_allocated_bytes)
		return (int64_t)__sanitizer_get_current_allocated_bytes();
	info = mallinfo2();
	return (int64_t)(info.uordblks + info.hblkhd);
}

/* Through bytes, as it comes from ZooKeeper. */
static struct delta received(const struct delta *delta, const struct delta_expected *expected)
{
	size_t body_len, len;
	uint8_t *body = delta_bytes_body(delta, &body_len), *bytes = delta_bytes_wrap(delta, body, body_len, &len);
	struct reason why = {{0}};
	struct delta out;

	if (delta_decode(bytes, len, expected, &out, &why))
		fail_msg("seed %lu: %s", (unsigned long)seed, why.text);
	free(body);
	free(bytes);
	return out;
}

/* The image as a snapshot that was read and swapped in. */
static void publish(struct world *world, struct one *one)
{
	struct delta_expected expected = {
	    .snapshot = true, .service = one->config.id, .generation = one->image.generation, .buckets = BUCKETS};
	struct reason why = {{0}};
	struct delta image;

	delta_prune(&one->image);
	image = received(&one->image, &expected);
	delta_free(&one->image);
	one->image = image;
	if (published_load(&one->published, &one->config, &one->image, NULL, &why))
		fail_msg("seed %lu: %s", (unsigned long)seed, why.text);
	world->snapshots++;
}

static void begin(struct world *world, struct one *one)
{
	one->config.vips_count = 1;
	one->image = image_snapshot(one->config.id, 1, BUCKETS, BACKENDS);
	publish(world, one);
}

static void end(struct one *one)
{
	published_remove(&one->published);
	delta_free(&one->image);
}

static uint16_t live_backend(struct world *world, const struct one *one, uint16_t except)
{
	for (;;) {
		const struct fl_delta_backend *b =
		    &one->image.backends[chance_below(&world->chance, one->image.backends_count)];

		if (!(b->flags & FL_BACKEND_REMOVED) && b->id != except)
			return b->id;
	}
}

static uint32_t live_backends(const struct one *one)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < one->image.backends_count; i++)
		n += !(one->image.backends[i].flags & FL_BACKEND_REMOVED);
	return n;
}

/* Moves all buckets of the owner; 0: one bucket in eight, of any owner. */
static void move(struct world *world, const struct one *one, struct delta *delta, uint16_t owner, uint16_t to)
{
	for (uint32_t i = 0; i < BUCKETS; i++) {
		uint16_t current = one->image.image.current[i];

		if (current != to && (owner ? current == owner : !chance_below(&world->chance, 8)))
			delta->runs[delta->runs_count++] = (struct fl_delta_run){i, 1, to, 0};
	}
}

/* Adds a backend, removes one, or moves buckets. */
static void make_delta(struct world *world, const struct one *one, struct delta *delta,
		       struct fl_delta_backend *backend)
{
	uint16_t id = (uint16_t)(1 + chance_below(&world->chance, IDS)), to = live_backend(world, one, 0);
	const struct fl_delta_backend *before = backend_list_find(one->image.backends, one->image.backends_count, id);

	delta->backends = backend;
	delta->backends_count = 1;
	if (!before || before->flags & FL_BACKEND_REMOVED) {
		*backend = (struct fl_delta_backend){.id = id, .address = image_address("10.1.0.20")};
		backend->address.bytes[15] = (uint8_t)(20 + id);
		backend->address.bytes[14] = (uint8_t)(before ? before->address.bytes[14] : world->now % 8);
		move(world, one, delta, 0, id);
	} else if (live_backends(one) > 2 && chance_below(&world->chance, 2)) {
		*backend = *before;
		backend->flags = FL_BACKEND_REMOVED;
		move(world, one, delta, id, live_backend(world, one, id));
	} else {
		delta->backends_count = 0;
		move(world, one, delta, 0, to);
	}
}

static void next_generation(struct world *world, struct one *one)
{
	struct fl_delta_release all = {0, BUCKETS, 0};
	struct fl_delta_backend backend;
	struct delta made = {.service = one->config.id,
			     .generation = one->image.generation + 1,
			     .base = one->image.generation,
			     .buckets = BUCKETS,
			     .committed = world->now,
			     .closed_until = world->now - one->config.window,
			     .releases_count = image_has_full_history(&one->image),
			     .releases = &all,
			     .runs = calloc(BUCKETS, sizeof(*made.runs))},
		     delta;
	struct delta_expected expected = {.generation = made.generation};
	struct reason why = {{0}};

	assert_non_null(made.runs);
	make_delta(world, one, &made, &backend);
	published_expect(&one->published, &expected);
	made.base_sum = expected.sum;
	delta = received(&made, &expected);
	if (published_apply(&one->published, &delta, NULL, &why))
		fail_msg("seed %lu: %s", (unsigned long)seed, why.text);
	assert_int_equal(delta_fold(&one->image, &delta), 0);
	delta_free(&delta);
	free(made.runs);
	world->generations++;
	if (!chance_below(&world->chance, 16)) {
		publish(world, one);
		assert_int_equal(ring_generation(published_ring(&one->published)), one->image.generation);
	}
}

static void change_service(struct world *world, struct one *one)
{
	struct reason why = {{0}};

	if (!one->published.service) {
		if (!chance_below(&world->chance, 4))
			begin(world, one);
		return;
	}
	next_generation(world, one);
	if (!chance_below(&world->chance, 8)) {
		one->config.vips_count = 1 + chance_below(&world->chance, 5);
		if (published_change_config(&one->published, &one->config, &why))
			fail_msg("seed %lu: %s", (unsigned long)seed, why.text);
	}
	if (!chance_below(&world->chance, 16))
		end(one);
}

static void change_muxes(struct world *world, uint32_t count)
{
	struct fl_address addresses[MUXES];

	for (uint32_t i = 0; i < count; i++) {
		addresses[i] = image_address(RANDOM_PEER);
		addresses[i].bytes[15] = (uint8_t)(addresses[i].bytes[15] + i);
	}
	assert_int_equal(tables_set_peers(world->place.tables, addresses, count), 0);
}

static uint64_t now_ms(const struct world *world)
{
	return (uint64_t)(world->now - BEGIN) * 1000;
}

/* What a worker does with a packet that has its verdict. */
static void finish(struct world *world, struct rte_mbuf *mbuf, const struct packet *packet)
{
	world->verdicts[packet->verdict]++;
	if (packet->verdict == VERDICT_ECHO && limiter_pass(&world->limiter, now_ms(world)))
		answer_echo(mbuf, packet);
	if (packet->verdict == VERDICT_TOO_BIG)
		answer_too_big(mbuf, packet);
	frame_unwrap(mbuf);
}

static void take_fragments(struct world *world)
{
	struct burst burst;

	memset(&burst, 0, sizeof(burst));
	burst.lookup = tables_lookup(world->place.tables);
	burst.now = world->now;
	while (fragments_ready(world->fragments, &burst)) {
		burst_steer_classified(&burst);
		for (uint32_t i = 0; i < burst.count; i++)
			finish(world, burst.mbufs[i], &burst.packets[i]);
	}
}

static void steer(struct world *world, const struct frame *frame)
{
	struct burst burst;
	struct rte_mbuf *mbuf = frame_wrap(frame);

	memset(&burst, 0, sizeof(burst));
	burst.lookup = tables_lookup(world->place.tables);
	burst.mac = mac_word(frame_mac);
	burst.now = world->now;
	burst.count = 1;
	burst.mbufs[0] = mbuf;
	general_classify(&burst, 0, 1);
	if (burst.packets[0].verdict == VERDICT_FRAGMENT || burst.packets[0].verdict == VERDICT_PEER) {
		fragments_take(world->fragments, burst.lookup, mbuf, &burst.packets[0], now_ms(world));
		take_fragments(world);
		return;
	}
	burst_steer_classified(&burst);
	finish(world, mbuf, &burst.packets[0]);
}

static void pass_packets(struct world *world)
{
	struct frame frame;

	for (int i = 0; i < FRAMES; i++) {
		if (world->now % 30)
			random_frame(&world->chance, &frame);
		else
			random_storm(&world->chance, world->now / 30, &frame);
		steer(world, &frame);
		world->frames++;
	}
	fragments_run(world->fragments, tables_lookup(world->place.tables), now_ms(world));
	take_fragments(world);
}

static void second(struct world *world)
{
	world->now++;
	for (int i = 0; i < SERVICES; i++)
		change_service(world, &world->services[i]);
	if (!(world->now % 5))
		change_muxes(world, chance_below(&world->chance, MUXES + 1));
	if (!(world->now % 3)) {
		image_wire.source_mac[5]++;
		image_wire.mtu = chance_below(&world->chance, 2) ? WIDE : NARROW;
		image_wire.resolved = chance_below(&world->chance, 4);
		tables_refresh(world->place.tables);
	}
	pass_packets(world);
}

/* Back to the initial state; no fragment waits. */
static void level(struct world *world)
{
	for (int i = 0; i < SERVICES; i++)
		if (world->services[i].published.service)
			end(&world->services[i]);
	image_wire.source_mac[5] = 1;
	image_wire.mtu = WIDE;
	image_wire.resolved = true;
	change_muxes(world, 1);
	for (int i = 0; i < SERVICES; i++)
		begin(world, &world->services[i]);
	world->now += 1 + FRAGMENTS_KNOWN_MS / 1000;
	fragments_run(world->fragments, tables_lookup(world->place.tables), now_ms(world));
	take_fragments(world);
}

static void open_world(struct world *world)
{
	const struct fl_address self = image_address(RANDOM_SELF), self6 = image_address(RANDOM_SELF6);
	static const struct fl_siphash_key key = {1, 2};

	*world = (struct world){.now = BEGIN, .chance = {seed}};
	world->place.tables = tables_new(1, &image_hops);
	world->place.counters = counters_new(1);
	world->place.changes = change_log_new();
	world->ring = aligned_alloc(64, (size_t)rte_ring_get_memsize(FRAGMENTS_RING));
	assert_true(world->place.tables && world->place.counters && world->place.changes && world->ring);
	assert_int_equal(rte_ring_init(world->ring, "churn", FRAGMENTS_RING, RING_F_SC_DEQ), 0);
	world->fragments = fragments_new(0, 1, &world->ring);
	assert_non_null(world->fragments);
	assert_int_equal(tables_set_self(world->place.tables, &self, &self6, &(struct tag_keys){key, {key, key}}), 0);
	for (uint16_t i = 0; i < SERVICES; i++) {
		struct one *one = &world->services[i];

		one->config = image_config((uint16_t)(i + 1), random_vips[i], BUCKETS);
		one->config.ports_count = 2;
		one->config.ports[1] = (struct service_port){IPPROTO_UDP, 53};
		for (uint32_t v = 1; v < 5; v++) {
			one->config.vips[v] = image_address("10.98.0.0");
			one->config.vips[v].bytes[14] = (uint8_t)i;
			one->config.vips[v].bytes[15] = (uint8_t)v;
		}
		snprintf(one->name, sizeof(one->name), "service%u", i + 1);
		strcpy(one->config.name, one->name);
		one->published = (struct published_service){.place = &world->place, .name = one->name};
	}
}

static void close_world(struct world *world)
{
	for (int i = 0; i < SERVICES; i++)
		end(&world->services[i]);
	fragments_free(world->fragments);
	tables_free(world->place.tables);
	counters_free(world->place.counters);
	free(world->place.changes);
	free(world->ring);
}

static void an_hour_of_changes_leaves_memory_as_it_was(void **state)
{
	static const enum verdict met[] = {
	    VERDICT_SERVICE,
	    VERDICT_ECHO,
	    VERDICT_FRAGMENT_FORWARDED,
	    VERDICT_FRAGMENT_ALONE,
	    VERDICT_NO_SERVICE_PORT,
	    VERDICT_NO_NEIGHBOUR,
	    VERDICT_TOO_BIG,
	};
	static struct world world;
	int64_t first_heap = 0, first_held = 0;

	(void)state;
	open_world(&world);
	for (int minute = 0; minute < MINUTES; minute++) {
		for (int s = 0; s < 60; s++)
			second(&world);
		level(&world);
		if (minute == WARM_UP) {
			first_heap = heap();
			first_held = held();
		}
		if (minute <= WARM_UP)
			continue;
		assert_true(held() > 0);
		if (heap() > first_heap + (__sanitizer_get_current_allocated_bytes ? 0 : SLACK_MALLOC))
			fail_msg("minute %d, seed %lu: %ld bytes on the heap; %ld after the warm-up", minute,
				 (unsigned long)seed, (long)heap(), (long)first_heap);
		if (held() != first_held)
			fail_msg("minute %d, seed %lu: %ld bytes of rings and tables; %ld after the warm-up", minute,
				 (unsigned long)seed, (long)held(), (long)first_held);
	}
	fprintf(stderr, "seed %lu: %lu generations, %lu snapshots, %lu frames; %ld bytes on the heap, %ld of tables\n",
		(unsigned long)seed, (unsigned long)world.generations, (unsigned long)world.snapshots,
		(unsigned long)world.frames, (long)first_heap, (long)first_held);
	for (size_t i = 0; i < sizeof(met) / sizeof(met[0]); i++)
		if (!world.verdicts[met[i]])
			fail_msg("seed %lu: no frame met %s", (unsigned long)seed, verdict_name(met[i]));
	close_world(&world);
	assert_int_equal(held(), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(an_hour_of_changes_leaves_memory_as_it_was)};

	if (argc == 3 && !strcmp(argv[1], "--seed"))
		seed = strtoull(argv[2], NULL, 10);
	else if (argc > 1)
		seed = 0;
	if (!seed) {
		fprintf(stderr, "usage: test_churn [--seed N], not 0\n");
		return 2;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
