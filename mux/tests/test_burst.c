/* SPDX-License-Identifier: Apache-2.0 */
/* Packets through all stages: explain says where they go, and every outcome has its verdict. */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "ring/backend.h"
#include "packet/burst.h"
#include "encap/gue.h"
#include "flow/hash.h"
#include "service/tables.h"
#include "frame.h"
#include "image.h"
#include "sent.h"

enum {
	BUCKETS = 4096,
	BACKENDS = 50,
	FLOWS = 1000,
	NOW = 1700000100,
	FIRST_ID_PORT = 20000,
};

static struct next_hop hop;
static const struct next_hops hops = {.context = &hop, .lookup = image_hop};

static int set_up(void **state)
{
	(void)state;
	hop = (struct next_hop){.resolved = true,
				.port = 2,
				.mtu = 1600,
				.source_mac = {2, 0, 0, 0, 0, 1},
				.source = {{[10] = 0xff, 0xff, 10, 1, 0, 11}}};
	return 0;
}

static struct flow random_flow6(struct chance *chance)
{
	struct flow flow = frame_flow6(chance_below(chance, 2) ? IPPROTO_TCP : IPPROTO_UDP);

	for (int i = 6; i < 16; i++)
		flow.source.bytes[i] = (uint8_t)chance_next(chance);
	flow.source_port = (uint16_t)(1 + chance_below(chance, 65535));
	return flow;
}

static struct flow random_flow(struct chance *chance)
{
	struct flow flow = frame_flow(IPPROTO_TCP);

	fl_store_be32(flow.source.bytes + 12, 0x0b000000 | (uint32_t)chance_next(chance) >> 8);
	flow.source_port = (uint16_t)(1 + chance_below(chance, 65535));
	return flow;
}

/* A service with a loaded ring: a third of its buckets moved recently, a third long ago. */
static struct service *serve_at(struct tables *tables, struct service_config config, bool mixed)
{
	struct delta snapshot = image_snapshot(config.id, 9, config.buckets, BACKENDS);
	struct service *service;
	struct reason why = {{0}};

	snapshot.image.closed_until = 1; /* windows end */
	for (uint32_t i = 0; i < config.buckets; i++)
		if (i % 3) {
			image_was(&snapshot, i, (uint16_t)(1 + (i + 7) % BACKENDS), i % 3 == 1 ? NOW - 10 : NOW - 1000);
		}
	for (uint32_t i = 0; mixed && i < BACKENDS; i += 2) {
		snapshot.backends[i].address = image_address("2001:db8:1::");
		snapshot.backends[i].address.bytes[15] = (uint8_t)(i + 1);
	}
	if (tables_add(tables, &config, &service, &why) || tables_load(tables, service, &snapshot, NULL, &why))
		fail_msg("%s", why.text);
	tables_close_windows(tables, NOW);
	image_free(&snapshot);
	return service;
}

static struct service *serve(struct tables *tables, struct service_config config)
{
	return serve_at(tables, config, false);
}

/* Steers one frame; the mbuf is the caller's to unwrap. */
static enum verdict steer_with(const struct tables *tables, const struct frame *frame,
			       const struct fl_siphash_key *tag_key, struct rte_mbuf **mbuf, struct burst *burst)
{
	*mbuf = frame_wrap(frame);
	burst->lookup = tables_lookup(tables);
	burst->tag_flags = tag_key_flags(tag_key);
	burst->mac = mac_word(frame_mac);
	burst->now = NOW;
	burst->count = 1;
	burst->mbufs[0] = *mbuf;
	burst_steer(burst);
	return burst->packets[0].verdict;
}

static enum verdict steer(const struct tables *tables, const struct frame *frame, struct rte_mbuf **mbuf,
			  struct burst *burst)
{
	return steer_with(tables, frame, NULL, mbuf, burst);
}

