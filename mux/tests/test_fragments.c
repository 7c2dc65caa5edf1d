/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fragments in any order, of both families, of many datagrams at once, at several muxes that agree where they meet: all
 * of a datagram go where an unfragmented packet would go, none is lost or duplicated, and every limit holds.
 */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ring.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fairlead/steer.h>

#include "encap/gue.h"
#include "packet/fragments.h"
#include "service/lookup.h"
#include "service/peers.h"
#include "service/tables.h"
#include "packet/mux_to_mux.h"
#include "frame.h"
#include "image.h"

enum { BUCKETS = 1024, NOW = 1700000100, MUXES = 3, PAYLOAD = 160, PIECE = 64, DATAGRAMS = 200, SEEN_MAX = 4096 };

struct mux {
	struct tables *tables;
	struct rte_ring *ring;
	struct fragments *fragments;
	struct fl_address address;
};

/* Fragments that a mux sent to a server. */
struct seen {
	uint32_t id;
	uint32_t bucket;
};

static const struct fl_siphash_key key = {7, 7};
static struct mux muxes[MUXES];
static struct service *service;
static struct seen seen[SEEN_MAX];
static uint32_t seen_count, counts[VERDICTS_ALL];
static uint16_t told;                        /* the last MTU reported to a sender */
static const struct fl_siphash_key *tag_key; /* NULL: packets to servers have no tag */

static struct rte_ring *make_ring(void)
{
	struct rte_ring *ring = aligned_alloc(64, (size_t)rte_ring_get_memsize(FRAGMENTS_RING));

	assert_non_null(ring);
	assert_int_equal(rte_ring_init(ring, "test", FRAGMENTS_RING, RING_F_SC_DEQ), 0);
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
	assert_int_equal(tables_set_self(mux->tables, &mux->address, &none, &key), 0);
	assert_int_equal(tables_add(mux->tables, &config, &service, &why), 0);
	assert_int_equal(tables_load(mux->tables, service, &snapshot, &why), 0);
	mux->ring = make_ring();
	mux->fragments = fragments_new(0, 1, &mux->ring);
	assert_non_null(mux->fragments);
	image_free(&snapshot);
}

static int set_up(void **state)
{
	struct fl_address all[MUXES];

	(void)state;
	image_wire.mtu = 1600;
	tag_key = &key;
	for (uint8_t i = 0; i < MUXES; i++) {
		make_mux(&muxes[i], i);
		all[i] = muxes[i].address;
	}
	for (int i = 0; i < MUXES; i++)
		assert_int_equal(tables_set_peers(muxes[i].tables, all, MUXES), 0);
	seen_count = 0;
	memset(counts, 0, sizeof(counts));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (int i = 0; i < MUXES; i++) {
		fragments_free(muxes[i].fragments);
		tables_free(muxes[i].tables);
		free(muxes[i].ring);
	}
	return 0;
}

static void pump(struct mux *mux, bool forwarded_in, uint64_t now_ms);

/* A frame from the wire into a mux. */
static void give(struct mux *mux, struct rte_mbuf *mbuf, bool forwarded_in, uint64_t now_ms)
{
	const struct lookup *lookup = tables_lookup(mux->tables);
	const uint8_t *frame = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	struct packet packet;

	classify(lookup, mac_word(frame), frame, mbuf->data_len, mbuf->pkt_len, &packet);
	if (packet.verdict != VERDICT_FRAGMENT && packet.verdict != VERDICT_PEER) {
		counts[packet.verdict]++;
		frame_unwrap(mbuf);
		return;
	}
	fragments_take(mux->fragments, lookup, mbuf, &packet, now_ms);
	pump(mux, forwarded_in, now_ms);
}

static struct mux *mux_at(const uint8_t *ip)
{
	struct fl_address to = fl_address_from_ipv4(ip + 16);

	for (int i = 0; i < MUXES; i++)
		if (fl_address_equal(&muxes[i].address, &to))
			return &muxes[i];
	fail_msg("forwarded to an address of no mux");
	return NULL;
}

