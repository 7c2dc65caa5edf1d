/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets through all stages: explain says where they go, every outcome has its verdict, and a reader that steers while
 * the ring, its backends and the whole lookup are changed never sees anything that did not exist.
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

#include "../backend.h"
#include "../burst.h"
#include "../encap.h"
#include "../hash.h"
#include "../tables.h"
#include "frame.h"
#include "image.h"

enum {
	BUCKETS = 4096,
	BACKENDS = 50,
	FLOWS = 1000,
	NOW = 1700000100,
	CHANGES = 1000,
	FIRST_ID_PORT = 20000,
	ROTATION = 13, /* backends of the test under change */
	AHEAD = 3,     /* generations that can pass while a reader holds on: two more, then the writer waits for it */
};

static struct next_hop hop;
static const struct next_hops hops = {.context = &hop, .lookup = image_hop};

static int set_up(void **state)
{
	(void)state;
	hop = (struct next_hop){
	    .resolved = true, .port = 2, .mtu = 1600, .source_mac = {2, 0, 0, 0, 0, 1}, .source = {10, 1, 0, 11}};
	return 0;
}

static struct flow random_flow(struct chance *chance)
{
	struct flow flow = frame_flow(IPPROTO_TCP);

	fl_store_be32(flow.source.bytes + 12, 0x0b000000 | (uint32_t)chance_next(chance) >> 8);
	flow.source_port = (uint16_t)(1 + chance_below(chance, 65535));
	return flow;
}

/* A service with a loaded ring of which a third has moved lately, a third long ago. */
static struct service *serve(struct tables *tables, struct service_config config)
{
	struct delta snapshot = image_snapshot(config.id, 9, config.buckets, BACKENDS);
	struct service *service;
	struct why why = {{0}};

	for (uint32_t i = 0; i < config.buckets; i++)
		if (i % 3) {
			snapshot.previous[i] = (uint16_t)(1 + (i + 7) % BACKENDS);
			snapshot.since[i] = i % 3 == 1 ? NOW - 10 : NOW - 1000;
		}
	if (tables_add(tables, &config, &service, &why) || tables_load(tables, service, &snapshot, &why))
		fail_msg("%s", why.text);
	image_free(&snapshot);
	return service;
}

/* Steers one frame; the mbuf is the caller's to unwrap. */
static enum verdict steer(const struct tables *tables, const struct frame *frame, struct rte_mbuf **mbuf,
			  struct burst *burst)
{
	*mbuf = frame_wrap(frame);
	burst->lookup = tables_lookup(tables);
	burst->mac = mac_word(frame_mac);
	burst->now = NOW;
	burst->count = 1;
	burst->mbufs[0] = *mbuf;
	burst_steer(burst);
	return burst->packets[0].verdict;
}

static void check_flow(const struct tables *tables, const struct service *service, const struct flow *flow)
{
	struct frame frame = frame_new(flow, 33);
	const uint8_t *out;
	struct explanation why;
	struct rte_mbuf *mbuf;
	struct fl_steer header;
	struct burst burst;

	assert_int_equal(service_explain(service, flow, NOW, &why), 0);
	assert_int_equal(steer(tables, &frame, &mbuf, &burst), VERDICT_SERVICE);
	out = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	assert_int_equal(burst.packets[0].port, 2);
	assert_memory_equal(out + ENCAP_AT_IP + 16, why.current_address.bytes + 12, 4);
	assert_int_equal(fl_load_be16(out + ENCAP_AT_UDP), fl_outer_source_port(why.hash));
	assert_int_equal(fl_steer_parse(out + ENCAP_AT_GUE, out + mbuf->data_len, &header), FL_STEER_OK);
	assert_int_equal(header.bucket, why.bucket);
	assert_int_equal(header.generation, why.generation);
	assert_int_equal(header.service, service->id);
	assert_int_equal(!!(header.flags & FL_STEER_MOVED), why.moved);
	assert_int_equal(burst.moved, why.moved);
	assert_int_equal(burst.bytes, frame.len);
	if (why.moved) {
		assert_int_equal(header.since, why.since);
		assert_memory_equal(&header.previous, &why.previous_address, sizeof(header.previous));
	}
	/* the inner packet is untouched, and nothing follows it */
	assert_int_equal(mbuf->data_len, ENCAP_AT_GUE + header.header_len + frame.len - FRAME_AT_IP);
	assert_int_equal(mbuf->pkt_len, mbuf->data_len);
	assert_memory_equal(out + ENCAP_AT_GUE + header.header_len, frame.bytes + FRAME_AT_IP, frame.len - FRAME_AT_IP);
	frame_unwrap(mbuf);
}