static void check_flow(const struct tables *tables, const struct service *service, const struct flow *flow)
{
	struct frame frame = frame_new(flow, 33);
	uint32_t inner_len = frame.len - FRAME_AT_IP;
	bool ipv6 = !fl_address_is_ipv4(&flow->source);
	struct explanation why;
	struct rte_mbuf *mbuf;
	struct burst burst;
	struct sent sent;

	assert_int_equal(service_explain(service, flow, &why), 0);
	assert_int_equal(steer(tables, &frame, &mbuf, &burst), VERDICT_SERVICE);
	assert_int_equal(burst.packets[0].port, 2);
	assert_int_equal(burst.packets[0].bucket, why.first.bucket);
	assert_true(sent_read(mbuf, &sent));
	assert_true(sent_is_explained(&sent, &why));
	assert_int_equal(sent.list.inner_protocol, ipv6 ? FL_LIST_GUE_IPV6 : FL_LIST_GUE_IPV4);
	assert_int_equal(sent.list.service, service->id);
	assert_int_equal(burst.moved, why.first.former_count);
	assert_int_equal(burst.bytes, frame.len);
	/* the inner packet is untouched, and nothing follows it */
	assert_int_equal(sent.end - sent.inner, inner_len);
	assert_int_equal(mbuf->pkt_len, mbuf->data_len);
	assert_memory_equal(sent.inner, frame.bytes + FRAME_AT_IP, inner_len);
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

/* The packet path hashes words; other code hashes bytes as protocol/README.md says. */
static void hashes_equal_those_of_the_protocol(void **state)
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
			assert_int_equal(flow_hash_ipv4(&service, words),
					 fl_flow_hash(kind, &service.key, key, FL_KEY_IPV4_LEN));
			service.affinity = AFFINITY_CLIENT;
			assert_int_equal(flow_hash_ipv4(&service, words), fl_flow_hash(kind, &service.key, key, 8));
		}
	}
}

/* Bursts of every length, of mixed packets: a packet's result does not depend on its neighbours in the burst. */
static void packets_of_a_burst_are_independent(void **state)
{
	struct service_config configs[] = {image_config(1, "10.99.0.1", BUCKETS), image_config(2, "10.99.0.1", 256),
					   image_config(3, "10.99.0.1", 1024)};
	struct tables *tables = tables_new(1, &hops);
	struct chance chance = {20261122};

	(void)state;
	for (uint16_t i = 0; i < 3; i++) {
		configs[i].ports[0].port = (uint16_t)(80 + i);
		configs[i].key.k0 += i;
		configs[i].hash = i == 1 ? FL_HASH_CRC32 : FL_HASH_SIPHASH;
		configs[i].name[0] = (char)('a' + i);
		serve(tables, configs[i]);
	}
	for (uint32_t round = 0; round < 2000; round++) {
		uint32_t count = 1 + round % BURST_MAX;
		struct frame frames[BURST_MAX];
		struct burst burst = {.lookup = tables_lookup(tables), .mac = mac_word(frame_mac), .now = NOW};

		for (uint32_t i = 0; i < count; i++) {
			struct flow flow = random_flow(&chance);

			flow.destination_port = (uint16_t)(80 + chance_below(&chance, 4)); /* 83: no service */
			frames[i] = frame_new(&flow, chance_below(&chance, 40));
			frames[i].bytes[FRAME_AT_IP + 8] = chance_below(&chance, 9) ? 64 : 0;
			frame_fix_checksum(&frames[i]);
			burst.mbufs[burst.count++] = frame_wrap(&frames[i]);
		}
		burst_steer(&burst);
		for (uint32_t i = 0; i < count; i++) {
			struct rte_mbuf *alone;
			struct burst one;

			assert_int_equal(steer(tables, &frames[i], &alone, &one), burst.packets[i].verdict);
			assert_int_equal(alone->data_len, burst.mbufs[i]->data_len);
			assert_memory_equal(rte_pktmbuf_mtod(alone, void *), rte_pktmbuf_mtod(burst.mbufs[i], void *),
					    alone->data_len);
			frame_unwrap(alone);
			frame_unwrap(burst.mbufs[i]);
		}
	}
	tables_free(tables);
}