/* A frame sent by a mux: to another mux, or to a server, where it is recorded. */
static void let_out(struct rte_mbuf *mbuf, const struct packet *packet, bool forwarded_in, uint64_t now_ms)
{
	uint8_t *out = rte_pktmbuf_mtod(mbuf, uint8_t *), *inner;
	struct fl_steer header = {0}; /* gcc does not see that a failed parse ends the test */
	bool ipv6;

	counts[packet->verdict]++;
	if (packet->verdict == VERDICT_TOO_BIG)
		told = packet->mtu;
	if (packet->verdict == VERDICT_FRAGMENT_FORWARDED) {
		assert_false(forwarded_in);
		memcpy(out, frame_mac, 6);
		give(mux_at(out + ENCAP_AT_IP), mbuf, true, now_ms);
		return;
	}
	if (packet->verdict == VERDICT_SERVICE) {
		assert_int_equal(fl_steer_parse(out + GUE_AT_GUE, out + mbuf->data_len, &header), FL_STEER_OK);
		inner = out + GUE_AT_GUE + header.header_len;
		ipv6 = inner[0] >> 4 == 6;
		assert_true(seen_count < SEEN_MAX);
		seen[seen_count++] = (struct seen){.id = ipv6 ? fl_load_be32(inner + 44) : fl_load_be16(inner + 4),
						   .bucket = header.bucket};
	}
	frame_unwrap(mbuf);
}