static void explain_says_where_1000_flows_go(void **state)
{
	struct chance chance = {20261120};

	(void)state;
	for (enum fl_hash_kind hash = FL_HASH_SIPHASH; hash <= FL_HASH_CRC32; hash++)
		for (enum affinity affinity = AFFINITY_CONNECTION; affinity <= AFFINITY_CLIENT; affinity++) {
			struct tables *tables = tables_new(1, &hops);
			struct service_config config = image_config(3, "10.99.0.1", BUCKETS);
			struct service *service;

			config.hash = hash;
			config.affinity = affinity;
			service = serve(tables, config);
			for (int i = 0; i < FLOWS; i++) {
				struct flow flow = random_flow(&chance);

				check_flow(tables, service, &flow);
			}
			tables_free(tables);
		}
}

/* The packet path hashes words, everybody else the bytes of protocol/README.md. */
static void hashes_equal_the_protocol_s(void **state)
{
	struct chance chance = {20261120};

	(void)state;
	for (int i = 0; i < 100000; i++) {
		uint8_t key[16] = {0};
		uint64_t words[2];
		struct service service = {.key = {chance_next(&chance), chance_next(&chance)}};

		for (int b = 0; b < FL_KEY_IPV4_LEN; b++)
			key[b] = (uint8_t)(chance_next(&chance) >> 24);
		memcpy(words, key, sizeof(words));
		for (int kind = FL_HASH_SIPHASH; kind <= FL_HASH_CRC32; kind++) {
			service.hash = (uint8_t)kind;
			service.affinity = AFFINITY_CONNECTION;
			assert_int_equal(hash_connection(&service, words),
					 fl_flow_hash(kind, &service.key, key, FL_KEY_IPV4_LEN));
			service.affinity = AFFINITY_CLIENT;
			assert_int_equal(hash_connection(&service, words), fl_flow_hash(kind, &service.key, key, 8));
		}
	}
}

static enum verdict steer_to_port(const struct tables *tables, uint16_t port)
{
	struct flow flow = frame_flow(IPPROTO_TCP);
	struct frame frame;
	struct rte_mbuf *mbuf;
	struct burst burst;
	enum verdict verdict;

	flow.destination_port = port;
	frame = frame_new(&flow, 0);
	verdict = steer(tables, &frame, &mbuf, &burst);
	frame_unwrap(mbuf);
	return verdict;
}

/* Backend 7 is removed: buckets may still name it, ports no longer. */
static void remove_backend(struct tables *tables, struct service *service, const struct delta *snapshot)
{
	struct fl_delta_backend removed = {7, FL_BACKEND_REMOVED, 0, snapshot->backends[6].address};
	struct delta delta = image_move(snapshot, 10, 0, BUCKETS, 1, 7, NOW);
	struct why why = {{0}};

	delta.backends_count = 1;
	delta.backends = &removed;
	if (tables_apply(tables, service, &delta, &why))
		fail_msg("%s", why.text);
	delta.backends = NULL;
	image_free(&delta);
}