/* Each has its own VIP, key and ring, and a flow goes where its service says. */
static void a_thousand_services_keep_apart(void **state)
{
	struct tables *tables = tables_new(1, &hops);
	struct service *services[1000];
	struct chance chance = {20261122};

	(void)state;
	for (uint16_t i = 0; i < 1000; i++) {
		struct service_config config = image_config((uint16_t)(i + 1), "10.99.0.0", 256);

		snprintf(config.name, sizeof(config.name), "service%u", i);
		fl_store_be16(config.vips[0].bytes + 14, i);
		config.key.k1 ^= i;
		services[i] = serve(tables, config);
	}
	for (int i = 0; i < 5000; i++) {
		uint16_t which = (uint16_t)chance_below(&chance, 1000);
		struct flow flow = random_flow(&chance);

		fl_store_be16(flow.destination.bytes + 14, which);
		check_flow(tables, services[which], &flow);
	}
	tables_free(tables);
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
	struct delta delta = image_move(snapshot, 10, 0, BUCKETS, 1, NOW);
	struct reason why = {{0}};

	delta.backends_count = 1;
	delta.backends = &removed;
	if (tables_apply(tables, service, &delta, NULL, &why))
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
		assert_int_equal(service_explain(service, &random, &why), 0);
		assert_int_equal(why.first.current.id, id);
		assert_int_equal(why.first.bucket, RING_BUCKET_NONE);
		assert_int_equal(why.candidates_count, 1);
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
	assert_int_equal(service_explain(service, &flow, &why), 0);
	assert_int_equal(why.first.current.id, 0);
	hop.resolved = false;
	tables_refresh(tables);
	assert_int_equal(steer_to_port(tables, FIRST_ID_PORT + 7), VERDICT_NO_BACKEND_ID);
	assert_int_equal(steer_to_port(tables, FIRST_ID_PORT + 8), VERDICT_NO_NEIGHBOUR);
	image_free(&snapshot);
	tables_free(tables);
}

/* Both families inside and outside, moves between them, with either hash and affinity. */
static void all_four_combinations_go_where_explain_says(void **state)
{
	static const enum fl_hash_kind hashes[] = {FL_HASH_SIPHASH, FL_HASH_CRC32};
	static const enum affinity affinities[] = {AFFINITY_CONNECTION, AFFINITY_CLIENT};
	struct chance chance = {20261120};

	(void)state;
	for (int kind = 0; kind < 4; kind++) {
		struct service_config config = image_config(3, "10.99.0.1", BUCKETS);
		struct tables *tables = tables_new(1, &hops);
		struct service *service;

		config.hash = hashes[kind & 1];
		config.affinity = affinities[kind >> 1];
		config.vips_count = 2;
		config.vips[1] = image_address("2001:db8:99::1");
		config.ports_count = 2;
		config.ports[1] = (struct service_port){IPPROTO_UDP, 80};
		service = serve_at(tables, config, true);
		for (int i = 0; i < FLOWS; i++) {
			struct flow flow = i & 1 ? random_flow6(&chance) : random_flow(&chance);

			check_flow(tables, service, &flow);
		}
		tables_free(tables);
	}
}

static void the_cluster_key_tags_every_packet(void **state)
{
	static const struct fl_siphash_key key = {11, 12};
	struct service_config config = image_config(3, "10.99.0.1", BUCKETS);
	const struct fl_address self = image_address("10.1.0.1"), none = {{0}};
	struct tables *tables = tables_new(1, &hops);
	struct chance chance = {20261120};
	uint32_t moved = 0;

	(void)state;
	assert_int_equal(tables_set_self(tables, &self, &none, &(struct tag_keys){key, {key, key}}), 0);
	config.vips_count = 2;
	config.vips[1] = image_address("2001:db8:99::1");
	config.ports_count = 2;
	config.ports[1] = (struct service_port){IPPROTO_UDP, 80};
	serve_at(tables, config, true);
	for (int i = 0; i < FLOWS; i++) {
		struct flow flow = i & 1 ? random_flow6(&chance) : random_flow(&chance);
		struct frame frame = frame_new(&flow, 33);
		struct rte_mbuf *mbuf;
		struct burst burst;
		struct sent sent;

		steer_with(tables, &frame, &key, &mbuf, &burst);
		assert_int_equal(burst.packets[0].verdict, VERDICT_SERVICE);
		assert_true(sent_read(mbuf, &sent));
		assert_true(sent_is_tagged(&sent, &key));
		moved += sent.list.count > 0;
		frame_unwrap(mbuf);
	}
	assert_int_not_equal(moved, 0);
	tables_free(tables);
}