static void pump(struct mux *mux, bool forwarded_in, uint64_t now_ms)
{
	static struct burst burst;

	fragments_run(mux->fragments, tables_lookup(mux->tables), now_ms);
	for (;;) {
		struct rte_mbuf *mbufs[BURST_MAX];
		struct packet packets[BURST_MAX];
		uint32_t count;

		burst = (struct burst){.lookup = tables_lookup(mux->tables), .tag_key = tag_key, .now = NOW};
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

/* One fragment of a datagram: its payload from `at`, PIECE bytes or the rest. */
static struct frame cut(const struct flow *flow, uint32_t id, uint32_t at)
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

static uint32_t pieces(const struct flow *flow)
{
	return (PAYLOAD + (flow->protocol == IPPROTO_TCP ? 20 : 8) + PIECE - 1) / PIECE;
}

static struct flow flow_of(uint32_t datagram)
{
	uint8_t protocol = datagram & 2 ? IPPROTO_TCP : IPPROTO_UDP;
	struct flow flow = datagram & 1 ? frame_flow6(protocol) : frame_flow(protocol);

	flow.source_port = (uint16_t)(1024 + datagram);
	flow.source.bytes[15] = (uint8_t)(datagram / 7 + 1);
	return flow;
}

static void shuffle(struct chance *chance, uint32_t *what, uint32_t count)
{
	for (uint32_t i = count; i > 1; i--) {
		uint32_t other = chance_below(chance, i), kept = what[i - 1];

		what[i - 1] = what[other];
		what[other] = kept;
	}
}

static void in_any_order_at_any_mux(void **state)
{
	static uint32_t order[DATAGRAMS * 4];
	struct chance chance = {20261120};
	uint32_t count = 0, right[DATAGRAMS + 1] = {0};

	(void)state;
	for (uint32_t d = 1; d <= DATAGRAMS; d++) {
		struct flow flow = flow_of(d);

		for (uint32_t piece = 0; piece < pieces(&flow); piece++)
			order[count++] = d << 8 | piece;
	}
	/* only some are in flight at once, so that waiting ones have room */
	for (uint32_t i = 0; i < count; i += 150)
		shuffle(&chance, order + i, count - i < 150 ? count - i : 150);
	for (uint32_t i = 0; i < count; i++) {
		struct flow flow = flow_of(order[i] >> 8);
		struct frame frame = cut(&flow, order[i] >> 8, (order[i] & 255) * PIECE);

		give(&muxes[chance_below(&chance, MUXES)], frame_wrap(&frame), false, 1000 + i / 50);
	}
	assert_int_equal(seen_count, count);
	for (uint32_t i = 0; i < seen_count; i++) {
		struct flow flow = flow_of(seen[i].id);
		struct explanation why;

		assert_int_equal(service_explain(service, &flow, NOW, &why), 0);
		if (seen[i].bucket != why.first.bucket)
			fail_msg("datagram %u: bucket %u, should be %u", seen[i].id, seen[i].bucket, why.first.bucket);
		right[seen[i].id]++;
	}
	for (uint32_t d = 1; d <= DATAGRAMS; d++) {
		struct flow flow = flow_of(d);

		assert_int_equal(right[d], pieces(&flow));
	}
	/* about two of three arrive at a mux that must forward them */
	assert_true(counts[VERDICT_FRAGMENT_FORWARDED] > count / 2 &&
		    counts[VERDICT_FRAGMENT_FORWARDED] < count * 5 / 6);
}

/* A single mux handles all datagrams itself. */
static struct mux *alone(void)
{
	assert_int_equal(tables_set_peers(muxes[0].tables, NULL, 0), 0);
	return &muxes[0];
}

static void give_piece(struct mux *mux, const struct flow *flow, uint32_t id, uint32_t piece, uint64_t now_ms)
{
	struct frame frame = cut(flow, id, piece * PIECE);

	give(mux, frame_wrap(&frame), false, now_ms);
}

static void a_fragment_waits_for_a_limited_time(void **state)
{
	struct mux *mux = alone();
	struct flow flow = flow_of(4);

	(void)state;
	give_piece(mux, &flow, 4, 1, 1000);
	pump(mux, false, 1000 + FRAGMENTS_WAIT_MS - 1);
	assert_int_equal(counts[VERDICT_FRAGMENT_ALONE], 0);
	pump(mux, false, 1000 + FRAGMENTS_WAIT_MS);
	assert_int_equal(counts[VERDICT_FRAGMENT_ALONE], 1);
	/* the first one comes late: those after it are still sent */
	give_piece(mux, &flow, 4, 0, 1200);
	give_piece(mux, &flow, 4, 2, 1200 + FRAGMENTS_KNOWN_MS - 1);
	assert_int_equal(seen_count, 2);
	/* until its entry expires */
	give_piece(mux, &flow, 4, 1, 1200 + 2 * FRAGMENTS_KNOWN_MS);
	pump(mux, false, 1200 + 3 * FRAGMENTS_KNOWN_MS);
	assert_int_equal(seen_count, 2);
	assert_int_equal(counts[VERDICT_FRAGMENT_ALONE], 2);
}

static void the_number_of_waiting_fragments_is_limited(void **state)
{
	struct mux *mux = alone();
	struct flow flow = flow_of(4);

	(void)state;
	for (uint32_t i = 0; i < FRAGMENTS_HELD_EACH + 5; i++)
		give_piece(mux, &flow, 4, 1, 1000);
	assert_int_equal(counts[VERDICT_FRAGMENT_FULL], 5);
	for (uint32_t id = 100; id < 100 + FRAGMENTS_HELD - FRAGMENTS_HELD_EACH + 7; id++)
		give_piece(mux, &flow, id, 1, 1000);
	assert_int_equal(counts[VERDICT_FRAGMENT_FULL], 12);
	give_piece(mux, &flow, 4, 0, 1001);
	assert_int_equal(seen_count, 1 + FRAGMENTS_HELD_EACH);
	pump(mux, false, 5000);
	assert_int_equal(counts[VERDICT_FRAGMENT_ALONE], FRAGMENTS_HELD - FRAGMENTS_HELD_EACH);
}

/* Far more datagrams than entries: the oldest are evicted, and fragments that wait for them are dropped. */
static void many_datagrams_evict_the_oldest(void **state)
{
	struct mux *mux = alone();
	uint32_t given = 0, out = 0;

	(void)state;
	for (uint32_t id = 1; id < 10 * FRAGMENTS_ENTRIES; id++, given++) {
		struct flow flow = flow_of(5);

		give_piece(mux, &flow, id, id & 1, 1000 + id / 1000);
		seen_count = 0;
	}
	pump(mux, false, 100000);
	for (enum verdict v = 0; v < VERDICTS_ALL; v++)
		out += counts[v];
	assert_int_equal(out, given);
	assert_int_not_equal(counts[VERDICT_FRAGMENT_FULL], 0);
}

static void the_rest_shares_the_first_one_s_end(void **state)
{
	struct mux *mux = alone();
	struct flow flow = flow_of(4);
	struct frame frame;

	(void)state;
	flow.destination_port = 81;
	give_piece(mux, &flow, 4, 1, 1000);
	give_piece(mux, &flow, 4, 0, 1000);
	give_piece(mux, &flow, 4, 2, 1000);
	assert_int_equal(counts[VERDICT_NO_SERVICE_PORT], 3);
	/* a fragmented echo request is not answered, and no fragment waits */
	frame = cut(&flow, 5, 0);
	frame.bytes[FRAME_AT_IP + 9] = IPPROTO_ICMP;
	frame_fix_checksum(&frame);
	give(mux, frame_wrap(&frame), false, 1000);
	assert_int_equal(counts[VERDICT_PROTOCOL], 1);
	/* a first fragment too short for ports */
	flow.destination_port = 80;
	frame = cut(&flow, 6, 0);
	frame.len = FRAME_AT_L4 + 7;
	fl_store_be16(frame.bytes + FRAME_AT_IP + 2, 27);
	frame_fix_checksum(&frame);
	give(mux, frame_wrap(&frame), false, 1000);
	assert_int_equal(counts[VERDICT_UDP_TRUNCATED], 1);
}

/* No datagram comes from a VIP, fragmented or not; TCP segments may (transport.h). */
static void a_fragment_from_a_vip_is_dropped(void **state)
{
	(void)state;
	for (uint32_t d = 1; d <= 2; d++) {
		struct flow flow = frame_flow(d == 1 ? IPPROTO_UDP : IPPROTO_TCP);

		flow.source = image_address("10.99.0.2");
		for (uint32_t piece = 0; piece < pieces(&flow); piece++)
			give_piece(&muxes[piece % MUXES], &flow, d, piece, 1000);
		assert_int_equal(counts[VERDICT_IP_SOURCE], d == 1 ? pieces(&flow) : 0);
		assert_int_equal(seen_count, d == 1 ? 0 : pieces(&flow));
		memset(counts, 0, sizeof(counts));
	}
}

static void a_later_fragment_gets_no_error_for_its_size(void **state)
{
	struct mux *mux = alone();
	struct flow flow = flow_of(4);

	(void)state;
	image_wire.mtu = 20 + PIECE + 43;
	tables_refresh(mux->tables);
	give_piece(mux, &flow, 4, 0, 1000);
	give_piece(mux, &flow, 4, 1, 1000);
	assert_int_equal(counts[VERDICT_TOO_BIG], 1);
	assert_int_equal(counts[VERDICT_TOO_BIG_SILENT], 1);
}

/* The path has no room for the tag: a first fragment's sender gets an error from the first mux that receives it. */
static void one_for_another_mux_is_told_of_like_one_that_stays(void **state)
{
	struct flow flow = flow_of(4);

	(void)state;
	image_wire.mtu = 20 + PIECE + 44 + 7;
	for (int i = 0; i < MUXES; i++)
		tables_refresh(muxes[i].tables);
	for (uint32_t id = 1; id <= DATAGRAMS; id++) {
		told = 0;
		give_piece(&muxes[0], &flow, id, 0, 1000);
		assert_int_equal(told, 20 + PIECE - 1 - 8); /* with room for a move */
		give_piece(&muxes[0], &flow, id, 1, 1000);
	}
	assert_int_equal(counts[VERDICT_TOO_BIG], DATAGRAMS);
	assert_int_equal(counts[VERDICT_TOO_BIG_SILENT], DATAGRAMS);
}

/* A mux without IPv4 knows the others by their IPv4 addresses, and would reject packets from their IPv6 addresses. */
static void none_is_sent_to_a_mux_of_the_other_family_alone(void **state)
{
	struct fl_address two[2] = {muxes[0].address, image_address("2001:db8:1::12")};

	(void)state;
	assert_int_equal(tables_set_peers(muxes[0].tables, two, 2), 0);
	for (uint32_t d = 1; d <= DATAGRAMS; d++) {
		struct flow flow = flow_of(d);

		for (uint32_t piece = 0; piece < pieces(&flow); piece++)
			give_piece(&muxes[0], &flow, d, piece, 1000);
	}
	assert_int_equal(counts[VERDICT_FRAGMENT_FORWARDED], 0);
	assert_int_equal(counts[VERDICT_SERVICE], seen_count);
	assert_true(seen_count >= 3 * DATAGRAMS);
}

static void a_mux_takes_wrapped_fragments_of_muxes_alone(void **state)
{
	struct flow flow = flow_of(4);
	struct frame frame = cut(&flow, 4, 0), whole = frame_new(&flow, 10);
	const struct peer *peer = &tables_lookup(muxes[0].tables)->peers->list[1];
	struct packet packet;

	(void)state;
	for (int kind = 0; kind < 4; kind++) {
		struct rte_mbuf *mbuf = frame_wrap(kind == 1 ? &whole : &frame);
		uint8_t *out = rte_pktmbuf_mtod(mbuf, uint8_t *);

		memset(&packet, 0, sizeof(packet));
		packet.at_ip = FRAME_AT_IP;
		packet.ip_len = (uint16_t)(mbuf->data_len - FRAME_AT_IP);
		assert_int_equal(mux_to_mux_wrap(tables_lookup(muxes[0].tables), &peer->line, 0, mbuf, &packet),
				 VERDICT_FRAGMENT_FORWARDED);
		out = rte_pktmbuf_mtod(mbuf, uint8_t *);
		if (kind == 2)
			out[ENCAP_AT_IP + 15] = 99; /* the source is not a mux */
		if (kind == 3)
			out[GUE_AT_GUE + 1] = 47;
		give(mux_at(out + ENCAP_AT_IP), mbuf, true, 1000);
	}
	assert_int_equal(counts[VERDICT_PEER_MALFORMED], 2);
	assert_int_equal(counts[VERDICT_PEER_UNKNOWN], 1);
	assert_int_equal(counts[VERDICT_SERVICE], 1);
}

/* The mux that gets the datagram, as this mux sees it. */
static uint8_t owner_of(const struct mux *mux, uint64_t hash)
{
	return peers_owner(tables_lookup(mux->tables)->peers, hash)->address.bytes[15];
}

/* Without the cluster's key the drawn seed counts, and packets carry no tag; with the key it does not count. */
static void a_drawn_seed_deals_anew_at_muxes_without_a_key(void **state)
{
	static const struct fl_siphash_key zero, drawn = {3, 5};
	struct fl_address all[MUXES] = {muxes[0].address, muxes[1].address, muxes[2].address};
	const struct fl_address none = {{0}};
	struct chance chance = {20261122};
	int moved = 0;

	(void)state;
	assert_true(tables_lookup(muxes[0].tables)->peers->tags);
	assert_int_equal(tables_set_seed(muxes[0].tables, &drawn), 0);
	for (int i = 0; i < 3000; i++) {
		uint64_t hash = chance_next(&chance);

		assert_int_equal(owner_of(&muxes[0], hash), owner_of(&muxes[1], hash));
	}
	assert_true(tables_lookup(muxes[0].tables)->peers->tags);
	for (int i = 0; i < MUXES; i++) {
		assert_int_equal(tables_set_self(muxes[i].tables, &muxes[i].address, &none, &zero), 0);
		assert_int_equal(tables_set_peers(muxes[i].tables, all, MUXES), 0);
	}
	assert_int_equal(tables_set_seed(muxes[0].tables, &drawn), 0);
	assert_int_equal(tables_set_seed(muxes[1].tables, &drawn), 0);
	tables_refresh(muxes[1].tables);
	assert_int_equal(tables_set_peers(muxes[1].tables, all, MUXES), 0); /* keeps it */
	for (int i = 0; i < 30000; i++) {
		uint64_t hash = chance_next(&chance);

		assert_int_equal(owner_of(&muxes[0], hash), owner_of(&muxes[1], hash));
		moved += owner_of(&muxes[0], hash) != owner_of(&muxes[2], hash);
	}
	assert_true(moved > 30000 / 2 && moved < 30000 * 5 / 6); /* two of three */
	assert_false(tables_lookup(muxes[0].tables)->peers->tags);
	assert_int_equal(tables_set_seed(muxes[0].tables, &zero), 0);
	for (int i = 0; i < 3000; i++) {
		uint64_t hash = chance_next(&chance);

		assert_int_equal(owner_of(&muxes[0], hash), owner_of(&muxes[2], hash));
	}
}

/* One byte more than without a tag: the seed is no key, so it needs no room for one. */
static void a_drawn_seed_takes_no_room_for_tags(void **state)
{
	static const struct fl_siphash_key zero, drawn = {3, 5};
	struct fl_address all[MUXES] = {muxes[0].address, muxes[1].address, muxes[2].address};
	const struct fl_address none = {{0}};
	struct flow flow = flow_of(4);

	(void)state;
	image_wire.mtu = 20 + PIECE + 52 + 7;
	tag_key = NULL;
	for (int i = 0; i < MUXES; i++) {
		assert_int_equal(tables_set_self(muxes[i].tables, &muxes[i].address, &none, &zero), 0);
		assert_int_equal(tables_set_peers(muxes[i].tables, all, MUXES), 0);
		assert_int_equal(tables_set_seed(muxes[i].tables, &drawn), 0);
		tables_refresh(muxes[i].tables);
	}
	for (uint32_t id = 1; id <= DATAGRAMS; id++)
		for (uint32_t piece = 0; piece < pieces(&flow); piece++)
			give_piece(&muxes[0], &flow, id, piece, 1000);
	assert_int_equal(counts[VERDICT_TOO_BIG], 0);
	assert_int_equal(counts[VERDICT_SERVICE], DATAGRAMS * pieces(&flow));
	assert_true(counts[VERDICT_FRAGMENT_FORWARDED] > counts[VERDICT_SERVICE] / 2);
}

static void muxes_agree_and_a_lost_one_moves_only_its_own(void **state)
{
	struct fl_address two[2] = {muxes[0].address, muxes[1].address};
	struct chance chance = {20261120};
	uint32_t share[MUXES] = {0};

	(void)state;
	assert_int_equal(tables_set_peers(muxes[1].tables, two, 2), 0);
	for (int i = 0; i < 30000; i++) {
		uint64_t hash = chance_next(&chance);
		const struct peer *a = peers_owner(tables_lookup(muxes[0].tables)->peers, hash);
		const struct peer *c = peers_owner(tables_lookup(muxes[2].tables)->peers, hash);
		const struct peer *less = peers_owner(tables_lookup(muxes[1].tables)->peers, hash);

		assert_memory_equal(&a->address, &c->address, sizeof(a->address));
		share[a->address.bytes[15] - 10]++;
		if (!fl_address_equal(&a->address, &muxes[2].address))
			assert_memory_equal(&a->address, &less->address, sizeof(a->address));
	}
	for (int i = 0; i < MUXES; i++)
		assert_true(share[i] > 9600 && share[i] < 10400);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(in_any_order_at_any_mux, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(a_fragment_waits_for_a_limited_time, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(the_number_of_waiting_fragments_is_limited, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(many_datagrams_evict_the_oldest, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(the_rest_shares_the_first_one_s_end, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(a_fragment_from_a_vip_is_dropped, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(a_later_fragment_gets_no_error_for_its_size, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(one_for_another_mux_is_told_of_like_one_that_stays, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(none_is_sent_to_a_mux_of_the_other_family_alone, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(a_mux_takes_wrapped_fragments_of_muxes_alone, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(a_drawn_seed_deals_anew_at_muxes_without_a_key, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(a_drawn_seed_takes_no_room_for_tags, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(muxes_agree_and_a_lost_one_moves_only_its_own, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
