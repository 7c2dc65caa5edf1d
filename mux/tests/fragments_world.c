/* SPDX-License-Identifier: Apache-2.0 */
#include "fragments_world.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ring.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "encap/gue.h"
#include "image.h"
#include "sent.h"
#include "service/lookup.h"
#include "service/peers.h"

enum { BUCKETS = 1024 };

static const struct fl_siphash_key key = {7, 7};
struct fragments_world world;

struct rte_ring *world_ring(void)
{
	struct rte_ring *ring = aligned_alloc(64, (size_t)rte_ring_get_memsize(FRAGMENTS_RING));

	assert_non_null(ring);
	assert_int_equal(rte_ring_init(ring, "test", FRAGMENTS_RING, RING_F_SC_DEQ), 0);
	ring->prod.head = ring->prod.tail = ring->cons.head = ring->cons.tail = UINT32_MAX - FRAGMENTS_RING / 2;
	return ring;
}

static void make_mux(struct mux *mux, uint8_t number)
{
	struct service_config config = image_config(1, "10.99.0.1", BUCKETS);
	struct delta snapshot = image_snapshot(1, 3, BUCKETS, 9);
	const struct fl_address none = {{0}};
	struct reason why;

	config.vips_count = 3;
	config.vips[1] = image_address("2001:db8:99::1");
	config.vips[2] = image_address("10.99.0.2");
	config.ports_count = 2;
	config.ports[1] = (struct service_port){IPPROTO_UDP, 80};
	mux->address = image_address("10.1.0.10");
	mux->address.bytes[15] = (uint8_t)(10 + number);
	mux->tables = tables_new(1, &image_hops);
	assert_non_null(mux->tables);
	assert_int_equal(tables_set_self(mux->tables, &mux->address, &none, &(struct tag_keys){key, {key, key}}), 0);
	assert_int_equal(tables_add(mux->tables, &config, &world.service, &why), 0);
	assert_int_equal(tables_load(mux->tables, world.service, &snapshot, NULL, &why), 0);
	mux->ring = world_ring();
	mux->fragments = fragments_new(0, 1, &mux->ring);
	assert_non_null(mux->fragments);
	image_free(&snapshot);
}

int world_set_up(void **state)
{
	struct fl_address all[MUXES];

	(void)state;
	image_wire.mtu = 1600;
	world.tag_key = &key;
	for (uint8_t i = 0; i < MUXES; i++) {
		make_mux(&world.muxes[i], i);
		all[i] = world.muxes[i].address;
	}
	for (int i = 0; i < MUXES; i++)
		assert_int_equal(tables_set_peers(world.muxes[i].tables, all, MUXES), 0);
	world.seen_count = 0;
	memset(world.counts, 0, sizeof(world.counts));
	return 0;
}

int world_tear_down(void **state)
{
	(void)state;
	for (int i = 0; i < MUXES; i++) {
		fragments_free(world.muxes[i].fragments);
		tables_free(world.muxes[i].tables);
		free(world.muxes[i].ring);
	}
	return 0;
}

void world_give(struct mux *mux, struct rte_mbuf *mbuf, bool forwarded_in, uint64_t now_ms)
{
	const struct lookup *lookup = tables_lookup(mux->tables);
	const uint8_t *frame = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	struct packet packet;

	classify(lookup, mac_word(frame), frame, mbuf->data_len, mbuf->pkt_len, &packet);
	if (packet.verdict != VERDICT_FRAGMENT && packet.verdict != VERDICT_PEER) {
		world.counts[packet.verdict]++;
		frame_unwrap(mbuf);
		return;
	}
	fragments_take(mux->fragments, lookup, mbuf, &packet, now_ms);
	world_pump(mux, forwarded_in, now_ms);
}

struct mux *world_mux_at(const uint8_t *ip)
{
	struct fl_address to = fl_address_from_ipv4(ip + 16);

	for (int i = 0; i < MUXES; i++)
		if (fl_address_equal(&world.muxes[i].address, &to))
			return &world.muxes[i];
	fail_msg("forwarded to an address of no mux");
	return NULL;
}

