/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the pipelines hold follows what the mux serves: after each of many random changes, random packets of all services
 * leave the pipeline as the C mux would send them, byte by byte, and those that it is to take are taken.
 */
#include <netinet/in.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "encap/encap.h"
#include "layout.h"
#include "ring/fold.h"
#include "ring/ring.h"
#include "steering/hunt/hunt.h"
#include "steering/maat/maat.h"
#include "steering/othello/arrays.h"
#include "steering/othello/othello.h"
#include "steering/othello/pair.h"
#include "steering/steering.h"
#include "world.h"

enum {
	SERVICES = 6,
	CHANGES = 400,
	PACKETS = 24, /* after each */
	BUCKETS = 1024,
	BACKENDS = 5,
	ID_MAAT = 2,
	ID_IPIP = 5,
	ID_OTHELLO = 3,
	ID_OTHELLO2 = 6,
	CONNECTIONS = 16, /* to ID_MAAT, of each family */
	IDS = 90,         /* beyond the first table of backends, which has 64 lines */
};

/* A service, and its ring as the tests know it. */
struct known {
	struct service *service;
	struct service_config config;
	struct delta image;
	bool has_ring;
	struct othello_arrays *newest; /* of arrays, with a reference; NULL: none yet */
};

struct walk {
	struct world world;
	struct chance chance;
	struct known known[SERVICES];
	unsigned taken, referred, others;
	unsigned closed; /* rows that have lost a former owner as its window ended */
	uint32_t now;    /* Unix seconds */
	uint64_t now_ms;
	bool with_ipv6;
};

static uint32_t below(struct walk *walk, uint32_t bound)
{
	return chance_below(&walk->chance, bound);
}

static bool is_othello(uint16_t id)
{
	return id == ID_OTHELLO || id == ID_OTHELLO2;
}

static struct service_config config_of(struct walk *walk, uint16_t id)
{
	char vip[32];
	struct service_config config;

	snprintf(vip, sizeof(vip), "10.99.0.%u", id);
	config = image_config(id, vip, BUCKETS);
	snprintf(config.name, sizeof(config.name), "service%u", id);
	config.hash = walk->with_ipv6 && id % 2 ? FL_HASH_SIPHASH : FL_HASH_CRC32;
	config.affinity = id % 3 ? AFFINITY_CONNECTION : AFFINITY_CLIENT;
	if (id % 3 == 1)
		config.steering = &steering_hunt;
	if (id == ID_MAAT) {
		config.steering = &steering_maat;
		config.maat = (struct maat_settings){below(walk, 2) ? MAAT_PACKETS : MAAT_BYTES, 10, 1000, 65536, 3};
	}
	if (is_othello(id)) {
		config.steering = &steering_othello;
		config.hash = id == ID_OTHELLO ? FL_HASH_SIPHASH : FL_HASH_CRC32;
	}
	if (id == ID_IPIP)
		config.encap = &encap_ipip;
	config.ports[1] = (struct service_port){.protocol = IPPROTO_UDP, .port = 53};
	config.ports_count = is_othello(id) ? 1 : 2;
	if (walk->with_ipv6 && id != ID_IPIP) {
		snprintf(vip, sizeof(vip), "2001:db8:99::%u", id);
		config.vips[config.vips_count++] = image_address(vip);
	}
	return config;
}

static void add(struct walk *walk, struct known *known)
{
	struct reason why = {{0}};

	known->config = config_of(walk, (uint16_t)(known - walk->known + 1));
	if (tables_add(walk->world.tables, &known->config, &known->service, &why))
		fail_msg("%s", why.text);
}

/* New arrays, and those before, none or the low bits as those before; NULL: none yet, or none are new. */
static struct othello_pair *new_pair(struct walk *walk, struct known *known, bool must)
{
	bool crc = known->config.hash == FL_HASH_CRC32;
	uint32_t na = 1 + below(walk, 900), nb = 1 + below(walk, 900), what = below(walk, 4);
	struct othello_arrays *before = known->newest, *newest;
	struct othello_pair *pair;

	if (!is_othello(known->config.id) || (!must && below(walk, 3)) || (!before && !below(walk, 4)))
		return NULL;
	if (before && what == 0) { /* the same, without those before */
		newest = before;
		before = NULL;
	} else {
		newest = image_arrays(&walk->chance, 2, crc ? 1U << below(walk, 10) : na,
				      crc ? 1U << below(walk, 10) : nb, known->config.hash, BUCKETS);
		if (before && what == 1) {
			othello_arrays_free(before);
			before = NULL;
		}
	}
	known->newest = newest;
	pair = othello_pair_new(othello_arrays_keep(newest), before, !before && below(walk, 2));
	assert_non_null(pair);
	return pair;
}

