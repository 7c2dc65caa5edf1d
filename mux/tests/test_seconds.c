/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Second buckets: random bursts of services with othello's arrays of every kind, with hunt and maat, beside one with a
 * ring alone, against an oracle that handles each packet by itself and writes its bytes from scratch; and explanations.
 */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <rte_ring.h>

#include "packet/burst.h"
#include "packet/classify.h"
#include "fragment/fragments.h"
#include "ring/backend.h"
#include "service/tables.h"
#include "steering/hunt/hunt.h"
#include "steering/maat/maat.h"
#include "steering/othello/arrays.h"
#include "steering/othello/othello.h"
#include "steering/othello/pair.h"
#include "steering/ring/steering_ring.h"
#include "frame.h"
#include "gue_bytes.h"
#include "image.h"

enum {
	BUCKETS = 1024,
	BACKENDS = 40,
	NOW = 1700000100,
	RING = 4, /* the number of the service without second buckets, and of the one by halves of the hash */
	HUNT = 5,
	MAAT = 6,
	SERVICES = 7,
	BURSTS = 20000,
	TCP_SYN = 2,
	TAILROOM = 128, /* as real buffers have: the longest header takes more than the headroom */
};

static const struct fl_siphash_key tag_key = {11, 12};
static const char *const vips[SERVICES] = {"10.99.0.1", "10.99.0.2", "10.99.0.3", "10.99.0.4",
					   "10.99.0.5", "10.99.0.6", "10.99.0.7"};

/* By the last digit of a backend's address: 7 has no next hop, 8 is a loop, 5 is in a VLAN. */
static void hop_of(void *context, const struct fl_address *address, struct next_hop *out)
{
	uint8_t digit = address->bytes[15] % 10;

	image_hop(context, address, out);
	out->resolved = digit != 7;
	out->loop = digit == 8;
	out->vlan = digit == 5 ? 100 : 0;
}

static const struct next_hops hops = {.context = &image_wire, .lookup = hop_of};

/* Few cells, so that many packets have the same bucket in both arrays. */
static struct othello_arrays *random_arrays(struct chance *chance, uint32_t generation, enum fl_hash_kind hash)
{
	uint32_t na = 1 + chance_below(chance, 64), nb = 1 + chance_below(chance, 64);

	if (hash == FL_HASH_CRC32) {
		na = 1U << chance_below(chance, 6);
		nb = 1U << chance_below(chance, 6);
	}
	return image_arrays(chance, generation, na, nb, hash, BUCKETS);
}

/* The arrays of service number i: newest and before, newest alone, low bits before, none yet. Others have none. */
static struct othello_pair *random_pair(struct chance *chance, unsigned i, enum fl_hash_kind hash)
{
	struct othello_arrays *newest, *previous = NULL;

	if (i > 2)
		return NULL;
	newest = random_arrays(chance, 9, hash);
	if (i == 0 && chance_below(chance, 2)) {
		previous = random_arrays(chance, 5, hash);
	} else if (i == 0) {
		previous = image_arrays(chance, 5, newest->na, newest->nb, hash, BUCKETS);
		previous->seed = newest->seed;
		for (uint32_t cell = 0; cell < newest->na + newest->nb; cell++)
			if (chance_below(chance, 4))
				image_set_cell(previous, cell, othello_arrays_cell(newest, cell));
	}
	return othello_pair_new(newest, previous, i == 2);
}

/* Some buckets have no backend, some former owners no address; half of the pool is IPv6. */
static struct delta random_snapshot(struct chance *chance, uint16_t service)
{
	struct delta snapshot = image_snapshot(service, 9, BUCKETS, BACKENDS);

	for (uint32_t i = 0; i < BACKENDS; i += 2) {
		snapshot.backends[i].address = image_address("2001:db8:1::");
		snapshot.backends[i].address.bytes[15] = (uint8_t)(i + 21);
	}
	snapshot.backends[30].flags = FL_BACKEND_REMOVED;
	for (uint32_t i = 0; i < BUCKETS; i++) {
		image_own(&snapshot, i, (uint16_t)chance_below(chance, BACKENDS + 1));
		if (chance_below(chance, 2))
			image_own(&snapshot, i, (uint16_t)(2 + 2 * chance_below(chance, 3))); /* IPv4, and usable */
		image_was(&snapshot, i, (uint16_t)chance_below(chance, BACKENDS + 3),
			  NOW - (chance_below(chance, 2) ? 10 : 1000));
		if (image_previous(&snapshot, i) == snapshot.image.current[i]) /* an owner is not in its history */
			image_was(&snapshot, i, 0, 0);
	}
	return snapshot;
}