/* A frame sent by a mux: to another mux, or to a server, where it is recorded. */
static void let_out(struct rte_mbuf *mbuf, const struct packet *packet, bool forwarded_in, uint64_t now_ms)
{
	uint8_t *out = rte_pktmbuf_mtod(mbuf, uint8_t *), *inner;
	struct sent sent;
	bool ipv6;

	world.counts[packet->verdict]++;
	if (packet->verdict == VERDICT_TOO_BIG)
		world.told = packet->mtu;
	if (packet->verdict == VERDICT_FRAGMENT_FORWARDED) {
		assert_false(forwarded_in);
		memcpy(out, frame_mac, 6);
		world_give(world_mux_at(out + ENCAP_AT_IP), mbuf, true, now_ms);
		return;
	}
	if (packet->verdict == VERDICT_SERVICE) {
		assert_true(sent_read(mbuf, &sent));
		inner = out + (sent.inner - out);
		ipv6 = inner[0] >> 4 == 6;
		assert_true(world.seen_count < SEEN_MAX);
		world.seen[world.seen_count++] = (struct seen){
		    .id = ipv6 ? fl_load_be32(inner + 44) : fl_load_be16(inner + 4), .bucket = packet->bucket};
	}
	frame_unwrap(mbuf);
}

struct frame world_cut(const struct flow *flow, uint32_t id, uint32_t at)
{
	struct frame whole = frame_new(flow, PAYLOAD), frame = whole;
	bool ipv6 = !fl_address_is_ipv4(&flow->source);
	uint32_t l4 = ipv6 ? FRAME_AT_L46 : FRAME_AT_L4, all = whole.len - l4;
	uint32_t len = all - at < PIECE ? all - at : PIECE, more = at + len < all;
	uint8_t *ip = frame.bytes + FRAME_AT_IP, header[8] = {flow->protocol};

	memmove(frame.bytes + l4, whole.bytes + l4 + at, len);
	frame.len = l4 + len;
	if (!ipv6) {
		fl_store_be16(ip + 2, (uint16_t)(20 + len));
		fl_store_be16(ip + 4, (uint16_t)id);
		fl_store_be16(ip + 6, (uint16_t)(more << 13 | at / 8));
		frame_fix_checksum(&frame);
		return frame;
	}
	fl_store_be16(header + 2, (uint16_t)(at | more));
	fl_store_be32(header + 4, id);
	frame_insert(&frame, l4, header, sizeof(header));
	ip[6] = 44;
	fl_store_be16(ip + 4, (uint16_t)(8 + len));
	return frame;
}

uint32_t world_pieces(const struct flow *flow)
{
	return (PAYLOAD + (flow->protocol == IPPROTO_TCP ? 20 : 8) + PIECE - 1) / PIECE;
}

struct flow world_flow(uint32_t datagram)
{
	uint8_t protocol = datagram & 2 ? IPPROTO_TCP : IPPROTO_UDP;
	struct flow flow = datagram & 1 ? frame_flow6(protocol) : frame_flow(protocol);

	flow.source_port = (uint16_t)(1024 + datagram);
	flow.source.bytes[15] = (uint8_t)(datagram / 7 + 1);
	return flow;
}

struct mux *world_alone(void)
{
	assert_int_equal(tables_set_peers(world.muxes[0].tables, NULL, 0), 0);
	return &world.muxes[0];
}

void world_give_piece(struct mux *mux, const struct flow *flow, uint32_t id, uint32_t piece, uint64_t now_ms)
{
	struct frame frame = world_cut(flow, id, piece * PIECE);

	world_give(mux, frame_wrap(&frame), false, now_ms);
}

void world_pump(struct mux *mux, bool forwarded_in, uint64_t now_ms)
{
	static struct burst burst;

	fragments_run(mux->fragments, tables_lookup(mux->tables), now_ms);
	for (;;) {
		struct rte_mbuf *mbufs[BURST_MAX];
		struct packet packets[BURST_MAX];
		uint32_t count;

		burst = (struct burst){
		    .lookup = tables_lookup(mux->tables), .tag_flags = tag_key_flags(world.tag_key), .now = NOW};
		if (!fragments_ready(mux->fragments, &burst))
			return;
		burst_steer_classified(&burst);
		count = burst.count;
		memcpy(mbufs, burst.mbufs, sizeof(mbufs));
		memcpy(packets, burst.packets, sizeof(packets));
		for (uint32_t i = 0; i < count; i++)
			let_out(mbufs[i], &packets[i], forwarded_in, now_ms);
	}
}