/* A new snapshot; perhaps of a lower generation, as after a disaster. */
static void load(struct walk *walk, struct known *known)
{
	uint32_t generation = known->has_ring && below(walk, 4) ? known->image.generation + 1 : 1 + below(walk, 9);
	struct delta image = image_snapshot(known->config.id, generation, BUCKETS, BACKENDS);
	struct reason why = {{0}};

	for (uint32_t i = 0; i < BACKENDS; i++)
		image.backends[i].weight = (uint16_t)(1 + i % 3);
	for (uint32_t i = 0; i < BUCKETS; i++)
		if (!below(walk, 3)) {
			uint16_t former = (uint16_t)(1 + below(walk, BACKENDS));

			image_was(&image, i, former, WORLD_NOW - below(walk, 400));
			image_own(&image, i, (uint16_t)((former + 1 + below(walk, BACKENDS)) % (BACKENDS + 1)));
		}
	if (known->has_ring)
		image_free(&known->image);
	known->image = image;
	known->has_ring = true;
	if (tables_load(walk->world.tables, known->service, &image, new_pair(walk, known, true), &why))
		fail_msg("%s", why.text);
}

static bool has_ipv6(const struct walk *walk, const struct known *known)
{
	return walk->with_ipv6 && known->config.encap != &encap_ipip;
}

/* One entry: a new backend, another address of one, or its removal or return. */
static struct fl_delta_backend entry(struct walk *walk, const struct known *known)
{
	struct fl_delta_backend out = known->image.backends[below(walk, known->image.backends_count)];

	switch (below(walk, 4)) {
	case 0:
		out.flags ^= FL_BACKEND_REMOVED;
		break;
	case 1:
		out.address.bytes[14] ^= 1;
		break;
	default:
		out = (struct fl_delta_backend){.id = (uint16_t)(1 + below(walk, IDS)), .weight = 1};
		out.address = image_address(has_ipv6(walk, known) && !below(walk, 3) ? "2001:db8:1::77" : "10.1.0.77");
		out.address.bytes[15] = (uint8_t)(20 + out.id); /* no two have one address */
	}
	return out;
}

static uint32_t owned(const struct known *known, uint16_t id)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < BUCKETS; i++)
		count += known->image.image.current[i] == id;
	return count;
}

static uint16_t any_backend(struct walk *walk, const struct known *known)
{
	return known->image.backends[below(walk, known->image.backends_count)].id;
}

static void apply(struct walk *walk, struct known *known)
{
	struct fl_delta_backend backend = entry(walk, known);
	struct delta delta = image_move(&known->image, known->image.generation + 1, 0, 0, any_backend(walk, known),
					WORLD_NOW - below(walk, 400));
	uint16_t owner = any_backend(walk, known);
	struct reason why = {{0}};

	delta.backends_count = below(walk, 2);
	delta.backends = &backend;
	delta.order = owned(known, owner) && below(walk, 2) ? FL_DELTA_BY_OWNER : FL_DELTA_BY_NUMBER;
	delta.runs[0].owner = owner;
	if (delta.order == FL_DELTA_BY_OWNER) {
		delta.runs[0].start = below(walk, owned(known, owner));
		delta.runs[0].count = 1 + below(walk, owned(known, owner) - delta.runs[0].start);
	} else {
		delta.runs[0].start = below(walk, BUCKETS);
		delta.runs[0].count = 1 + below(walk, BUCKETS - delta.runs[0].start);
	}
	delta.releases_count = image_has_full_history(&known->image) || delta.generation % 3 == 0;
	delta.releases[0] = (struct fl_delta_release){0, BUCKETS, 0};
	delta.closed_until = delta.generation % 4 ? 1 : 0; /* 0: a hold */
	if (delta.generation % 8 == 0)
		delta.closed_until = delta.committed - 100;
	if (delta.backends_count && backend.id == delta.runs[0].current && backend.flags & FL_BACKEND_REMOVED)
		delta.runs_count = 0; /* no bucket goes to a backend that is being removed */
	assert_int_equal(delta_fold(&known->image, &delta), 0);
	if (tables_apply(walk->world.tables, known->service, &delta, new_pair(walk, known, false), &why))
		fail_msg("%s", why.text);
	delta.backends = NULL;
	image_free(&delta);
}