struct world {
	struct tables *tables;
	struct service *services[SERVICES];
	struct delta snapshots[SERVICES];
};

static bool is_of_halves(unsigned service)
{
	return service == HUNT || service == MAAT;
}

static struct service_config config_of(unsigned i, enum fl_hash_kind hash)
{
	struct service_config config = image_config((uint16_t)(i + 1), vips[i], BUCKETS);

	snprintf(config.name, sizeof(config.name), "service%u", i);
	config.steering = i == RING   ? &steering_ring
			  : i == HUNT ? &steering_hunt
			  : i == MAAT ? &steering_maat
				      : &steering_othello;
	if (i == MAAT)
		config.maat = (struct maat_settings){MAAT_PACKETS, 10, 1000, 1024, 2};
	if (is_of_halves(i))
		config.ports[config.ports_count++] = (struct service_port){IPPROTO_UDP, 80};
	config.hash = hash;
	config.vips_count = 2;
	config.vips[1] = image_address("2001:db8:99::1");
	config.vips[1].bytes[15] = (uint8_t)(i + 1);
	config.mptcp = (struct mptcp_ports){20000, 20000 + BACKENDS};
	return config;
}

static struct world world_new(struct chance *chance)
{
	const struct fl_address self = image_address("10.1.0.1"), none = {{0}};
	struct world world = {.tables = tables_new(1, &hops)};
	struct reason why = {{0}};

	assert_int_equal(tables_set_self(world.tables, &self, &none, &(struct tag_keys){tag_key, {tag_key, tag_key}}),
			 0);
	for (unsigned i = 0; i < SERVICES; i++) {
		enum fl_hash_kind hash = chance_below(chance, 3) ? FL_HASH_SIPHASH : FL_HASH_CRC32;
		struct service_config config = config_of(i, hash);

		world.snapshots[i] = random_snapshot(chance, config.id);
		if (tables_add(world.tables, &config, &world.services[i], &why) ||
		    tables_load(world.tables, world.services[i], &world.snapshots[i], random_pair(chance, i, hash),
				&why))
			fail_msg("%s", why.text);
	}
	return world;
}

static void world_free(struct world *world)
{
	for (unsigned i = 0; i < SERVICES; i++)
		image_free(&world->snapshots[i]);
	tables_free(world->tables);
}

/* The definition of protocol/README.md, 12. */
static uint32_t code(const struct othello_arrays *arrays, uint64_t hash)
{
	struct fl_othello_key key = fl_othello_key_make(arrays->hash, hash, arrays->seed);
	uint64_t a = (uint64_t)key.low * arrays->na / 0x100000000ULL,
		 b = (uint64_t)key.high * arrays->nb / 0x100000000ULL;

	return othello_arrays_cell(arrays, (uint32_t)a) ^ othello_arrays_cell(arrays, arrays->na + (uint32_t)b);
}

/* What the oracle says of one packet. */
struct wanted {
	enum verdict verdict;
	uint32_t second, moved;
	uint32_t len;
	uint8_t bytes[GUE_BYTES_MAX];
};

static bool is_known(uint16_t id)
{
	return id >= 1 && id <= BACKENDS;
}

static struct next_hop hop_to(const struct delta *snapshot, uint16_t id)
{
	struct next_hop hop = {0};

	if (!(snapshot->backends[id - 1].flags & FL_BACKEND_REMOVED))
		hop_of(&image_wire, &snapshot->backends[id - 1].address, &hop);
	return hop;
}

/* Adds a server to the list, once. */
static void name(struct fl_list *list, const struct fl_address *to, const struct fl_address *address)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (fl_address_equal(address, &list->candidate[i]))
			return;
	if (fl_address_equal(address, to))
		return;
	list->candidate[list->count++] = *address;
	list->left = list->count;
}

