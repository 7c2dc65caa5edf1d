/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fragments in any order, of both families, of many datagrams at once, at several muxes that agree where they meet: all
 * of a datagram go where an unfragmented packet would go, none is lost or duplicated. Limits: test_fragment_limits.c.
 */
#include <netinet/in.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fairlead/fragment.h>

#include "encap/gue.h"
#include "service/lookup.h"
#include "service/peers.h"
#include "service/tables.h"
#include "headers/mux_to_mux.h"
#include "frame.h"
#include "fragments_world.h"
#include "image.h"

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
		struct flow flow = world_flow(d);

		for (uint32_t piece = 0; piece < world_pieces(&flow); piece++)
			order[count++] = d << 8 | piece;
	}
	/* only some are in flight at once, so that waiting ones have room */
	for (uint32_t i = 0; i < count; i += 150)
		shuffle(&chance, order + i, count - i < 150 ? count - i : 150);
	for (uint32_t i = 0; i < count; i++) {
		struct flow flow = world_flow(order[i] >> 8);
		struct frame frame = world_cut(&flow, order[i] >> 8, (order[i] & 255) * PIECE);

		world_give(&world.muxes[chance_below(&chance, MUXES)], frame_wrap(&frame), false, 1000 + i / 50);
	}
	assert_int_equal(world.seen_count, count);
	for (uint32_t i = 0; i < world.seen_count; i++) {
		struct flow flow = world_flow(world.seen[i].id);
		struct explanation why;

		assert_int_equal(service_explain(world.service, &flow, &why), 0);
		if (world.seen[i].bucket != why.first.bucket)
			fail_msg("datagram %u: bucket %u, should be %u", world.seen[i].id, world.seen[i].bucket,
				 why.first.bucket);
		right[world.seen[i].id]++;
	}
	for (uint32_t d = 1; d <= DATAGRAMS; d++) {
		struct flow flow = world_flow(d);

		assert_int_equal(right[d], world_pieces(&flow));
	}
	/* about two of three arrive at a mux that must forward them */
	assert_true(world.counts[VERDICT_FRAGMENT_FORWARDED] > count / 2 &&
		    world.counts[VERDICT_FRAGMENT_FORWARDED] < count * 5 / 6);
}

static void the_rest_shares_the_first_one_s_end(void **state)
{
	struct mux *mux = world_alone();
	struct flow flow = world_flow(4);
	struct frame frame;

	(void)state;
	flow.destination_port = 81;
	world_give_piece(mux, &flow, 4, 1, 1000);
	world_give_piece(mux, &flow, 4, 0, 1000);
	world_give_piece(mux, &flow, 4, 2, 1000);
	assert_int_equal(world.counts[VERDICT_NO_SERVICE_PORT], 3);
	/* a fragmented echo request is not answered, and no fragment waits */
	frame = world_cut(&flow, 5, 0);
	frame.bytes[FRAME_AT_IP + 9] = IPPROTO_ICMP;
	frame_fix_checksum(&frame);
	world_give(mux, frame_wrap(&frame), false, 1000);
	assert_int_equal(world.counts[VERDICT_PROTOCOL], 1);
	/* a first fragment too short for ports */
	flow.destination_port = 80;
	frame = world_cut(&flow, 6, 0);
	frame.len = FRAME_AT_L4 + 7;
	fl_store_be16(frame.bytes + FRAME_AT_IP + 2, 27);
	frame_fix_checksum(&frame);
	world_give(mux, frame_wrap(&frame), false, 1000);
	assert_int_equal(world.counts[VERDICT_UDP_TRUNCATED], 1);
}

/* No datagram comes from a VIP, fragmented or not; TCP segments may (transport.h). */
static void a_fragment_from_a_vip_is_dropped(void **state)
{
	(void)state;
	for (uint32_t d = 1; d <= 2; d++) {
		struct flow flow = frame_flow(d == 1 ? IPPROTO_UDP : IPPROTO_TCP);

		flow.source = image_address("10.99.0.2");
		for (uint32_t piece = 0; piece < world_pieces(&flow); piece++)
			world_give_piece(&world.muxes[piece % MUXES], &flow, d, piece, 1000);
		assert_int_equal(world.counts[VERDICT_IP_SOURCE], d == 1 ? world_pieces(&flow) : 0);
		assert_int_equal(world.seen_count, d == 1 ? 0 : world_pieces(&flow));
		memset(world.counts, 0, sizeof(world.counts));
	}
}

