/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes: what fits, and what size a sender is told, for every kind of move within a pool. A packet that the mux sends
 * must also fit wherever servers may send it on, since nothing tells its sender if it does not.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "encap/encap.h"
#include "packet/burst.h"
#include "headers/mux_to_mux.h"
#include "ring/backend.h"
#include "service/peers.h"
#include "service/tables.h"
#include "frame.h"
#include "image.h"

enum { BUCKETS = 256, NOW = 1700000100, MTU = 1500, NARROW = 1400, LEAST = 1200, MOST = 1500, POOL_MAX = 8 };

/*
 * A pool, one letter for each backend, by ascending id: 4 and 6 by the family of its address, n: IPv4 with an MTU of
 * 1,400; x and y: removed ones with an IPv6 and an IPv4 address. All buckets belong to current and came from previous.
 */
struct row {
	const char *pool;
	uint16_t current, previous; /* ids, 0: the buckets never moved */
	bool tag;
	uint16_t fits; /* the largest IP packet that is sent */
	uint16_t told; /* the size that senders of larger ones are told */
};

/* Over IPv4 40 bytes, over IPv6 60; 4 or 16 more for a candidate, of which there may be six; 8 for the tag. */
static const struct row rows[] = {
    {"4", 1, 0, false, 1460, 1436},   {"4", 1, 0, true, 1452, 1428},   {"44", 1, 2, false, 1456, 1436},
    {"44", 1, 2, true, 1448, 1428},   {"6", 1, 0, false, 1440, 1344},  {"6", 1, 0, true, 1432, 1336},
    {"66", 1, 2, false, 1424, 1344},  {"66", 1, 2, true, 1416, 1336},  {"46", 1, 0, false, 1460, 1344},
    {"46", 2, 0, false, 1440, 1344},  {"46", 1, 2, false, 1424, 1344}, /* 1444 fits to the IPv4 server, but not on by IPv6 */
    {"46", 1, 2, true, 1416, 1336},   {"46", 2, 1, false, 1424, 1344}, {"46", 2, 1, true, 1416, 1336},
    {"446", 1, 2, false, 1456, 1344}, /* no server of IPv6 is on the list */
    {"446", 1, 2, true, 1448, 1336},  {"4x", 1, 2, false, 1424, 1344}, {"4x4", 1, 3, false, 1456, 1344},
    {"4y", 1, 2, false, 1456, 1436},  {"6y", 1, 2, false, 1424, 1344}, {"4n", 1, 0, false, 1460, 1336},
    {"4n", 1, 2, false, 1356, 1336},  {"4n", 2, 1, false, 1356, 1336}, {"4n6", 3, 1, false, 1324, 1244},
};

static void hop_of(void *context, const struct fl_address *address, struct next_hop *out)
{
	image_hop(context, address, out);
	out->mtu = address->bytes[13] == 'n' ? NARROW : MTU;
}

static const struct next_hops hops = {.context = &image_wire, .lookup = hop_of};

/* The second byte of an IPv4 address is the backend's letter. */
static struct fl_delta_backend backend(char letter, uint16_t id)
{
	const uint8_t ipv4[4] = {10, (uint8_t)letter, 0, (uint8_t)id};
	struct fl_delta_backend backend = {.id = id, .address = fl_address_from_ipv4(ipv4)};

	if (letter == 'x' || letter == 'y')
		backend.flags = FL_BACKEND_REMOVED;
	if (letter == 'x' || letter == '6') {
		backend.address = image_address("2001:db8:1::");
		backend.address.bytes[15] = (uint8_t)id;
	}
	return backend;
}

static struct delta snapshot_of(const struct row *row, uint32_t generation)
{
	struct delta snapshot = image_snapshot(3, generation, BUCKETS, (uint16_t)strlen(row->pool));

	for (uint32_t i = 0; i < snapshot.backends_count; i++)
		snapshot.backends[i] = backend(row->pool[i], (uint16_t)(i + 1));
	for (uint32_t i = 0; i < BUCKETS; i++) {
		image_own(&snapshot, i, row->current);
		image_was(&snapshot, i, row->previous, row->previous ? NOW - 10 : 0);
	}
	return snapshot;
}

static void load(struct tables *tables, struct service *service, const struct row *row, uint32_t generation)
{
	struct delta snapshot = snapshot_of(row, generation);
	struct reason why;

	assert_int_equal(tables_load(tables, service, &snapshot, NULL, &why), 0);
	image_free(&snapshot);
}