/* A bucket's former owner, which stays until it is released. */
static void name_former(const struct delta *snapshot, uint32_t bucket, const struct fl_address *to,
			struct fl_list *list)
{
	uint16_t previous = image_previous(snapshot, bucket);

	if (is_known(previous))
		name(list, to, &snapshot->backends[previous - 1].address);
}

/* Returns how many owners of second buckets the list names. */
static uint32_t name_all(const struct delta *snapshot, uint32_t first, uint32_t second, bool is_syn,
			 const struct fl_address *to, struct fl_list *list)
{
	uint16_t owner = snapshot->image.current[second];
	uint32_t present;

	if (first != second && is_known(owner) && !hop_to(snapshot, owner).loop)
		name(list, to, &snapshot->backends[owner - 1].address);
	present = list->count;
	if (!is_syn)
		name_former(snapshot, first, to, list);
	if (!is_syn && first != second)
		name_former(snapshot, second, to, list);
	return present;
}

static enum verdict verdict_of(const struct next_hop *hop)
{
	if (hop->loop)
		return VERDICT_BACKEND_LOOP;
	return hop->resolved ? VERDICT_SERVICE : VERDICT_NO_NEIGHBOUR;
}

static const struct othello_pair *pair_of(const struct world *world, unsigned service)
{
	return is_of_halves(service) ? NULL : othello_pair_of(world->services[service]);
}

/* Whether the packet's second bucket is named first: the filter has it, and packets reach its owner. */
static bool is_noted(const struct world *world, uint64_t hash, uint32_t second)
{
	uint16_t owner = world->snapshots[MAAT].image.current[second];
	struct next_hop hop;

	if (!is_known(owner) || second == (uint32_t)hash % BUCKETS)
		return false;
	hop = hop_to(&world->snapshots[MAAT], owner);
	return hop.resolved && !hop.loop && maat_filter_has(maat_of(world->services[MAAT])->filter, hash);
}

static uint8_t *tcp_flags(const struct flow *flow, struct frame *frame)
{
	return frame->bytes + FRAME_AT_IP + (fl_address_is_ipv4(&flow->source) ? 20 : 40) + 13;
}

/* A SYN names present owners alone, and with arrays the first bucket's alone. */
static struct wanted want(const struct world *world, unsigned i, const struct flow *flow, bool is_syn,
			  const struct frame *frame, const struct fl_siphash_key *key)
{
	const struct delta *snapshot = &world->snapshots[i];
	const struct othello_pair *pair = pair_of(world, i);
	uint64_t hash = service_flow_hash(world->services[i], flow);
	bool ipv6 = !fl_address_is_ipv4(&flow->source);
	uint32_t low = (uint32_t)hash % BUCKETS, first = pair ? code(pair->newest, hash) : low, second = first;
	struct fl_list list = {.inner_protocol = ipv6 ? FL_LIST_GUE_IPV6 : FL_LIST_GUE_IPV4,
			       .service = (uint16_t)(i + 1),
			       .generation = 9};
	struct gue_bytes bytes = {.list = &list,
				  .mac = {2, 0},
				  .hash = (uint32_t)hash,
				  .tag_key = key,
				  .inner = frame->bytes + FRAME_AT_IP,
				  .inner_len = (uint16_t)(frame->len - FRAME_AT_IP)};
	uint16_t id = snapshot->image.current[first];
	struct wanted wanted = {.verdict = VERDICT_NO_BACKEND};
	struct next_hop hop;

	if (pair && is_syn)
		second = first;
	else if (pair && pair->previous)
		second = code(pair->previous, hash);
	else if (pair && pair->low_bits)
		second = low;
	else if (is_of_halves(i) && flow->protocol == IPPROTO_TCP)
		second = (uint32_t)(hash >> 32) % BUCKETS;
	if (i == MAAT && flow->destination_port == 80 && is_noted(world, hash, second)) {
		first = second;
		second = low;
		id = snapshot->image.current[first];
	}
	if (flow->destination_port != 80) {
		id = (uint16_t)(flow->destination_port - 20000);
		wanted.verdict = VERDICT_NO_BACKEND_ID;
		if (is_known(id) && snapshot->backends[id - 1].flags & FL_BACKEND_REMOVED)
			return wanted;
	}
	if (!is_known(id))
		return wanted;
	hop = hop_to(snapshot, id);
	wanted.verdict = verdict_of(&hop);
	if (wanted.verdict != VERDICT_SERVICE)
		return wanted;
	bytes.source = hop.source;
	bytes.to = snapshot->backends[id - 1].address;
	if (flow->destination_port == 80)
		wanted.second = name_all(snapshot, first, second, is_syn, &bytes.to, &list);
	wanted.moved = list.count > wanted.second;
	list.flags |= key ? tag_key_flags(key) : 0;
	list.flags |= fl_address_is_ipv4(&bytes.to) ? 0 : FL_LIST_IPV6;
	for (uint32_t n = 0; n < list.count; n++)
		list.flags |= fl_address_is_ipv4(&list.candidate[n]) ? 0 : FL_LIST_IPV6;
	bytes.vlan = hop.vlan;
	memcpy(bytes.mac + 2, bytes.to.bytes + 12, 4);
	wanted.len = gue_bytes_build(&bytes, wanted.bytes);
	return wanted;
}