static void a_later_fragment_gets_no_error_for_its_size(void **state)
{
	struct mux *mux = world_alone();
	struct flow flow = world_flow(4);

	(void)state;
	image_wire.mtu = 20 + PIECE + 43;
	tables_refresh(mux->tables);
	world_give_piece(mux, &flow, 4, 0, 1000);
	world_give_piece(mux, &flow, 4, 1, 1000);
	assert_int_equal(world.counts[VERDICT_TOO_BIG], 1);
	assert_int_equal(world.counts[VERDICT_TOO_BIG_SILENT], 1);
}

/* The path has no room for the tag: a first fragment's sender gets an error from the first mux that receives it. */
static void one_for_another_mux_is_told_of_like_one_that_stays(void **state)
{
	struct flow flow = world_flow(4);

	(void)state;
	image_wire.mtu = 20 + PIECE + 40 + 7;
	for (int i = 0; i < MUXES; i++)
		tables_refresh(world.muxes[i].tables);
	for (uint32_t id = 1; id <= DATAGRAMS; id++) {
		world.told = 0;
		world_give_piece(&world.muxes[0], &flow, id, 0, 1000);
		assert_int_equal(world.told, 20 + PIECE - 1 - 24); /* with room for six candidates */
		world_give_piece(&world.muxes[0], &flow, id, 1, 1000);
	}
	assert_int_equal(world.counts[VERDICT_TOO_BIG], DATAGRAMS);
	assert_int_equal(world.counts[VERDICT_TOO_BIG_SILENT], DATAGRAMS);
}

/* A mux without IPv4 knows the others by their IPv4 addresses, and would reject packets from their IPv6 addresses. */
static void none_is_sent_to_a_mux_of_the_other_family_alone(void **state)
{
	struct fl_address two[2] = {world.muxes[0].address, image_address("2001:db8:1::12")};

	(void)state;
	assert_int_equal(tables_set_peers(world.muxes[0].tables, two, 2), 0);
	for (uint32_t d = 1; d <= DATAGRAMS; d++) {
		struct flow flow = world_flow(d);

		for (uint32_t piece = 0; piece < world_pieces(&flow); piece++)
			world_give_piece(&world.muxes[0], &flow, d, piece, 1000);
	}
	assert_int_equal(world.counts[VERDICT_FRAGMENT_FORWARDED], 0);
	assert_int_equal(world.counts[VERDICT_SERVICE], world.seen_count);
	assert_true(world.seen_count >= 3 * DATAGRAMS);
}

/* What is done to a wrapped fragment on its way to another mux. */
static void spoil(uint8_t *out, const char *how)
{
	uint8_t *gue = out + GUE_AT_GUE, *inner = gue + FL_FRAGMENT_MAX_LEN;

	if (!strcmp(how, "from another source"))
		out[ENCAP_AT_IP + 15] = 99;
	else if (!strcmp(how, "from another mux"))
		out[ENCAP_AT_IP + 15] = world.muxes[2].address.bytes[15];
	else if (!strcmp(how, "another protocol"))
		gue[1] = 47;
	else if (!strcmp(how, "another version"))
		gue[FL_FRAGMENT_LEN] = FL_LIST_VERSION << 4;
	else if (!strcmp(how, "beyond the packet"))
		fl_store_be16(out + GUE_AT_UDP + 4, 9000);
	else if (!strcmp(how, "a wrong tag"))
		gue[FL_FRAGMENT_AT_TAG + 7] ^= 1;
	else if (!strcmp(how, "by the other key"))
		gue[FL_FRAGMENT_LEN + 1] ^= FL_LIST_KEY;
	else if (!strcmp(how, "another destination inside"))
		inner[19] ^= 1;
	else if (!strcmp(how, "another offset inside"))
		inner[7] ^= 1;
}