static void configure(struct walk *walk, struct known *known)
{
	struct reason why = {{0}};

	known->config.ports[0].port = (uint16_t)(80 + below(walk, 3));
	known->config.vips[0].bytes[14] = (uint8_t)below(walk, 2);
	known->config.window = 100 + 100 * below(walk, 3);
	known->config.mss = known->config.id != ID_MAAT && below(walk, 2) ? 1400 : 0;
	if (known->config.id == ID_MAAT) { /* more hashes than the pipeline has, too; few of them need many cells */
		known->config.maat.delta = 10 * below(walk, 4);
		known->config.maat.filter_hashes =
		    below(walk, 2) ? known->config.maat.filter_hashes : 1 + below(walk, 4);
		known->config.maat.filter_bytes = known->config.maat.filter_hashes < 2 ? 524288 : 65536;
	}
	if (!is_othello(known->config.id)) {
		known->config.hold = below(walk, 2) * 3600;
		known->config.stateless_udp = below(walk, 2);
		known->config.quic.length = (uint8_t)(!below(walk, 4) && known->config.encap != &encap_ipip);
	}
	if (tables_change(walk->world.tables, known->service, &known->config, &why))
		fail_msg("%s", why.text);
}

static void drop(struct walk *walk, struct known *known)
{
	tables_remove(walk->world.tables, known->service);
	if (known->has_ring)
		image_free(&known->image);
	othello_arrays_free(known->newest);
	*known = (struct known){NULL};
}

/* Next hops change: MAC addresses, the port, an MTU, an unresolved neighbour, a VLAN. */
static void reroute(struct walk *walk)
{
	image_wire.mac[5]++;
	image_wire.source_mac[5] = (uint8_t)below(walk, 256);
	image_wire.port = (uint8_t)(2 + below(walk, 2) + !below(walk, 8));
	image_wire.mtu = below(walk, 3) ? 1600 : 1500;
	image_wire.resolved = below(walk, 8);
	image_wire.vlan = below(walk, 8) ? 0 : 7;
	tables_refresh(walk->world.tables);
}

static uint32_t stored(const struct walk *walk)
{
	uint32_t sum = 0;

	for (const struct known *known = walk->known; known < walk->known + SERVICES; known++)
		sum += known->has_ring ? service_ring(known->service)->listed->stored : 0;
	return sum;
}

static void close_windows(struct walk *walk)
{
	uint32_t before = stored(walk);

	walk->now += 1 + below(walk, 4);
	tables_close_windows(walk->world.tables, walk->now);
	walk->closed += stored(walk) - before;
}

static void step(struct walk *walk)
{
	struct known *known = &walk->known[below(walk, SERVICES)];
	uint32_t what = below(walk, 24);

	if (what == 0)
		reroute(walk);
	else if (what >= 20)
		close_windows(walk);
	else if (!known->service)
		add(walk, known);
	else if (!known->has_ring || what == 1)
		load(walk, known);
	else if (what == 2)
		drop(walk, known);
	else if (what < 6)
		configure(walk, known);
	else
		apply(walk, known);
	tables_tick(walk->world.tables, walk->now_ms += 10);
}

/* Of few connections: their filters answer. SYN, SYN again, data, or an end. */
static void make_connection(struct walk *walk, struct flow *flow)
{
	flow->source = image_address(fl_address_is_ipv4(&flow->destination) ? "11.0.0.1" : "2001:db8:7::1");
	flow->source_port = (uint16_t)(1 + below(walk, CONNECTIONS));
}

static uint8_t any_flags(struct walk *walk)
{
	static const uint8_t flags[] = {0x02, 0x02, 0x10, 0x10, 0x18, 0x11, 0x04};

	return flags[below(walk, sizeof(flags))];
}

static struct frame random_packet(struct walk *walk, const struct known *known)
{
	const struct service_config *config = &known->config;
	const struct service_port *port = &config->ports[below(walk, config->ports_count)];
	struct flow flow = {.destination = config->vips[below(walk, config->vips_count)],
			    .source_port = (uint16_t)(1 + below(walk, 65535)),
			    .destination_port = port->port,
			    .protocol = port->protocol};
	struct frame frame;