/* Steers an IP packet of this size. *told: what its sender is told if it is too big. */
static enum verdict steer(const struct tables *tables, bool tag, uint32_t size, uint16_t *told)
{
	static const struct fl_siphash_key key = {11, 12};
	struct flow flow = frame_flow(IPPROTO_TCP);
	struct frame frame = frame_new(&flow, size - 40);
	struct rte_mbuf *mbuf = frame_wrap(&frame);
	struct burst burst = {.lookup = tables_lookup(tables),
			      .tag_flags = tag_key_flags(tag ? &key : NULL),
			      .mac = mac_word(frame_mac),
			      .now = NOW,
			      .count = 1,
			      .mbufs = {mbuf}};
	enum verdict verdict;

	burst_steer(&burst);
	verdict = burst.packets[0].verdict;
	*told = verdict == VERDICT_TOO_BIG ? burst.packets[0].mtu : 0;
	frame_unwrap(mbuf);
	return verdict;
}

/* The largest size that is sent; every larger one is refused with the same answer. */
static uint16_t largest(const struct tables *tables, bool tag, uint16_t *told)
{
	uint16_t fits = 0, answer;

	for (uint16_t size = LEAST; size <= MOST; size++) {
		enum verdict verdict = steer(tables, tag, size, &answer);

		if (verdict == VERDICT_SERVICE) {
			assert_true(!fits || fits + 1 == size);
			fits = size;
			continue;
		}
		assert_int_equal(verdict, VERDICT_TOO_BIG);
		assert_true(size == fits + 1 || answer == *told);
		*told = answer;
	}
	return fits;
}

static bool is_ipv6(char letter)
{
	return letter == '6' || letter == 'x';
}

/* Whether a packet of this size fits to both servers that it names. */
static bool fits_both(const struct row *row, uint32_t size)
{
	const char both[] = {row->pool[row->current - 1], row->pool[row->previous - 1]};
	bool is_long = is_ipv6(both[0]) || is_ipv6(both[1]);

	for (int i = 0; i < 2; i++)
		if (size + (is_ipv6(both[i]) ? 40 : 20) + 8 + 12 + (is_long ? 16 : 4) + (row->tag ? 8 : 0) >
		    (both[i] == 'n' ? NARROW : MTU))
			return false;
	return true;
}

static struct tables *serve(struct service_config config, struct service **service)
{
	struct tables *tables = tables_new(1, &hops);
	struct reason why;

	assert_non_null(tables);
	assert_int_equal(tables_add(tables, &config, service, &why), 0);
	return tables;
}

static void every_way_that_a_move_can_take_has_room(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		struct service *service;
		struct tables *tables = serve(image_config(3, "10.99.0.1", BUCKETS), &service);
		uint16_t told = 0, fits;

		load(tables, service, row, 9);
		fits = largest(tables, row->tag, &told);
		if (fits != row->fits || told != row->told)
			fail_msg("pool %s, %u from %u%s: %u fits, told %u; expected %u and %u", row->pool, row->current,
				 row->previous, row->tag ? ", tagged" : "", fits, told, row->fits, row->told);
		if (row->previous && !fits_both(row, fits))
			fail_msg("pool %s, %u from %u: %u does not fit", row->pool, row->current, row->previous, fits);
		tables_free(tables);
	}
}

/* A sender that was told a size is not told another one after any move among the pool's backends. */
static void one_answer_is_enough(void **state)
{
	static const char *const pools[] = {"4", "6", "44", "46", "66", "446", "466", "4x", "6y", "4n6"};

	(void)state;
	for (size_t i = 0; i < sizeof(pools) / sizeof(pools[0]); i++)
		for (int tag = 0; tag < 2; tag++) {
			struct row row = {.pool = pools[i], .current = 1};
			struct service *service;
			struct tables *tables = serve(image_config(3, "10.99.0.1", BUCKETS), &service);
			uint16_t told, again, count = (uint16_t)strlen(row.pool);
			uint32_t generation = 9;

			load(tables, service, &row, generation);
			assert_int_equal(steer(tables, tag, MOST, &told), VERDICT_TOO_BIG);
			for (row.current = 1; row.current <= count; row.current++)
				for (row.previous = 1; row.previous <= count; row.previous++) {
					if (strchr("xy", row.pool[row.current - 1]) || row.current == row.previous)
						continue;
					load(tables, service, &row, ++generation);
					assert_int_equal(steer(tables, tag, told, &again), VERDICT_SERVICE);
				}
			tables_free(tables);
		}
}

