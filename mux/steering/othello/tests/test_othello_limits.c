/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steering othello: which packets fit with a second bucket, and what size senders of others are told; which
 * configurations are refused; and arrays that change while packets are steered.
 */
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>

#include <rte_rcu_qsbr.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "encap/gue.h"
#include "packet/burst.h"
#include "service/tables.h"
#include "steering/othello/arrays.h"
#include "steering/othello/othello.h"
#include "steering/othello/pair.h"
#include "tests/frame.h"
#include "tests/image.h"
#include "tests/sent.h"

enum { NOW = 1700000100, MTU = 1500, TAILROOM = 64 };

static const struct fl_siphash_key tag_key = {11, 12};

/* Arrays that give every packet the same bucket. */
static struct othello_arrays *constant(uint32_t generation, uint32_t bucket)
{
	struct chance chance = {generation + 1};
	struct othello_arrays *arrays = image_arrays(&chance, generation, 1, 1, FL_HASH_SIPHASH, 256);

	image_set_cell(arrays, 1, othello_arrays_cell(arrays, 0) ^ bucket);
	return arrays;
}

static struct service *serve_one(struct tables *tables)
{
	struct service_config config = image_config(3, "10.99.0.1", 256);
	struct service *service;
	struct reason why = {{0}};

	config.steering = &steering_othello;
	if (tables_add(tables, &config, &service, &why))
		fail_msg("%s", why.text);
	return service;
}

/*
 * A pool, one letter for each backend, by the family of its address. All packets have bucket 0, which belongs to c1 and
 * came from p1, and the second bucket 1, with c2 and p2; 0: none. A server is named once.
 */
static const struct size {
	const char *pool;
	uint16_t c1, p1, c2, p2;
	bool tag;
	uint16_t fits; /* the largest IP packet that is sent */
	uint16_t told; /* the size that senders of larger ones are told: with the longest list */
} sizes[] = {
    {"44", 1, 0, 0, 0, false, 1460, 1436},  {"44", 1, 0, 2, 0, false, 1456, 1436},
    {"44", 1, 2, 2, 0, false, 1456, 1436},  {"44", 1, 0, 0, 2, false, 1456, 1436},
    {"444", 1, 3, 2, 0, false, 1452, 1436}, {"44", 1, 2, 2, 1, true, 1448, 1428},
    {"44", 1, 0, 0, 0, true, 1452, 1428},   {"66", 1, 0, 0, 0, false, 1440, 1344},
    {"66", 1, 2, 2, 1, false, 1424, 1344},  {"66", 1, 2, 2, 1, true, 1416, 1336},
    {"46", 1, 0, 1, 0, false, 1460, 1344},  {"46", 2, 0, 1, 2, false, 1424, 1344},
    {"46", 1, 2, 2, 0, true, 1416, 1336},   {"444", 1, 2, 0, 3, false, 1452, 1436},
};

static void load_size(struct tables *tables, struct service *service, const struct size *row, uint32_t generation)
{
	struct delta snapshot = image_snapshot(3, generation, 256, (uint16_t)strlen(row->pool));
	struct othello_pair *pair = othello_pair_new(constant(generation, 0), constant(1, 1), false);
	struct reason why = {{0}};

	for (uint32_t i = 0; i < snapshot.backends_count; i++)
		if (row->pool[i] == '6') {
			snapshot.backends[i].address = image_address("2001:db8:1::");
			snapshot.backends[i].address.bytes[15] = (uint8_t)(i + 21);
		}
	image_own(&snapshot, 0, row->c1);
	image_was(&snapshot, 0, row->p1, NOW - 10);
	image_own(&snapshot, 1, row->c2);
	image_was(&snapshot, 1, row->p2, NOW - 10);
	if (tables_load(tables, service, &snapshot, pair, &why))
		fail_msg("%s", why.text);
	image_free(&snapshot);
}

/* The verdict on an IP packet of this size, which has to carry what the row says. */
static enum verdict steer_size(const struct tables *tables, const struct size *row, uint32_t size, uint16_t *told)
{
	struct flow flow = frame_flow(IPPROTO_TCP);
	struct frame frame = frame_new(&flow, size - 40);
	struct burst burst = {.lookup = tables_lookup(tables),

