/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Millions of random and damaged frames (random_frame.h) through a whole mux: two real workers with their own queues,
 * tables, counters and fragments, ports that are rings of DPDK, a wire and a way to the kernel.
 *
 *	chance -> wire's rings -> worker 0, 1 -> wire's rings    -> check_output.h
 *		  kernel's rings ->           -> kernel's rings  -> the bytes as received
 *
 * Every frame goes to the wire or the kernel, or is freed, and counts under one verdict. Each verdict's counter must
 * equal the frames seen, and no frame or buffer may be lost. Each buffer is poisoned behind its frame: under
 * AddressSanitizer reading a byte there ends the test.
 *
 *	test_random [--packets N] [--seed N]
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <sanitizer/asan_interface.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "encap/encap.h"
#include "host/port.h"
#include "steering/othello/othello.h"
#include "threads/worker.h"
#include "check_output.h"
#include "random_frame.h"

enum {
	WORKERS = 2,
	MBUFS = 4096,
	ROOM = 2304,
	HEADROOM = 128,
	IN_FLIGHT = 1024,
	QUEUE = 4096,
	BUCKETS = 1024,
	BACKENDS = 40,
	BACKEND_REMOVED = 39,
	BACKEND_MUX = 40, /* its address is a mux's */
	PEER_LAST = 12,   /* the last byte of RANDOM_PEER */
	DEADLINE_S = 60,  /* without any progress */
	LONG_AGO = 1000,
	STORM_EVERY = 4096, /* frames: then come many of a kind, more at once than may wait or be answered */
	STORM = 300,
};

static uint64_t packets = 200000, seed = 1;

/* The received frame, in the private area of each buffer. */
struct origin {
	bool from_kernel;
	struct frame frame;
};

struct rack {
	struct rte_mempool *pool;
	struct rte_ring *to[2][WORKERS], *from[2][WORKERS]; /* wire, kernel */
	struct ports ports;
	struct tables *tables;
	struct counters *counters;
	struct worker *workers[WORKERS];
	struct rte_ring *rings[WORKERS];
	struct output_world world;
	uint64_t fed, outputs[OUTPUTS], passed, from_kernel;
};

enum { WIRE, KERNEL };

static const struct fl_siphash_key tag_key = {1, 2};
static const struct options checked = {.check_paths = 3, .spin = OPTIONS_SPIN};

/* By the last digit of a backend's address: 7 is unresolved, 5 has a VLAN, 3 (and the peer mux) an MTU of 600. */
static void hop_of(void *context, const struct fl_address *address, struct next_hop *out)
{
	uint8_t last = address->bytes[15] % 10;

	image_hop(context, address, out);
	if (last == 7)
		*out = (struct next_hop){.resolved = false};
	else if (last == 5)
		out->vlan = 100;
	else if ((last == 3 && address->bytes[15] > 20) || address->bytes[15] == PEER_LAST)
		out->mtu = 600;
}