/* Gives a mux these keys; NULL: none. */
static void rekey(struct mux *mux, const struct tag_keys *keys)
{
	struct fl_address all[MUXES] = {world.muxes[0].address, world.muxes[1].address, world.muxes[2].address};
	const struct fl_address none = {{0}};

	assert_int_equal(tables_set_self(mux->tables, &mux->address, &none, keys), 0);
	assert_int_equal(tables_set_peers(mux->tables, all, MUXES), 0);
}

static void a_mux_takes_wrapped_fragments_of_muxes_alone(void **state)
{
	static const struct {
		const char *how;
		enum verdict verdict;
	} rows[] = {
	    {"", VERDICT_SERVICE},
	    {"whole", VERDICT_PEER_MALFORMED},
	    {"from another source", VERDICT_PEER_UNKNOWN},
	    {"from another mux", VERDICT_PEER_UNTRUSTED},
	    {"another protocol", VERDICT_PEER_MALFORMED},
	    {"another version", VERDICT_PEER_MALFORMED},
	    {"beyond the packet", VERDICT_PEER_MALFORMED},
	    {"no tag", VERDICT_PEER_UNTRUSTED},
	    {"a wrong tag", VERDICT_PEER_UNTRUSTED},
	    {"by the other key", VERDICT_PEER_UNTRUSTED},
	    {"another destination inside", VERDICT_PEER_UNTRUSTED},
	    {"another offset inside", VERDICT_PEER_UNTRUSTED},
	};
	struct flow flow = world_flow(4);
	struct frame frame = world_cut(&flow, 4, 0), whole = frame_new(&flow, 10);
	const struct tag_keys keys = {*world.tag_key, {*world.tag_key, *world.tag_key}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rte_mbuf *mbuf = frame_wrap(!strcmp(rows[i].how, "whole") ? &whole : &frame);
		struct packet packet = {.at_ip = FRAME_AT_IP, .ip_len = (uint16_t)(mbuf->data_len - FRAME_AT_IP)};
		uint64_t before = world.counts[rows[i].verdict];
		const struct lookup *lookup;
		uint8_t *out;

		rekey(&world.muxes[0], strcmp(rows[i].how, "no tag") ? &keys : NULL);
		lookup = tables_lookup(world.muxes[0].tables);
		assert_int_equal(mux_to_mux_wrap(lookup, &lookup->peers->list[1], mbuf, &packet),
				 VERDICT_FRAGMENT_FORWARDED);
		out = rte_pktmbuf_mtod(mbuf, uint8_t *);
		spoil(out, rows[i].how);
		world_give(world_mux_at(out + ENCAP_AT_IP), mbuf, true, 1000);
		if (world.counts[rows[i].verdict] != before + 1)
			fail_msg("%s", rows[i].how);
	}
}

/* No fragment is lost while muxes get new keys one after another (docs/howto/rotate-keys.md). */
static void a_key_is_replaced(void **state)
{
	static const struct fl_siphash_key old = {0x10, 7}, new = {0x11, 8};
	const struct tag_keys steps[] = {{old, {old, old}}, {old, {old, new}}, {new, {old, new}}, {new, {new, new}}};
	struct flow flow = world_flow(4);
	uint32_t id = 0;

	(void)state;
	for (size_t step = 0; step + 1 < sizeof(steps) / sizeof(steps[0]); step++)
		for (int done = 0; done <= MUXES; done++) {
			for (int i = 0; i < MUXES; i++)
				rekey(&world.muxes[i], &steps[step + (i < done)]);
			for (int n = 0; n < 20; n++, id++)
				for (uint32_t piece = 0; piece < world_pieces(&flow); piece++)
					world_give_piece(&world.muxes[n % MUXES], &flow, id + 1, piece, 1000);
		}
	assert_int_equal(world.counts[VERDICT_PEER_UNTRUSTED], 0);
	assert_int_equal(world.counts[VERDICT_SERVICE], id * world_pieces(&flow));
	assert_true(world.counts[VERDICT_FRAGMENT_FORWARDED] > world.counts[VERDICT_SERVICE] / 2);
}