			      .tag_flags = tag_key_flags(row->tag ? &tag_key : NULL),
			      .mac = mac_word(frame_mac),
			      .now = NOW,
			      .count = 1,
			      .mbufs = {frame_wrap_with(&frame, TAILROOM)}};

	burst_steer(&burst);
	*told = burst.packets[0].verdict == VERDICT_TOO_BIG ? burst.packets[0].mtu : 0;
	if (burst.packets[0].verdict == VERDICT_SERVICE)
		assert_int_equal(burst.second, row->c2 && row->c2 != row->c1);
	frame_unwrap(burst.mbufs[0]);
	return burst.packets[0].verdict;
}

static void what_is_sent_fits_wherever_it_may_go(void **state)
{
	struct next_hop wire = image_wire;
	const struct next_hops wires = {.context = &wire, .lookup = image_hop};
	struct tables *tables;
	struct service *service;
	uint16_t told;

	(void)state;
	wire.mtu = MTU;
	tables = tables_new(1, &wires);
	service = serve_one(tables);
	for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		load_size(tables, service, &sizes[i], i + 2);
		if (steer_size(tables, &sizes[i], sizes[i].fits, &told) != VERDICT_SERVICE)
			fail_msg("row %u: %u bytes do not fit", i, sizes[i].fits);
		if (steer_size(tables, &sizes[i], sizes[i].fits + 1U, &told) != VERDICT_TOO_BIG)
			fail_msg("row %u: %u bytes fit", i, sizes[i].fits + 1);
		assert_int_equal(told, sizes[i].told);
	}
	tables_free(tables);
}

static void use_udp(struct service_config *config)
{
	config->ports[config->ports_count++] = (struct service_port){IPPROTO_UDP, 443};
}

static void use_many(struct service_config *config)
{
	config->buckets = 131072;
}

static void use_ipip(struct service_config *config)
{
	config->encap = &encap_ipip;
}

static void use_hold(struct service_config *config)
{
	config->hold = 3600;
}

static void use_quic(struct service_config *config)
{
	config->quic = (struct quic_server_id){1, 2};
}

static void use_stateless(struct service_config *config)
{
	config->stateless_udp = true;
}

static void use_nothing(struct service_config *config)
{
	config->buckets = 65536;
	config->mptcp = (struct mptcp_ports){20000, 20010};
	config->mss = 1300;
	config->hash = FL_HASH_CRC32;
	config->affinity = AFFINITY_CLIENT;
}

static const struct refusal_row {
	void (*use)(struct service_config *config);
	bool later; /* it may change during a service's life, and is refused then, too */
	const char *why;
} refusals[] = {
    {use_nothing, false, NULL},
    {use_udp, true, "ports[1]: service web has udp:443; allowed with steering othello: tcp"},
    {use_many, false, "buckets: service web has 131072; allowed with steering othello: 256..65536"},
    {use_ipip, false, "encap: service web has 'ipip'; allowed with steering othello: gue"},
    {use_hold, true, "holdSeconds: service web has 3600; allowed with steering othello: none"},
    {use_quic, true, "quicServerId: service web has offset 1, length 2; allowed with steering othello: none"},
    {use_stateless, true, "statelessUdp: service web has true; allowed with steering othello: false"},
};

static void what_it_cannot_serve_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		struct tables *tables = tables_new(1, &image_hops);
		struct service_config config = image_config(3, "10.99.0.1", 256), changed;
		struct service *service;
		struct reason why = {{0}};

		config.steering = &steering_othello;
		changed = config;
		refusals[i].use(&changed);
		assert_int_equal(tables_add(tables, &changed, &service, &why), refusals[i].why ? -EINVAL : 0);
		assert_string_equal(why.text, refusals[i].why ? refusals[i].why : "");
		if (refusals[i].later) {
			why.text[0] = 0;
			assert_int_equal(tables_add(tables, &config, &service, &why), 0);
			assert_int_equal(tables_change(tables, service, &changed, &why), -EINVAL);
			assert_string_equal(why.text, refusals[i].why);
		}
		tables_free(tables);
	}
}