/* Backends that deltas add count at once, and removed ones until a snapshot no longer lists them. */
static void a_pool_that_changes(void **state)
{
	static const struct {
		const char *change; /* letters of backends 3 and up; NULL: a snapshot of the pool "44" */
		uint16_t told;
	} steps[] = {{"", 1436}, {"6", 1344}, {"x", 1344}, {"x4", 1344}, {NULL, 1436}, {"n", 1336}, {NULL, 1436}};
	const struct row row = {.pool = "44", .current = 1};
	struct service *service;
	struct tables *tables = serve(image_config(3, "10.99.0.1", BUCKETS), &service);
	uint32_t generation = 9;
	struct reason why;
	uint16_t told;

	(void)state;
	load(tables, service, &row, generation);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct fl_delta_backend changed[POOL_MAX];
		struct fl_delta_run run = {.start = 0, .count = 1, .current = 1};
		struct delta delta = {.service = 3,
				      .generation = generation + 1,
				      .base = generation,
				      .buckets = BUCKETS,
				      .backends = changed,
				      .runs_count = 1,
				      .runs = &run};

		for (const char *letter = steps[i].change; letter && *letter; letter++) {
			changed[delta.backends_count] = backend(*letter, (uint16_t)(3 + delta.backends_count));
			delta.backends_count++;
		}
		generation++;
		if (steps[i].change)
			assert_int_equal(tables_apply(tables, service, &delta, NULL, &why), 0);
		else
			load(tables, service, &row, generation);
		assert_int_equal(steer(tables, false, MOST, &told), VERDICT_TOO_BIG);
		assert_int_equal(told, steps[i].told);
	}
	tables_free(tables);
}

/* The paper's header has 36 bytes in any case. */
static void the_paper_s_header(void **state)
{
	const struct row row = {.pool = "4n", .current = 1, .previous = 2};
	struct service_config config = image_config(3, "10.99.0.1", BUCKETS);
	struct service *service;
	struct tables *tables;
	uint16_t told = 0;

	(void)state;
	for (unsigned i = 0; encaps[i]; i++)
		if (!strcmp(encaps[i]->name, "ipip"))
			config.encap = encaps[i];
	tables = serve(config, &service);
	load(tables, service, &row, 9);
	assert_int_equal(largest(tables, false, &told), NARROW - 36);
	assert_int_equal(told, NARROW - 36);
	tables_free(tables);
}

/*
 * The mux that collects a datagram's fragments tells nobody that they are too big, so the one that sends them there leaves
 * room for the longest header of any service.
 */
static void fragments_have_room_at_another_mux(void **state)
{
	static const struct {
		const struct encap *encap; /* of a service beside one with gue */
		const char *mux;
		bool tag;
		uint16_t room;
	} ways[] = {
	    {&encap_gue, "10.1.0.12", false, MTU - 64},       {&encap_gue, "10.1.0.12", true, MTU - 72},
	    {&encap_gue, "2001:db8:1::12", false, MTU - 156}, {&encap_ipip, "2001:db8:1::12", true, MTU - 164},
	    {&encap_srv6, "10.1.0.12", false, MTU - 168},     {&encap_srv6, "2001:db8:1::12", true, MTU - 176},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct service_config other = image_config(4, "10.99.0.2", BUCKETS);
		const struct fl_address mux = image_address(ways[i].mux);
		struct flow flow = frame_flow(IPPROTO_TCP);
		const struct fl_siphash_key key = {1, 2};
		const struct tag_keys keys = {key, {key, key}};
		const struct fl_address self = image_address("10.1.0.11"), none = {{0}};
		struct peer peer = {.address = mux};
		struct service *service;
		struct tables *tables = serve(image_config(3, "10.99.0.1", BUCKETS), &service);
		struct next_hop hop;
		struct reason why;

		snprintf(other.name, sizeof(other.name), "other");
		other.encap = ways[i].encap;
		assert_int_equal(tables_add(tables, &other, &service, &why), 0);
		assert_int_equal(tables_set_self(tables, &self, &none, ways[i].tag ? &keys : NULL), 0);
		hop_of(&image_wire, &mux, &hop);
		backend_fill(&peer.line, &encap_gue, 0, &mux, &hop);
		for (uint16_t size = ways[i].room; size <= ways[i].room + 1; size++) {
			struct frame frame = frame_new(&flow, size - 40U);
			struct rte_mbuf *mbuf = frame_wrap(&frame);
			struct packet packet = {.at_ip = FRAME_AT_IP, .ip_len = size};
			enum verdict verdict = mux_to_mux_wrap(tables_lookup(tables), &peer, mbuf, &packet);

			assert_int_equal(verdict, size == ways[i].room ? VERDICT_FRAGMENT_FORWARDED : VERDICT_TOO_BIG);
			assert_true(verdict == VERDICT_FRAGMENT_FORWARDED || packet.mtu == ways[i].room);
			frame_unwrap(mbuf);
		}
		tables_free(tables);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_way_that_a_move_can_take_has_room),
	    cmocka_unit_test(one_answer_is_enough),
	    cmocka_unit_test(a_pool_that_changes),
	    cmocka_unit_test(the_paper_s_header),
	    cmocka_unit_test(fragments_have_room_at_another_mux),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