static struct flow random_flow(struct chance *chance, unsigned service)
{
	uint8_t protocol = is_of_halves(service) && !chance_below(chance, 4) ? IPPROTO_UDP : IPPROTO_TCP;
	struct flow flow = chance_below(chance, 2) ? frame_flow6(protocol) : frame_flow(protocol);

	flow.source_port = (uint16_t)(1 + chance_below(chance, 65535));
	flow.destination_port = (uint16_t)(20001 + chance_below(chance, BACKENDS));
	if (protocol == IPPROTO_UDP || chance_below(chance, 10))
		flow.destination_port = 80;
	flow.source.bytes[15] = (uint8_t)chance_below(chance, 250);
	flow.destination.bytes[15] = (uint8_t)(service + 1);
	return flow;
}

/* An ICMP error about a packet of the service to this client; over IPv4. */
static struct frame quote_of(const struct flow *flow)
{
	struct frame frame = frame_new(flow, 32); /* room for an IP header and 8 bytes more, behind UDP too */
	uint8_t *ip = frame.bytes + FRAME_AT_IP, *icmp = frame.bytes + FRAME_AT_L4, *quote = icmp + 8;

	memset(icmp, 0, frame.len - FRAME_AT_L4);
	icmp[0] = 3;
	memcpy(quote, ip, 20);
	memcpy(quote + 12, ip + 16, 4);
	memcpy(quote + 16, ip + 12, 4);
	fl_store_be16(quote + 20, flow->destination_port);
	fl_store_be16(quote + 22, flow->source_port);
	ip[9] = IPPROTO_ICMP;
	frame_fix_checksum(&frame);
	return frame;
}