/* The mux that gets the datagram, as this mux sees it. */
static uint8_t owner_of(const struct mux *mux, uint64_t hash)
{
	return peers_owner(tables_lookup(mux->tables)->peers, hash)->address.bytes[15];
}

static void a_drawn_seed_deals_by_itself(void **state)
{
	static const struct fl_siphash_key zero, drawn = {3, 5};
	struct fl_address all[MUXES] = {world.muxes[0].address, world.muxes[1].address, world.muxes[2].address};
	struct chance chance = {20261122};
	int moved = 0;

	(void)state;
	assert_int_equal(tables_set_seed(world.muxes[0].tables, &drawn), 0);
	assert_int_equal(tables_set_seed(world.muxes[1].tables, &drawn), 0);
	tables_refresh(world.muxes[1].tables);
	assert_int_equal(tables_set_peers(world.muxes[1].tables, all, MUXES), 0); /* keeps it */
	for (int i = 0; i < 30000; i++) {
		uint64_t hash = chance_next(&chance);

		assert_int_equal(owner_of(&world.muxes[0], hash), owner_of(&world.muxes[1], hash));
		moved += owner_of(&world.muxes[0], hash) != owner_of(&world.muxes[2], hash);
	}
	assert_true(moved > 30000 / 2 && moved < 30000 * 5 / 6); /* two of three */
	assert_int_equal(tables_set_seed(world.muxes[0].tables, &zero), 0);
	for (int i = 0; i < 3000; i++) {
		uint64_t hash = chance_next(&chance);

		assert_int_equal(owner_of(&world.muxes[0], hash), owner_of(&world.muxes[2], hash));
	}
}

static void muxes_agree_and_a_lost_one_moves_only_its_own(void **state)
{
	struct fl_address two[2] = {world.muxes[0].address, world.muxes[1].address};
	struct chance chance = {20261120};
	uint32_t share[MUXES] = {0};

	(void)state;
	assert_int_equal(tables_set_peers(world.muxes[1].tables, two, 2), 0);
	for (int i = 0; i < 30000; i++) {
		uint64_t hash = chance_next(&chance);
		const struct peer *a = peers_owner(tables_lookup(world.muxes[0].tables)->peers, hash);
		const struct peer *c = peers_owner(tables_lookup(world.muxes[2].tables)->peers, hash);
		const struct peer *less = peers_owner(tables_lookup(world.muxes[1].tables)->peers, hash);

		assert_memory_equal(&a->address, &c->address, sizeof(a->address));
		share[a->address.bytes[15] - 10]++;
		if (!fl_address_equal(&a->address, &world.muxes[2].address))
			assert_memory_equal(&a->address, &less->address, sizeof(a->address));
	}
	for (int i = 0; i < MUXES; i++)
		assert_true(share[i] > 9600 && share[i] < 10400);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(in_any_order_at_any_mux, world_set_up, world_tear_down),
	    cmocka_unit_test_setup_teardown(the_rest_shares_the_first_one_s_end, world_set_up, world_tear_down),
	    cmocka_unit_test_setup_teardown(a_fragment_from_a_vip_is_dropped, world_set_up, world_tear_down),
	    cmocka_unit_test_setup_teardown(a_later_fragment_gets_no_error_for_its_size, world_set_up, world_tear_down),
	    cmocka_unit_test_setup_teardown(one_for_another_mux_is_told_of_like_one_that_stays, world_set_up,
					    world_tear_down),
	    cmocka_unit_test_setup_teardown(none_is_sent_to_a_mux_of_the_other_family_alone, world_set_up,
					    world_tear_down),
	    cmocka_unit_test_setup_teardown(a_mux_takes_wrapped_fragments_of_muxes_alone, world_set_up,
					    world_tear_down),
	    cmocka_unit_test_setup_teardown(a_key_is_replaced, world_set_up, world_tear_down),
	    cmocka_unit_test_setup_teardown(a_drawn_seed_deals_by_itself, world_set_up, world_tear_down),
	    cmocka_unit_test_setup_teardown(muxes_agree_and_a_lost_one_moves_only_its_own, world_set_up,
					    world_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