	flow.source = image_address(fl_address_is_ipv4(&flow.destination) ? "11.0.0.0" : "2001:db8:7::");
	fl_store_be16(flow.source.bytes + 13, (uint16_t)chance_next(&walk->chance));
	flow.source.bytes[15] = (uint8_t)chance_next(&walk->chance);
	if (config->id == ID_MAAT)
		make_connection(walk, &flow);
	frame = frame_new(&flow, below(walk, 5) ? below(walk, 1000) : 1350 + below(walk, 150));
	if (frame.len < 60) /* as Ethernet pads */
		frame.len = 60;
	if (flow.protocol == IPPROTO_TCP && !below(walk, 6) && fl_address_is_ipv4(&flow.destination))
		frame.bytes[FRAME_AT_L4 + 13] = 0x02;
	if (flow.protocol == IPPROTO_TCP && config->id == ID_MAAT)
		frame.bytes[(fl_address_is_ipv4(&flow.destination) ? FRAME_AT_L4 : FRAME_AT_L46) + 13] =
		    any_flags(walk);
	return frame;
}

/* The most former owners that a bucket has. */
static uint32_t longest(const struct known *known)
{
	const struct histories *histories = &known->image.image.histories;
	uint32_t most = 0;

	for (uint32_t i = 0; i < BUCKETS; i++) {
		uint32_t count = histories_get(histories, known->image.image.history[i])->count;

		most = count > most ? count : most;
	}
	return most;
}

/* Whether all of a service's lists are such as the pipeline makes. */
static bool has_short_lists(const struct walk *walk, const struct known *known, bool tcp)
{
	uint32_t most = longest(known), second = tcp && known->config.steering->has_second;

	if (second && most > P4_LIST_SECOND_MAX)
		return false;
	return !has_ipv6(walk, known) || (second ? 1 + 2 * most : most) <= P4_LIST_IPV6_MAX;
}

/* Whether the pipeline must take what the C mux steers. */
static bool must_take(const struct walk *walk, const struct known *known, const struct frame *frame)
{
	bool ipv4 = frame->bytes[13] == 0, tcp = frame->bytes[FRAME_AT_IP + (ipv4 ? 9 : 6)] == IPPROTO_TCP;

	if (!has_short_lists(walk, known, tcp))
		return false;
	if (tcp && known->config.maat.filter_hashes > P4_FILTER_HASHES_MAX)
		return false;
	return tcp ? !(known->config.mss && frame->bytes[ipv4 ? FRAME_AT_L4 + 13 : FRAME_AT_L46 + 13] & 2)
		   : !known->config.quic.length;
}

/* What has been counted for loads, of all backends; both paths count each packet, for the same one. */
static uint32_t loads_of(const struct known *known, uint32_t *of_one)
{
	const struct maat *maat = maat_of(known->service);
	uint32_t sum = 0;

	for (uint32_t id = 0; maat && id <= IDS; id++) {
		sum += maat->counts[id];
		of_one[id] = maat->counts[id];
	}
	return sum;
}

static void check_loads(const struct known *known, const uint32_t *before, uint32_t sum_before,
			const struct frame *frame)
{
	uint32_t now[IDS + 1], changed = 0, by = loads_of(known, now) - sum_before;
	bool ipv4 = frame->bytes[13] == 0;
	uint32_t len =
	    ipv4 ? fl_load_be16(frame->bytes + FRAME_AT_IP + 2) : 40U + fl_load_be16(frame->bytes + FRAME_AT_IP + 4);

	for (uint32_t id = 0; id <= IDS; id++)
		changed += now[id] != before[id];
	assert_int_equal(changed, 1);
	assert_int_equal(by, 2 * (known->config.maat.load == MAAT_PACKETS ? 1 : len));
}

static void send_one(struct walk *walk)
{
	uint32_t loads[IDS + 1], sum;
	const struct known *known = &walk->known[below(walk, SERVICES)];
	const struct worker_counters *counters = counters_of(walk->world.counters, 0);
	struct world_sent sent;
	struct frame frame;
	uint64_t before;

	if (!known->service)
		return;
	frame = random_packet(walk, known);
	before = counters->services[known->service->slot].packets;
	sum = loads_of(known, loads);
	sent = world_send(&walk->world, &frame);
	if (sent.taken && maat_of(known->service))
		check_loads(known, loads, sum, &frame);
	assert_int_equal(counters->services[known->service->slot].packets - before, sent.taken);
	if (sent.verdict == VERDICT_SERVICE && sent.by_wire && must_take(walk, known, &frame) && !sent.taken)
		fail_msg("%s: a packet of %u bytes is left", known->config.name, frame.len);
	walk->taken += sent.taken;
	walk->referred += sent.verdict == VERDICT_SERVICE && !sent.taken;
	walk->others += sent.verdict != VERDICT_SERVICE;
}