static void vlan_tags_are_removed_and_added(void **state)
{
	static const uint8_t tag[] = {0x81, 0, 0, 5};
	struct tables *tables = tables_new(1, &hops);
	struct flow flow = frame_flow(IPPROTO_TCP);
	struct frame frame = frame_new(&flow, 10), plain = frame;
	struct rte_mbuf *tagged, *untagged;
	struct burst burst;

	(void)state;
	serve(tables, image_config(3, "10.99.0.1", BUCKETS));
	frame_insert(&frame, 12, tag, sizeof(tag));
	assert_int_equal(steer(tables, &frame, &tagged, &burst), VERDICT_SERVICE);
	assert_int_equal(steer(tables, &plain, &untagged, &burst), VERDICT_SERVICE);
	assert_int_equal(tagged->data_len, untagged->data_len);
	assert_memory_equal(rte_pktmbuf_mtod(tagged, uint8_t *), rte_pktmbuf_mtod(untagged, uint8_t *),
			    tagged->data_len);
	frame_unwrap(tagged);
	hop.vlan = 7;
	tables_refresh(tables);
	assert_int_equal(steer(tables, &frame, &tagged, &burst), VERDICT_SERVICE);
	assert_int_equal(tagged->data_len, untagged->data_len + 4);
	assert_memory_equal(rte_pktmbuf_mtod(tagged, uint8_t *) + 12, "\x81\0\0\7\x08\0", 6);
	assert_memory_equal(rte_pktmbuf_mtod(tagged, uint8_t *) + 16, rte_pktmbuf_mtod(untagged, uint8_t *) + 12,
			    untagged->data_len - 12U);
	frame_unwrap(tagged);
	frame_unwrap(untagged);
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
	assert_int_equal(mbuf->pkt_len, (burst.moved ? 58U : 54U) + 40);
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
	struct reason why;

	(void)state;
	assert_int_equal(tables_add(tables, &config, &service, &why), 0);
	assert_int_equal(steer(tables, &frame, &mbuf, &burst), VERDICT_NO_RING);
	frame_unwrap(mbuf);

	assert_int_equal(tables_load(tables, service, &empty, NULL, &why), 0);
	assert_int_equal(steer(tables, &frame, &mbuf, &burst), VERDICT_NO_BACKEND);
	frame_unwrap(mbuf);

	hop.resolved = false;
	assert_int_equal(tables_load(tables, service, &full, NULL, &why), 0);
	assert_int_equal(steer(tables, &frame, &mbuf, &burst), VERDICT_NO_NEIGHBOUR);
	frame_unwrap(mbuf);

	hop.resolved = true;
	hop.mtu = 1240 + 39;
	tables_refresh(tables);
	assert_int_equal(steer(tables, &frame, &mbuf, &burst), VERDICT_TOO_BIG);
	assert_int_equal(mbuf->data_len, frame.len);
	frame_unwrap(mbuf);

	hop.mtu = 1240 + 40;
	tables_refresh(tables);
	assert_int_equal(steer(tables, &frame, &mbuf, &burst), VERDICT_SERVICE);
	frame_unwrap(mbuf);

	mbuf = frame_wrap(&frame);
	mbuf->buf_addr = (uint8_t *)mbuf->buf_addr + FRAME_HEADROOM - 39;
	mbuf->data_off = 39;
	burst.count = 1;
	burst.mbufs[0] = mbuf;
	burst_steer(&burst);
	assert_int_equal(burst.packets[0].verdict, VERDICT_NO_HEADROOM);
	mbuf->buf_addr = (uint8_t *)mbuf->buf_addr - FRAME_HEADROOM + 39;
	frame_unwrap(mbuf);

	image_free(&empty);
	image_free(&full);
	tables_free(tables);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(explain_says_where_1000_flows_go, set_up),
	    cmocka_unit_test(hashes_equal_those_of_the_protocol),
	    cmocka_unit_test_setup(packets_of_a_burst_are_independent, set_up),
	    cmocka_unit_test_setup(a_thousand_services_keep_apart, set_up),
	    cmocka_unit_test_setup(a_port_names_its_backend, set_up),
	    cmocka_unit_test_setup(all_four_combinations_go_where_explain_says, set_up),
	    cmocka_unit_test_setup(the_cluster_key_tags_every_packet, set_up),
	    cmocka_unit_test_setup(vlan_tags_are_removed_and_added, set_up),
	    cmocka_unit_test_setup(padding_is_cut_off, set_up),
	    cmocka_unit_test_setup(every_later_drop_has_its_verdict, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