static void a_port_names_its_backend(void **state)
{
	struct service_config config = image_config(3, "10.99.0.1", BUCKETS);
	struct tables *tables = tables_new(1, &hops);
	struct delta snapshot = image_snapshot(3, 9, BUCKETS, BACKENDS);
	struct flow flow = frame_flow(IPPROTO_TCP);
	struct chance chance = {20261120};
	struct service *service;
	struct explanation why;

	(void)state;
	config.mptcp = (struct mptcp_ports){FIRST_ID_PORT, FIRST_ID_PORT + 999};
	service = serve(tables, config);
	for (uint16_t id = 1; id <= BACKENDS; id++) {
		struct flow random = random_flow(&chance);

		random.destination_port = (uint16_t)(FIRST_ID_PORT + id);
		assert_int_equal(service_explain(service, &random, NOW, &why), 0);
		assert_int_equal(why.current, id);
		assert_int_equal(why.bucket, FL_STEER_BUCKET_NONE);
		assert_false(why.moved);
		check_flow(tables, service, &random);
	}
	assert_int_equal(steer_to_port(tables, FIRST_ID_PORT), VERDICT_NO_BACKEND_ID);
	assert_int_equal(steer_to_port(tables, FIRST_ID_PORT + BACKENDS + 1), VERDICT_NO_BACKEND_ID);
	assert_int_equal(steer_to_port(tables, FIRST_ID_PORT + 999), VERDICT_NO_BACKEND_ID);
	assert_int_equal(steer_to_port(tables, FIRST_ID_PORT + 1000), VERDICT_NO_SERVICE_PORT);

	remove_backend(tables, service, &snapshot);
	assert_int_equal(steer_to_port(tables, FIRST_ID_PORT + 7), VERDICT_NO_BACKEND_ID);
	assert_int_equal(steer_to_port(tables, FIRST_ID_PORT + 8), VERDICT_SERVICE);
	flow.destination_port = FIRST_ID_PORT + 7;
	assert_int_equal(service_explain(service, &flow, NOW, &why), 0);
	assert_int_equal(why.current, 0);
	hop.resolved = false;
	tables_refresh(tables);
	assert_int_equal(steer_to_port(tables, FIRST_ID_PORT + 7), VERDICT_NO_BACKEND_ID);
	assert_int_equal(steer_to_port(tables, FIRST_ID_PORT + 8), VERDICT_NO_NEIGHBOUR);
	image_free(&snapshot);
	tables_free(tables);
}

static void padding_is_cut_off(void **state)
{
	struct tables *tables = tables_new(1, &hops);
	struct flow flow = frame_flow(IPPROTO_TCP);
	struct frame frame = frame_new(&flow, 0);
	struct rte_mbuf *mbuf;
	struct burst burst;

	(void)state;
	serve(tables, image_config(3, "10.99.0.1", BUCKETS));
	frame.len = 60;
	assert_int_equal(steer(tables, &frame, &mbuf, &burst), VERDICT_SERVICE);
	assert_int_equal(mbuf->pkt_len, encap_len(burst.moved) + 40);
	frame_unwrap(mbuf);
	tables_free(tables);
}

static void every_later_drop_has_its_verdict(void **state)
{
	struct tables *tables = tables_new(1, &hops);
	struct service_config config = image_config(3, "10.99.0.1", BUCKETS);
	struct delta empty = image_snapshot(3, 9, BUCKETS, 0), full = image_snapshot(3, 9, BUCKETS, 5);
	struct flow flow = frame_flow(IPPROTO_TCP);
	struct frame frame = frame_new(&flow, 1200);
	struct service *service;
	struct rte_mbuf *mbuf;
	struct burst burst;
	struct why why;

	(void)state;
	assert_int_equal(tables_add(tables, &config, &service, &why), 0);
	assert_int_equal(steer(tables, &frame, &mbuf, &burst), VERDICT_NO_RING);
	frame_unwrap(mbuf);

	assert_int_equal(tables_load(tables, service, &empty, &why), 0);
	assert_int_equal(steer(tables, &frame, &mbuf, &burst), VERDICT_NO_BACKEND);
	frame_unwrap(mbuf);

	hop.resolved = false;
	assert_int_equal(tables_load(tables, service, &full, &why), 0);
	assert_int_equal(steer(tables, &frame, &mbuf, &burst), VERDICT_NO_NEIGHBOUR);
	frame_unwrap(mbuf);

	hop.resolved = true;
	hop.mtu = 1240 + 43;
	tables_refresh(tables);
	assert_int_equal(steer(tables, &frame, &mbuf, &burst), VERDICT_TOO_BIG);
	assert_int_equal(mbuf->data_len, frame.len);
	frame_unwrap(mbuf);

	hop.mtu = 1240 + 44;
	tables_refresh(tables);
	assert_int_equal(steer(tables, &frame, &mbuf, &burst), VERDICT_SERVICE);
	frame_unwrap(mbuf);

	mbuf = frame_wrap(&frame);
	mbuf->buf_addr = (uint8_t *)mbuf->buf_addr + FRAME_HEADROOM - 43;
	mbuf->data_off = 43;
	burst.count = 1;
	burst.mbufs[0] = mbuf;
	burst_steer(&burst);
	assert_int_equal(burst.packets[0].verdict, VERDICT_NO_HEADROOM);
	mbuf->buf_addr = (uint8_t *)mbuf->buf_addr - FRAME_HEADROOM + 43;
	frame_unwrap(mbuf);

	image_free(&empty);
	image_free(&full);
	tables_free(tables);
}