static uint16_t open_port(struct rack *rack, const char *name, int side)
{
	const struct rte_eth_conf conf = {.rxmode.mq_mode = RTE_ETH_MQ_RX_NONE};
	int port;

	for (unsigned i = 0; i < WORKERS; i++) {
		char text[RTE_RING_NAMESIZE];

		snprintf(text, sizeof(text), "%s to %u", name, i);
		rack->to[side][i] = rte_ring_create(text, QUEUE, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
		snprintf(text, sizeof(text), "%s from %u", name, i);
		rack->from[side][i] = rte_ring_create(text, QUEUE, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
		assert_true(rack->to[side][i] && rack->from[side][i]);
	}
	port = rte_eth_from_rings(name, rack->to[side], WORKERS, rack->from[side], WORKERS, 0);
	assert_true(port >= 0);
	assert_int_equal(rte_eth_dev_configure((uint16_t)port, WORKERS, WORKERS, &conf), 0);
	for (uint16_t i = 0; i < WORKERS; i++) {
		assert_int_equal(rte_eth_rx_queue_setup((uint16_t)port, i, QUEUE, 0, NULL, rack->pool), 0);
		assert_int_equal(rte_eth_tx_queue_setup((uint16_t)port, i, QUEUE, 0, NULL), 0);
	}
	assert_int_equal(rte_eth_dev_start((uint16_t)port), 0);
	return (uint16_t)port;
}

/* A third of the buckets moved recently, a third long ago, a few have no backend; some backends have IPv6. */
static void load(struct tables *tables, struct service_config config, bool mixed)
{
	struct delta snapshot = image_snapshot(config.id, config.id + 10U, config.buckets, BACKENDS);
	struct service *service;
	struct reason why = {{0}};

	for (uint32_t i = 0; i < config.buckets; i++) {
		if (snapshot.image.current[i] == BACKEND_REMOVED || i % 50 == 9)
			image_own(&snapshot, i, FL_BACKEND_NONE);
		image_was(&snapshot, i, i % 3 ? (uint16_t)(1 + (i + 7) % BACKENDS) : FL_BACKEND_NONE,
			  i % 3 == 1 ? (uint32_t)time(NULL) : LONG_AGO * (i % 3));
	}
	snapshot.backends[BACKEND_REMOVED - 1].flags = FL_BACKEND_REMOVED;
	for (uint32_t i = 0; mixed && i < BACKENDS; i += 2) {
		snapshot.backends[i].address = image_address("2001:db8:1::");
		snapshot.backends[i].address.bytes[15] = (uint8_t)(i + 21);
	}
	snapshot.backends[BACKEND_MUX - 1].address = image_address(RANDOM_PEER);
	snapshot.image.closed_until = config.id > 1; /* the first one has a hold */
	if (tables_add(tables, &config, &service, &why) || tables_load(tables, service, &snapshot, NULL, &why))
		fail_msg("%s", why.text);
	image_free(&snapshot);
}

/* A service for each VIP, with every kind of setting. */
static void serve(struct tables *tables)
{
	struct service_config config;
	struct service *service;
	struct reason why;

	for (uint16_t id = 1; id <= RANDOM_VIPS; id++) {
		config = image_config(id, random_vips[id - 1], BUCKETS);
		snprintf(config.name, sizeof(config.name), "service%u", id);
		config.window = 100000;
		config.ports_count = 3;
		config.ports[1] = (struct service_port){IPPROTO_UDP, 443};
		config.ports[2] = (struct service_port){IPPROTO_UDP, 53};
		switch (id) {
		case 1:
			config.vips_count = 2;
			config.vips[1] = image_address(random_vips6[0]);
			config.mptcp = (struct mptcp_ports){20000, 20060};
			config.quic = (struct quic_server_id){.offset = 1, .length = 1};
			config.mss = 1200;
			break;
		case 2:
			config.hash = FL_HASH_CRC32;
			config.affinity = AFFINITY_CLIENT;
			config.mss = 600;
			config.stateless_udp = true;
			break;
		case 3:
			config.encap = &encap_ipip;
			break;
		case 4:
			config.ports_count = 1;
			config.steering = &steering_othello;
			break;
		case 5: /* has no ring */
			assert_int_equal(tables_add(tables, &config, &service, &why), 0);
			continue;
		}
		load(tables, config, id == 1 || id == 2);
	}
	tables_close_windows(tables, (uint32_t)time(NULL));
}

static void open_rack(struct rack *rack)
{
	static struct next_hop wire;
	static const struct next_hops hops = {.context = &wire, .lookup = hop_of};
	const struct fl_address self = image_address(RANDOM_SELF), self6 = image_address(RANDOM_SELF6);
	const struct fl_address muxes[] = {image_address(RANDOM_PEER), image_address(RANDOM_PEER6)};
	static struct beat beats[WORKERS];
	struct worker_place place = {.workers = WORKERS, .options = &checked, .tag_key = &tag_key, .beats = beats};
	struct port *port = &rack->ports.port[0];
	struct reason why = {""};

	rack->pool =
	    rte_pktmbuf_pool_create("packets", MBUFS, 0, (sizeof(struct origin) + 7) & ~7U, ROOM, SOCKET_ID_ANY);
	assert_non_null(rack->pool);
	wire = image_wire;
	*port = (struct port){.kind = PORT_RAW, .mtu = wire.mtu, .mac = mac_word(frame_mac)};
	port->id = open_port(rack, "wire", WIRE);
	port->exception = open_port(rack, "kernel", KERNEL);
	rack->ports.count = 1;
	wire.port = (uint8_t)port->id;
	rack->tables = tables_new(WORKERS, &hops);
	rack->counters = counters_new(WORKERS);
	assert_true(rack->tables && rack->counters);
	assert_int_equal(tables_set_self(rack->tables, &self, &self6, &(struct tag_keys){tag_key, {tag_key, tag_key}}),
			 0);
	assert_int_equal(tables_set_peers(rack->tables, muxes, 2), 0);
	rack->tables->options = &checked;
	serve(rack->tables);
	rack->world = (struct output_world){
	    .tables = rack->tables, .hops = &hops, .tag_key = &tag_key, .now = (uint32_t)time(NULL)};
	place.tables = rack->tables;
	place.ports = &rack->ports;
	place.counters = rack->counters;
	place.rings = rack->rings;
	assert_int_equal(worker_rings(rack->rings, WORKERS, &why), 0);
	for (unsigned i = 0; i < WORKERS; i++)
		assert_int_equal(worker_start(&rack->workers[i], i, &place, &why), 0);
}

static struct origin *origin_of(struct rte_mbuf *mbuf)
{
	return rte_mbuf_to_priv(mbuf);
}

static struct rte_mbuf *take_mbuf(struct rack *rack)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(rack->pool);

	assert_non_null(mbuf);
	ASAN_UNPOISON_MEMORY_REGION(mbuf->buf_addr, mbuf->buf_len);
	return mbuf;
}

static void fill(struct rte_mbuf *mbuf, const uint8_t *bytes, uint32_t len)
{
	uint8_t *at = rte_pktmbuf_mtod(mbuf, uint8_t *);

	memcpy(at, bytes, len);
	mbuf->data_len = (uint16_t)len;
	ASAN_POISON_MEMORY_REGION(at + len, mbuf->buf_len - mbuf->data_off - len);
}

/* A frame in a buffer; some have little headroom, some are in two buffers. */
static struct rte_mbuf *make(struct rack *rack, struct chance *chance)
{
	struct rte_mbuf *mbuf = take_mbuf(rack), *second;
	struct origin *origin = origin_of(mbuf);
	uint32_t first;

	if (rack->fed % STORM_EVERY < STORM)
		random_storm(chance, (uint32_t)(rack->fed / STORM_EVERY), &origin->frame);
	else
		random_frame(chance, &origin->frame);
	origin->from_kernel = !chance_below(chance, 50);
	first = origin->frame.len;
	mbuf->data_off = HEADROOM;
	if (!chance_below(chance, 20))
		mbuf->data_off = (uint16_t)chance_below(chance, HEADROOM + 1);
	if (!chance_below(chance, 30))
		first = chance_below(chance, first + 1);
	fill(mbuf, origin->frame.bytes, first);
	mbuf->pkt_len = origin->frame.len;
	if (first < origin->frame.len) {
		second = take_mbuf(rack);
		fill(second, origin->frame.bytes + first, origin->frame.len - first);
		mbuf->next = second;
		mbuf->nb_segs = 2;
	}
	return mbuf;
}

static void feed(struct rack *rack, struct chance *chance)
{
	struct rte_mbuf *mbuf = make(rack, chance);
	bool from_kernel = origin_of(mbuf)->from_kernel;

	rack->fed++;
	rack->from_kernel += from_kernel;
	assert_int_equal(rte_ring_enqueue(rack->to[from_kernel ? KERNEL : WIRE][chance_below(chance, WORKERS)], mbuf),
			 0);
}

/* The sent frame, in one buffer. */
static const uint8_t *linear(const struct rte_mbuf *mbuf)
{
	static uint8_t copy[FRAME_MAX];

	return rte_pktmbuf_read(mbuf, 0, mbuf->pkt_len, copy);
}

static void dump(const char *title, const uint8_t *bytes, uint32_t len)
{
	fprintf(stderr, "%s:", title);
	for (uint32_t i = 0; i < len && i < 200; i++)
		fprintf(stderr, " %02x", bytes[i]);
	fprintf(stderr, "\n");
}

static void complain(const struct rack *rack, struct rte_mbuf *mbuf, const char *complaint)
{
	dump("came", origin_of(mbuf)->frame.bytes, origin_of(mbuf)->frame.len);
	dump("left", linear(mbuf), mbuf->pkt_len);
	fail_msg("of %lu frames, seed %lu: %s", (unsigned long)rack->fed, (unsigned long)seed, complaint);
}

static bool is_unchanged(struct rte_mbuf *mbuf)
{
	const struct frame *frame = &origin_of(mbuf)->frame;

	return mbuf->pkt_len == frame->len && !memcmp(linear(mbuf), frame->bytes, frame->len);
}

static void take_from_wire(struct rack *rack, struct rte_mbuf *mbuf)
{
	const struct origin *origin = origin_of(mbuf);
	const char *complaint;
	int kind;

	if (origin->from_kernel) {
		if (!is_unchanged(mbuf))
			complain(rack, mbuf, "what the kernel sent was changed");
		rack->from_kernel--;
		return;
	}
	if (mbuf->nb_segs != 1 || mbuf->data_len != mbuf->pkt_len)
		complain(rack, mbuf, "not in one buffer");
	kind = check_output(&rack->world, &origin->frame, rte_pktmbuf_mtod(mbuf, const uint8_t *), mbuf->data_len,
			    &complaint);
	if (kind < 0)
		complain(rack, mbuf, complaint);
	rack->outputs[kind]++;
}

static void take_from_kernel(struct rack *rack, struct rte_mbuf *mbuf)
{
	if (origin_of(mbuf)->from_kernel || !is_unchanged(mbuf))
		complain(rack, mbuf, "the kernel got a frame that was not received so");
	if (rte_pktmbuf_data_len(mbuf) == mbuf->pkt_len && check_is_ours(&rack->world, &origin_of(mbuf)->frame))
		complain(rack, mbuf, "the kernel got a frame for a VIP");
	rack->passed++;
}

/* Checks all frames sent so far. */
static void drain(struct rack *rack)
{
	struct rte_mbuf *mbufs[64];

	for (int side = WIRE; side <= KERNEL; side++)
		for (unsigned i = 0; i < WORKERS; i++) {
			unsigned n = rte_ring_dequeue_burst(rack->from[side][i], (void **)mbufs, 64, NULL);

			for (unsigned j = 0; j < n; j++) {
				(side == WIRE ? take_from_wire : take_from_kernel)(rack, mbufs[j]);
				rte_pktmbuf_free(mbufs[j]);
			}
		}
}

static uint64_t counted(const struct rack *rack)
{
	uint64_t sum = 0;

	for (unsigned v = 0; v < VERDICTS; v++)
		sum += counters_packets(rack->counters, v);
	return sum;
}

/* Waits until at most this many are in flight. */
static void wait_for(struct rack *rack, uint64_t under_way)
{
	uint64_t last = counted(rack);
	time_t begin = time(NULL);

	for (;;) {
		uint64_t now;

		drain(rack);
		now = counted(rack);
		if (rack->fed - now <= under_way)
			return;
		if (now != last)
			begin = time(NULL);
		if (time(NULL) - begin > DEADLINE_S)
			fail_msg("%lu of %lu frames are not counted, seed %lu", (unsigned long)(rack->fed - now),
				 (unsigned long)rack->fed, (unsigned long)seed);
		last = now;
		sched_yield();
	}
}

static uint64_t buffers_out(const struct rack *rack)
{
	return rte_mempool_in_use_count(rack->pool);
}

static uint64_t plain_counted(const struct rack *rack, const char *metric)
{
	for (unsigned i = 0; i < plain_counters_count; i++)
		if (!strcmp(plain_counters[i].metric, metric))
			return counters_plain(rack->counters, &plain_counters[i]);
	fail_msg("there is no counter %s", metric);
	return 0;
}

static void check_counts(const struct rack *rack)
{
	const struct counters *c = rack->counters;
	uint64_t dropped = 0, served = 0, service_drops[VERDICTS] = {0};

	for (unsigned v = 0; v < VERDICTS; v++) {
		printf("# %-20s %lu\n", verdict_name(v), (unsigned long)counters_packets(c, v));
		if (verdict_is_drop(v))
			dropped += counters_packets(c, v);
		if (v != VERDICT_PORT_FULL && v != VERDICT_EXCEPTION_FULL && !counters_packets(c, v))
			fail_msg("no frame met %s: the random frames have changed", verdict_name(v));
	}
	assert_int_equal(counters_packets(c, VERDICT_PORT_FULL) + counters_packets(c, VERDICT_EXCEPTION_FULL), 0);
	assert_int_equal(counters_packets(c, VERDICT_SERVICE), rack->outputs[OUTPUT_STEERED]);
	assert_int_equal(counters_packets(c, VERDICT_FRAGMENT_FORWARDED), rack->outputs[OUTPUT_FORWARDED]);
	assert_int_equal(counters_packets(c, VERDICT_ECHO), rack->outputs[OUTPUT_ECHO]);
	assert_int_equal(counters_packets(c, VERDICT_TOO_BIG), rack->outputs[OUTPUT_TOO_BIG]);
	assert_int_equal(counters_packets(c, VERDICT_NOT_OURS), rack->passed);
	assert_int_equal(rack->from_kernel, 0);
	for (uint32_t i = 0; i < rack->tables->registry.count; i++) {
		const struct service *s = rack->tables->registry.services[i];

		served += counters_service_packets(c, s);
		for (unsigned v = 0; v < VERDICTS; v++)
			if (verdict_is_service_drop(v))
				service_drops[v] += counters_service_drops(c, s, v);
	}
	assert_int_equal(served, counters_packets(c, VERDICT_SERVICE));
	for (unsigned v = 0; v < VERDICTS; v++)
		assert_true(service_drops[v] <= counters_packets(c, v));
	assert_true(dropped > 0 && dropped < rack->fed);
	assert_true(plain_counted(rack, "path_checked_packets_total") > rack->fed / 10);
	assert_int_equal(plain_counted(rack, "path_differences_total"), 0);
}

static void close_rack(struct rack *rack)
{
	for (unsigned i = 0; i < WORKERS; i++)
		worker_stop(rack->workers[i]);
	tables_free(rack->tables);
	counters_free(rack->counters);
	rte_eth_dev_stop(rack->ports.port[0].id);
	rte_eth_dev_stop(rack->ports.port[0].exception);
}

/* From now on hardly a packet of one service passes. Not from the beginning: with a budget bursts are not brief. */
static void set_budget(struct rack *rack)
{
	struct service *service = registry_find(&rack->tables->registry, "service3");
	struct service_config config = service->config;
	struct reason why;

	config.packets_per_second = 1;
	assert_int_equal(tables_change(rack->tables, service, &config, &why), 0);
}

static void every_frame_has_one_verdict(void **state)
{
	static struct rack rack;
	struct chance chance = {seed};
	time_t begin = time(NULL);
	bool has_budget = false;

	(void)state;
	open_rack(&rack);
	while (rack.fed < packets) {
		for (int i = 0; i < 64 && rack.fed < packets; i++)
			feed(&rack, &chance);
		wait_for(&rack, IN_FLIGHT);
		if (!has_budget && rack.fed >= packets / 10 * 9) {
			set_budget(&rack);
			has_budget = true;
		}
	}
	wait_for(&rack, 0);
	for (uint64_t left = UINT64_MAX; left != buffers_out(&rack);) { /* counted before they are freed or sent */
		left = buffers_out(&rack);
		drain(&rack);
	}
	printf("# %lu frames of seed %lu in %ld s\n", (unsigned long)rack.fed, (unsigned long)seed,
	       (long)(time(NULL) - begin));
	check_counts(&rack);
	close_rack(&rack);
	assert_int_equal(buffers_out(&rack), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_frame_has_one_verdict)};
	static struct options options = {.memory = 128, .no_huge = true, .workers = WORKERS};
	struct reason why = {{0}};
	int failed;

	for (int i = 1; i + 1 < argc; i += 2)
		*(strcmp(argv[i], "--seed") ? &packets : &seed) = strtoull(argv[i + 1], NULL, 10);
	if (!packets || !seed || argc % 2 == 0) {
		fprintf(stderr, "usage: test_random [--packets N] [--seed N], neither 0\n");
		return 2;
	}
	if (ports_environment(&options, &why)) {
		fprintf(stderr, "%s\n", why.text);
		return 1;
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	if (failed) { /* workers still run: their memory stays */
		fflush(NULL);
		_exit(1);
	}
	rte_eal_cleanup();
	return 0;
}