static void the_pipeline_follows_every_change(void **state)
{
	struct walk walk = {
	    .chance = {*(const uint64_t *)*state}, .with_ipv6 = true, .now = WORLD_NOW - 100, .now_ms = 1000};
	const struct worker_counters *counters;
	struct next_hop wire = image_wire;

	world_open(&walk.world, 2);
	for (unsigned i = 0; i < CHANGES; i++) {
		step(&walk);
		for (unsigned n = 0; n < PACKETS; n++)
			send_one(&walk);
	}
	print_message("# %u packets by the pipeline, %u referred, %u others; %u rows closed\n", walk.taken,
		      walk.referred, walk.others, walk.closed);
	counters = counters_of(walk.world.counters, 0);
	print_message("# %llu by the second bucket, %llu of them SYNs\n", (unsigned long long)counters->second_first,
		      (unsigned long long)counters->second_syns);
	assert_true(counters->second_syns > 10 && counters->second_first > counters->second_syns);
	assert_true(walk.taken > CHANGES * PACKETS / 4);
	assert_true(walk.referred && walk.others && walk.closed);
	for (struct known *known = walk.known; known < walk.known + SERVICES; known++)
		if (known->service)
			drop(&walk, known);
	world_close(&walk.world);
	image_wire = wire;
}

/*
 * Arrays of which the newest and those before fit into the pipelines, but not beside the ones that these replace: packets
 * take the mux's own path meanwhile. With larger ones they do so for good, and with small ones no more.
 */
static void arrays_without_room_are_left_to_the_mux(void **state)
{
	static const struct {
		uint32_t na, nb;
		bool fits;
	} steps[] = {{1, 1, true},
		     {P4_CELLS_WORDS, P4_CELLS_WORDS / 2 + 5, true},
		     {P4_CELLS_WORDS, P4_CELLS_WORDS / 2 + 5, true},
		     {2 * P4_CELLS_WORDS, P4_CELLS_WORDS / 4, true},
		     {2 * P4_CELLS_WORDS, P4_CELLS_WORDS / 4, false},
		     {70, 9, true},
		     {70, 9, true}};
	struct walk walk = {.chance = {*(const uint64_t *)*state}};
	struct known *known = &walk.known[ID_OTHELLO - 1];
	struct reason why = {{0}};

	world_open(&walk.world, 1);
	add(&walk, known);
	load(&walk, known);
	othello_arrays_free(known->newest);
	known->newest = NULL;
	for (uint32_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct othello_arrays *before = known->newest;
		unsigned taken = walk.taken;
		struct delta delta;

		known->newest =
		    image_arrays(&walk.chance, i + 3, steps[i].na, steps[i].nb, known->config.hash, BUCKETS);
		/* one code gets an owner: arrays of one cell have no other */
		delta = image_move(&known->image, known->image.generation + 1,
				   othello_arrays_code(known->newest, (struct othello_places){0, steps[i].na}), 1, 1,
				   WORLD_NOW);
		assert_int_equal(delta_fold(&known->image, &delta), 0);
		if (tables_apply(walk.world.tables, known->service, &delta,
				 othello_pair_new(othello_arrays_keep(known->newest), before, false), &why))
			fail_msg("%s", why.text);
		for (unsigned n = 0; n < 200; n++) {
			struct frame frame = random_packet(&walk, known);

			walk.taken += world_send(&walk.world, &frame).taken;
		}
		assert_int_equal(walk.taken > taken, steps[i].fits);
		delta.backends = NULL;
		image_free(&delta);
	}
	drop(&walk, known);
	world_close(&walk.world);
}

int main(int argc, char **argv)
{
	static uint64_t seed = 1;
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_prestate(the_pipeline_follows_every_change, &seed),
	    cmocka_unit_test_prestate(arrays_without_room_are_left_to_the_mux, &seed),
	};

	if (argc > 1)
		seed = strtoull(argv[1], NULL, 0);
	print_message("# seed %" PRIu64 "\n", seed);
	world_environment();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