/* Random packets of random services; with a given one's alone, the methods are not mixed. */
static void check_burst(struct chance *chance, const struct world *world, struct burst *burst)
{
	static struct frame frames[BURST_MAX];
	static struct wanted wanted[BURST_MAX];
	unsigned services[BURST_MAX];
	struct flow flows[BURST_MAX];
	unsigned only = chance_below(chance, 2 * SERVICES);
	bool has_only_tcp = chance_below(chance, 2); /* over IPv4: whole groups are alike */
	uint32_t seconds = 0, moved = 0;

	burst->count = 1 + chance_below(chance, BURST_MAX);
	burst->tag_flags = chance_below(chance, 3) ? 0 : tag_key_flags(&tag_key);
	for (uint32_t i = 0; i < burst->count; i++) {
		services[i] = only < SERVICES ? only : chance_below(chance, SERVICES);
		do
			flows[i] = random_flow(chance, services[i]);
		while (has_only_tcp && (flows[i].protocol != IPPROTO_TCP || !fl_address_is_ipv4(&flows[i].source)));
		if (services[i] == MAAT && chance_below(chance, 2))
			maat_filter_add(maat_of(world->services[MAAT])->filter,
					service_flow_hash(world->services[MAAT], &flows[i]));
	}
	for (uint32_t i = 0; i < burst->count; i++) {
		bool is_syn = false;

		frames[i] = frame_new(&flows[i], chance_below(chance, 100));
		if (fl_address_is_ipv4(&flows[i].source) && !chance_below(chance, 8)) {
			frames[i] = quote_of(&flows[i]);
		} else if (flows[i].protocol == IPPROTO_TCP && services[i] != MAAT && !chance_below(chance, 4)) {
			is_syn = true; /* those of maat are noted: test_maat.c */
			*tcp_flags(&flows[i], &frames[i]) = TCP_SYN;
		}
		wanted[i] = want(world, services[i], &flows[i], is_syn, &frames[i], burst->tag_flags ? &tag_key : NULL);
		burst->mbufs[i] = frame_wrap_with(&frames[i], TAILROOM);
	}
	burst_steer(burst);
	for (uint32_t i = 0; i < burst->count; i++) {
		const struct rte_mbuf *mbuf = burst->mbufs[i];
		const uint8_t *out = rte_pktmbuf_mtod(mbuf, const uint8_t *);
		uint32_t inner_len = frames[i].len - FRAME_AT_IP;

		assert_int_equal(burst->packets[i].verdict, wanted[i].verdict);
		seconds += wanted[i].second;
		moved += wanted[i].moved;
		if (wanted[i].verdict == VERDICT_SERVICE) {
			assert_int_equal(mbuf->data_len, wanted[i].len + inner_len);
			assert_memory_equal(out, wanted[i].bytes, wanted[i].len);
			assert_memory_equal(out + wanted[i].len, frames[i].bytes + FRAME_AT_IP, inner_len);
		}
		frame_unwrap(burst->mbufs[i]);
	}
	assert_int_equal(burst->second, seconds);
	assert_int_equal(burst->moved, moved);
}

static void bursts_equal_single_packets(void **state)
{
	static const uint64_t seeds[] = {1, 20261123, 77, 4711, 5, 6, 7, 8};
	uint64_t steered = 0;

	(void)state;
	for (size_t s = 0; s < sizeof(seeds) / sizeof(seeds[0]); s++) {
		struct chance chance = {seeds[s]};
		struct world world = world_new(&chance);
		struct burst burst = {
		    .mac = mac_word(frame_mac),
		    .now = NOW,
		};

		burst.lookup = tables_lookup(world.tables);
		for (int i = 0; i < BURSTS / 8; i++) {
			check_burst(&chance, &world, &burst);
			steered += burst.second;
		}
		world_free(&world);
	}
	assert_true(steered > BURSTS);
}

static const struct explained_bucket no_bucket = {.bucket = RING_BUCKET_NONE};

static void check_explained(const struct explained_bucket *said, const struct world *world, unsigned i, uint32_t bucket)
{
	const struct delta *snapshot = &world->snapshots[i];

	assert_int_equal(said->bucket, bucket);
	assert_int_equal(said->current.id, snapshot->image.current[bucket]);
	assert_int_equal(said->former_count, is_known(image_previous(snapshot, bucket)));
	if (is_known(said->current.id))
		assert_memory_equal(&said->current.address, &snapshot->backends[said->current.id - 1].address, 16);
	for (uint32_t n = 0; n < said->former_count; n++) {
		assert_int_equal(said->former[n].id, image_previous(snapshot, bucket));
		assert_int_equal(said->former[n].since, image_since(snapshot, bucket));
		assert_memory_equal(&said->former[n].address, &snapshot->backends[said->former[n].id - 1].address, 16);
	}
}