/* A worker that steers all the time, while arrays of generation g give each packet the bucket g. */
struct steerer {
	struct tables *tables;
	bool stop; /* atomic */
	uint64_t seen, newer;
	const char *complaint;
};

static const char *check_generation(struct steerer *steerer, const struct rte_mbuf *mbuf, const struct packet *packet)
{
	struct sent sent;

	if (!sent_read(mbuf, &sent))
		return "a header that servers reject";
	if (sent.list.count != 1 || packet->second != ((packet->bucket - 1) & 255))
		return "two buckets of different pairs";
	if (((packet->bucket - sent.list.generation) & 255) > 127)
		return "a generation newer than the arrays";
	steerer->newer += packet->bucket != (sent.list.generation & 255);
	steerer->seen++;
	return NULL;
}

static void *steer_on(void *argument)
{
	struct steerer *steerer = argument;
	struct rte_rcu_qsbr *rcu = tables_rcu(steerer->tables);
	struct flow flow = frame_flow(IPPROTO_TCP);
	struct frame frame = frame_new(&flow, 10);

	while (!__atomic_load_n(&steerer->stop, __ATOMIC_RELAXED) && !steerer->complaint) {
		struct burst burst = {.lookup = tables_lookup(steerer->tables),

				      .mac = mac_word(frame_mac),
				      .now = NOW,
				      .count = BURST_MAX};

		for (uint32_t i = 0; i < BURST_MAX; i++)
			burst.mbufs[i] = frame_wrap(&frame);
		burst_steer(&burst);
		for (uint32_t i = 0; i < BURST_MAX; i++) {
			if (!steerer->complaint)
				steerer->complaint = check_generation(steerer, burst.mbufs[i], &burst.packets[i]);
			frame_unwrap(burst.mbufs[i]);
		}
		rte_rcu_qsbr_quiescent(rcu, 0);
	}
	rte_rcu_qsbr_thread_offline(rcu, 0);
	return NULL;
}

/* Each generation has new arrays, by a delta or, every tenth time, by a snapshot. */
static void no_packet_is_newer_than_its_arrays(void **state)
{
	enum { GENERATIONS = 3000 };
	struct steerer steerer = {.tables = tables_new(1, &image_hops)};
	struct service *service = serve_one(steerer.tables);
	struct delta delta = {.service = 3, .buckets = 256, .committed = NOW}, snapshot = image_snapshot(3, 1, 256, 2);
	struct othello_arrays *last = constant(0, 0);
	struct rte_rcu_qsbr *rcu = tables_rcu(steerer.tables);
	struct reason why = {{0}};
	pthread_t thread;

	(void)state;
	for (uint32_t g = 1; g <= GENERATIONS; g++) {
		struct othello_arrays *newest = constant(g, g & 255);
		struct othello_pair *pair = othello_pair_new(othello_arrays_keep(newest), last, false);

		last = newest;
		delta.base = g - 1;
		delta.generation = snapshot.generation = g;
		if (g % 10 == 1 ? tables_load(steerer.tables, service, &snapshot, pair, &why)
				: tables_apply(steerer.tables, service, &delta, pair, &why))
			fail_msg("%s", why.text);
		if (g > 1)
			continue;
		rte_rcu_qsbr_thread_register(rcu, 0);
		rte_rcu_qsbr_thread_online(rcu, 0);
		assert_int_equal(pthread_create(&thread, NULL, steer_on, &steerer), 0);
	}
	__atomic_store_n(&steerer.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	rte_rcu_qsbr_thread_unregister(rcu, 0);
	if (steerer.complaint)
		fail_msg("after %lu packets: %s", (unsigned long)steerer.seen, steerer.complaint);
	assert_true(steerer.seen > GENERATIONS);
	othello_arrays_free(last);
	image_free(&snapshot);
	tables_free(steerer.tables);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_sent_fits_wherever_it_may_go),
	    cmocka_unit_test(what_it_cannot_serve_is_refused),
	    cmocka_unit_test(no_packet_is_newer_than_its_arrays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