/*
 * Under change: generation g gives every bucket to backend 1 + g mod ROTATION, whose address ends in that number, in
 * turn by a delta that also names a backend, by a delta alone, and by a snapshot; now and then another service comes or
 * goes, or all next hops change. A packet that carries generation g must go to
 * the backend of g or of one just after it.
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

static const char *complain(const struct rte_mbuf *mbuf, const struct packet *packet, uint32_t *seen)
{
	const uint8_t *out = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	struct fl_steer header;

	if (packet->verdict != VERDICT_SERVICE)
		return verdict_name(packet->verdict);
	if (fl_steer_parse(out + ENCAP_AT_GUE, out + mbuf->data_len, &header))
		return "a malformed header";
	if (header.generation < *seen)
		return "a generation that went back";
	*seen = header.generation;
	/* the row may be newer by what was published while the burst ran */
	for (uint32_t ahead = 0; ahead <= AHEAD; ahead++)
		if (out[ENCAP_AT_IP + 19] == owner(header.generation + ahead))
			return NULL;
	return "a backend of no generation near";
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
		snapshot->current[i] = owner(generation);
}

static void change(struct tables *tables, struct service *service, struct delta *snapshot, uint32_t generation)
{
	struct fl_delta_backend named = {.id = owner(generation),
					 .address = snapshot->backends[owner(generation) - 1].address};
	struct delta delta;
	struct why why = {{0}};
	int error;

	if (generation % 3 == 2) {
		rotate(snapshot, generation);
		error = tables_load(tables, service, snapshot, &why);
	} else {
		delta = image_move(snapshot, generation, 0, snapshot->buckets, owner(generation), 0, NOW);
		delta.backends_count = generation % 3 == 0;
		delta.backends = &named;
		error = tables_apply(tables, service, &delta, &why);
		delta.backends = NULL;
		image_free(&delta);
	}
	if (error)
		fail_msg("generation %u: %s", generation, why.text);
}

static void bystander(struct tables *tables, uint32_t generation)
{
	struct service_config config = image_config(4, "10.99.0.2", 256);
	struct service *other = tables_find_id(tables, 4);
	struct why why;

	if (generation % 5)
		return;
	strcpy(config.name, "bystander");
	if (other)
		tables_remove(tables, other);
	else
		assert_int_equal(tables_add(tables, &config, &other, &why), 0);
	hop.mac[5]++;
	hop.source_mac[5]++;
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
	struct reader reader = {.tables = tables_new(1, &hops)};
	struct service *service;
	struct why why;

	(void)state;
	for (uint8_t i = 0; i < ROTATION; i++)
		snapshot.backends[i].address.bytes[15] = (uint8_t)(i + 1);
	rotate(&snapshot, 2);
	assert_int_equal(tables_add(reader.tables, &config, &service, &why), 0);
	assert_int_equal(tables_load(reader.tables, service, &snapshot, &why), 0);
	assert_int_equal(pthread_create(&reader.thread, NULL, read_on, &reader), 0);
	/* both sides have to get somewhere, whatever cores they share */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(explain_says_where_1000_flows_go, set_up),
	    cmocka_unit_test(hashes_equal_the_protocol_s),
	    cmocka_unit_test_setup(a_port_names_its_backend, set_up),
	    cmocka_unit_test_setup(padding_is_cut_off, set_up),
	    cmocka_unit_test_setup(every_later_drop_has_its_verdict, set_up),
	    cmocka_unit_test_setup(a_reader_under_change_sees_only_what_was, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