static void explanations_name_both_buckets(void **state)
{
	static const struct {
		uint32_t arrays, before;
		bool has_before;
	} of_service[SERVICES] = {{9, 5, true}, {9, 0, false}, {9, 0, true}};
	struct chance chance = {5};
	struct world world = world_new(&chance);

	(void)state;
	for (int n = 0; n < 5000; n++) {
		unsigned i = chance_below(&chance, SERVICES);
		const struct othello_pair *pair = pair_of(&world, i);
		struct flow flow = random_flow(&chance, i);
		uint64_t hash = service_flow_hash(world.services[i], &flow);
		uint32_t first = pair ? code(pair->newest, hash) : (uint32_t)hash % BUCKETS, second = first;
		struct explanation said;

		flow.destination_port = 80;
		hash = service_flow_hash(world.services[i], &flow);
		first = second = pair ? code(pair->newest, hash) : (uint32_t)hash % BUCKETS;
		if (of_service[i].has_before)
			second = pair->previous ? code(pair->previous, hash) : (uint32_t)hash % BUCKETS;
		else if (is_of_halves(i) && flow.protocol == IPPROTO_TCP)
			second = (uint32_t)(hash >> 32) % BUCKETS;
		assert_int_equal(service_explain(world.services[i], &flow, &said), 0);
		assert_int_equal(said.arrays, of_service[i].arrays);
		assert_int_equal(said.has_arrays_before, of_service[i].has_before);
		assert_int_equal(said.arrays_before, of_service[i].before);
		check_explained(&said.first, &world, i, first);
		if (second == first)
			assert_memory_equal(&said.second, &no_bucket, sizeof(no_bucket));
		else
			check_explained(&said.second, &world, i, second);
	}
	world_free(&world);
}

/* A part of a datagram over IPv4: so many bytes behind its IP header, from `at` on. */
static struct frame fragment_of(const struct frame *whole, uint32_t at, uint32_t len, bool more)
{
	struct frame frame = *whole;
	uint8_t *ip = frame.bytes + FRAME_AT_IP;

	memmove(frame.bytes + FRAME_AT_L4, whole->bytes + FRAME_AT_L4 + at, len);
	frame.len = FRAME_AT_L4 + len;
	fl_store_be16(ip + 2, (uint16_t)(20 + len));
	fl_store_be16(ip + 4, 77);
	fl_store_be16(ip + 6, (uint16_t)(more << 13 | at / 8));
	frame_fix_checksum(&frame);
	return frame;
}

/* Servers pass on a first fragment, as a whole packet, but no later one. */
static void fragments_name_it_in_the_first(void **state)
{
	enum { PIECE = 40 };
	struct chance chance = {9};
	struct world world = world_new(&chance);
	const struct lookup *lookup = tables_lookup(world.tables);
	struct rte_ring *ring = aligned_alloc(64, (size_t)rte_ring_get_memsize(FRAGMENTS_RING));
	struct fragments *fragments;
	uint32_t steered = 0;

	(void)state;
	assert_non_null(ring);
	assert_int_equal(rte_ring_init(ring, "fragments", FRAGMENTS_RING, 0), 0);
	fragments = fragments_new(0, 1, &ring);
	assert_non_null(fragments);
	for (uint32_t n = 0; n < 1000; n++) {
		struct burst burst = {.mac = mac_word(frame_mac), .now = NOW, .lookup = lookup};
		struct flow flow = frame_flow(IPPROTO_TCP);
		struct frame whole, parts[2];

		flow.source_port = (uint16_t)(n + 1);
		flow.destination.bytes[15] = HUNT + 1;
		whole = frame_new(&flow, 2 * PIECE - 20);
		for (uint32_t i = 0; i < 2; i++) {
			struct rte_mbuf *mbuf;
			struct packet packet;

			parts[i] = fragment_of(&whole, i * PIECE, PIECE, !i);
			mbuf = frame_wrap_with(&parts[i], TAILROOM);
			classify(lookup, burst.mac, rte_pktmbuf_mtod(mbuf, const uint8_t *), mbuf->data_len,
				 mbuf->pkt_len, &packet);
			assert_int_equal(packet.verdict, VERDICT_FRAGMENT);
			fragments_take(fragments, lookup, mbuf, &packet, 10000 + 5000 * n);
		}
		assert_true(fragments_ready(fragments, &burst));
		burst_steer_classified(&burst);
		assert_int_equal(burst.count, 2);
		assert_false(burst.seconds & 2);
		assert_true(burst.second <= (burst.seconds & 1));
		steered += burst.second;
		for (uint32_t i = 0; i < 2; i++)
			frame_unwrap(burst.mbufs[i]);
	}
	assert_true(steered > 300);
	fragments_free(fragments);
	free(ring);
	world_free(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(bursts_equal_single_packets),
	    cmocka_unit_test(explanations_name_both_buckets),
	    cmocka_unit_test(fragments_name_it_in_the_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
