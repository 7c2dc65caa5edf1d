// SPDX-License-Identifier: Apache-2.0
/*
 * What is done: packets byte by byte after chaining, every way that chaining can end, the guard against a VIP that is
 * missing, and what is remembered, forgotten, and not remembered when memory is full.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <linux/bpf.h>

#include "../rewrite.h"
#include "program.h"
#include "../skeleton.h"
#include "rig.h"
#include "vectors.h"

enum {
	OLD_SECONDS = 100000, /* beyond any window */
	RAISES = 20000,
	BATCH = 65536,
};

static const fl_u8 mac_of_rig0[6] = {0x02, 0, 0, 0, 0, 0x02};

static struct fl_server *program, *passing;

/* A move that the muxes of these tests' packets have not applied: memory counts. */
static struct fl_bucket_memory moved_from(const char *previous, fl_u32 seconds_ago)
{
	struct fl_bucket_memory memory = {.since = (fl_u32)time(NULL) - seconds_ago,
					  .generation = RIG_GENERATION + 1,
					  .previous = packet_address(previous)};

	return memory;
}

static struct fl_steer steer_plain(fl_u8 inner_protocol)
{
	struct fl_steer steer = {.inner_protocol = inner_protocol,
				 .service = RIG_SERVICE,
				 .bucket = RIG_BUCKET,
				 .generation = RIG_GENERATION};

	return steer;
}

/* An unknown connection's packet to a bucket that moved away from `previous`, with so much data. */
static struct packet unknown_make(const char *previous, size_t payload)
{
	struct fl_bucket_memory memory = moved_from(previous, 1);
	struct fl_steer steer = steer_plain(FL_GUE_PROTO_IPV4);
	struct packet packet;

	rig_memory_set(program, &memory);
	rig_begin(&packet, &steer);
	packet_add_udp(&packet, &rig_packets(RIG_IPV4)->udp_other, payload);
	packet_finish_outer(&packet);
	return packet;
}

/* The outer packet that chaining `before` must give, written from scratch. */
static struct packet chained_expected(const struct packet *before, const char *source, const char *next)
{
	struct packet expected = *before;
	struct fl_address from = packet_address(source), to = packet_address(next);
	fl_u8 *ip = expected.data + PACKET_OUTER_AT;

	fl_store_be16(ip + 4, 0); /* identification, which an unfragmentable packet doesn't need */
	ip[8] = FL_CHAIN_TTL;
	memcpy(ip + 12, from.bytes + 12, 4);
	memcpy(ip + 16, to.bytes + 12, 4);
	fl_store_be16(ip + 10, 0);
	fl_store_be16(ip + 10, packet_checksum(ip, 20, 0));
	fl_store_be16(expected.data + PACKET_UDP_AT + 6, 0);
	return expected;
}

static void check_packet(const struct packet *packet, const struct packet *expected)
{
	assert_int_equal(packet->len, expected->len);
	assert_memory_equal(packet->data, expected->data, expected->len);
}

/* A row of steer.json's `chained`, with memory newer than the move in the packet. */
static void chained_steer(void **state)
{
	const json_t *row = *state;
	struct vectors_bytes before = vectors_bytes(row, "before"), after = vectors_bytes(row, "after");
	bool ipv4 = before.data[1] == FL_GUE_PROTO_IPV4;
	size_t header_len = FL_GUE_BASE_LEN + (size_t)(before.data[0] & 31) * 4;
	struct fl_bucket_memory memory = moved_from("10.1.0.21", 1);
	struct fl_address mux = packet_address(RIG_MUX), self = packet_address(RIG_SELF);
	struct packet packet, expected;

	rig_memory_set(program, &memory);
	packet_begin_outer(&packet, &mux, &self, FL_GUE_PORT);
	packet.data[PACKET_OUTER_AT + 8] = 3;
	packet_add_bytes(&packet, before.data, before.len);
	if (before.len == header_len)
		packet_add_tcp(&packet, &rig_packets(ipv4 ? RIG_IPV4 : RIG_IPV6)->unknown);
	packet_finish_outer(&packet);
	fl_store_be16(packet.data + PACKET_UDP_AT + 6, 0x1234);

	expected = chained_expected(&packet, RIG_SELF, "10.1.0.21");
	memcpy(expected.data, "\x02\x00\x00\x00\x00\x21", 6);
	memcpy(expected.data + 6, mac_of_rig0, 6);
	memcpy(expected.data + PACKET_GUE_AT, after.data, after.len);
	assert_int_equal(rig_run(program, &packet), XDP_TX);
	rig_check_counted(program, FL_COUNTER_CHAIN);
	check_packet(&packet, &expected);
	vectors_free(&before);
	vectors_free(&after);
}

/* A row of steer.json's `promoted`, passed on by the server that its first move is from, which is no move. */
static void promoted_steer(void **state)
{
	struct vectors_bytes before = vectors_bytes(*state, "before"), after = vectors_bytes(*state, "after");
	struct fl_address mux = packet_address(RIG_MUX), self = packet_address(RIG_FORMER);
	size_t header_len = FL_GUE_BASE_LEN + (size_t)(before.data[0] & 31) * 4, gue_at;
	struct packet packet, sent;

	rig_memory_set(passing, NULL);
	packet_begin_outer(&packet, &mux, &self, FL_GUE_PORT);
	packet_add_bytes(&packet, before.data, header_len);
	packet_add_tcp(&packet, &rig_packets(RIG_IPV4)->unknown);
	packet_finish_outer(&packet);
	sent = packet;
	assert_int_equal(rig_run(passing, &packet), XDP_TX);
	rig_check_counted(passing, FL_COUNTER_PASS_ON);
	gue_at = fl_load_be16(packet.data + 12) == 0x0800 ? PACKET_GUE_AT : PACKET_GUE_AT + PACKET_IPV6_MORE;
	assert_int_equal(packet.len - gue_at, sent.len - PACKET_GUE_AT);
	assert_memory_equal(packet.data + gue_at, after.data, header_len);
	assert_memory_equal(packet.data + gue_at + header_len, sent.data + PACKET_GUE_AT + header_len,
			    sent.len - PACKET_GUE_AT - header_len);
	vectors_free(&before);
	vectors_free(&after);
}

/* The neighbour is not resolved: the kernel gets the packet, rewritten but for its source. */
static void chain_without_neighbour(void **state)
{
	struct packet packet = unknown_make("10.1.0.99", 100), expected;

	(void)state;
	expected = chained_expected(&packet, RIG_MUX, "10.1.0.99");
	expected.data[PACKET_GUE_AT + FL_GUE_BASE_LEN]++; /* hops */
	assert_int_equal(rig_run(program, &packet), XDP_PASS);
	rig_check_counted(program, FL_COUNTER_CHAIN_BY_KERNEL);
	check_packet(&packet, &expected);
}

static void check_chain_dropped(const char *previous, size_t payload, enum fl_counter counter)
{
	struct packet packet = unknown_make(previous, payload), expected = packet;

	assert_int_equal(rig_run(program, &packet), XDP_DROP);
	rig_check_counted(program, counter);
	check_packet(&packet, &expected);
}

static void chain_without_route(void **state)
{
	(void)state;
	rig_command("ip route add blackhole 10.7.0.0/16");
	check_chain_dropped("10.7.0.1", 100, FL_COUNTER_DROP_CHAIN_UNROUTABLE);
	rig_command("ip route del blackhole 10.7.0.0/16");
}

static void chain_to_ourselves(void **state)
{
	(void)state;
	check_chain_dropped("10.1.0.2", 100, FL_COUNTER_DROP_CHAIN_UNROUTABLE); /* another address of this host */
}

static void chain_without_forwarding(void **state)
{
	(void)state;
	rig_command("echo 0 > /proc/sys/net/ipv4/conf/rig0/forwarding");
	rig_hops_forget(program);
	check_chain_dropped("10.1.0.21", 100, FL_COUNTER_DROP_CHAIN_UNROUTABLE);
	rig_command("echo 1 > /proc/sys/net/ipv4/conf/rig0/forwarding");
}

/* GUE 16, UDP 8 and 20 of each IP and UDP header: 52 bytes more than the payload and its headers. */
static void chain_too_big(void **state)
{
	struct packet packet;

	(void)state;
	rig_command("ip route add 10.8.0.0/16 via 10.1.0.21 mtu lock 600");
	packet = unknown_make("10.8.0.1", 600 - 72);
	assert_int_equal(packet.len, PACKET_ETH_LEN + 600);
	assert_int_equal(rig_run(program, &packet), XDP_TX);
	rig_check_counted(program, FL_COUNTER_CHAIN);
	check_chain_dropped("10.8.0.1", 601 - 72, FL_COUNTER_DROP_CHAIN_TOO_BIG);
	rig_command("ip route del 10.8.0.0/16");
}

static void chain_to_another_family(void **state)
{
	(void)state;
	check_chain_dropped("2001:db8:1::21", 100, FL_COUNTER_DROP_CHAIN_FAMILY);
}

/* A previous owner behind another interface. */
static void chain_elsewhere(void **state)
{
	struct packet packet;

	(void)state;
	rig_command("ip link add rig2 type veth peer name rig3 && ip link set rig3 up && ip link set rig2 up");
	rig_command("ip addr add 10.3.0.2/24 dev rig2 && ip neigh add 10.3.0.21 lladdr 02:00:00:00:03:21 dev rig2");
	packet = unknown_make("10.3.0.21", 100);
	assert_int_equal(rig_run(program, &packet), XDP_REDIRECT);
	rig_check_counted(program, FL_COUNTER_CHAIN);
	assert_memory_equal(packet.data, "\x02\x00\x00\x00\x03\x21", 6);
	rig_command("ip link del rig2");
}

/* Packets to an address that this host doesn't have, which the kernel would forward. */
static void vip_missing(void **state)
{
	static const char *const missing[RIG_FAMILIES] = {"10.99.0.2", "2001:db8:99::2"};
	int family, is_syn;

	(void)state;
	rig_memory_set(program, NULL);
	for (family = 0; family < RIG_FAMILIES; family++) {
		for (is_syn = 0; is_syn <= 1; is_syn++) {
			struct fl_steer steer = steer_plain(family == RIG_IPV4 ? FL_GUE_PROTO_IPV4 : FL_GUE_PROTO_IPV6);
			struct packet_tcp tcp = rig_packets((enum rig_family)family)->syn;
			struct packet packet;

			tcp.flags = is_syn ? TCP_SYN : TCP_ACK;
			tcp.flow.destination = packet_address(missing[family]);
			rig_begin(&packet, &steer);
			packet_add_tcp(&packet, &tcp);
			packet_finish_outer(&packet);
			assert_int_equal(rig_run(program, &packet), XDP_DROP);
			rig_check_counted(program, FL_COUNTER_DROP_VIP_NOT_LOCAL);
		}
	}
}

/* Sets ECN in the traffic class of an IP header, and the checksum of an IPv4 one. */
static void ecn_set(fl_u8 *ip, fl_u8 ecn)
{
	if (ip[0] >> 4 == 6) {
		ip[1] = (fl_u8)((ip[1] & ~0x30) | ecn << 4);
		return;
	}
	ip[1] = (fl_u8)((ip[1] & ~3) | ecn);
	fl_store_be16(ip + 10, 0);
	fl_store_be16(ip + 10, packet_checksum(ip, 20, 0));
}

/* The inner packet's ECN by the outer one and its own; RFC 6040, figure 4. */
static void ecn_carried(void **state)
{
	enum { NOT_ECT = 0, ECT_1 = 1, ECT_0 = 2, CE = 3, LOST = 4 };
	static const fl_u8 becomes[4][4] = {
	    [NOT_ECT] = {NOT_ECT, ECT_1, ECT_0, CE},
	    [ECT_1] = {NOT_ECT, ECT_1, ECT_0, CE},
	    [ECT_0] = {NOT_ECT, ECT_1, ECT_0, CE},
	    [CE] = {LOST, CE, CE, CE},
	};
	fl_u8 outer, inner;
	int family;

	(void)state;
	rig_memory_set(program, NULL);
	for (family = 0; family < RIG_FAMILIES; family++) {
		for (outer = 0; outer < 16; outer++) {
			struct fl_steer steer = steer_plain(family == RIG_IPV4 ? FL_GUE_PROTO_IPV4 : FL_GUE_PROTO_IPV6);
			struct packet packet, expected = {.len = PACKET_ETH_LEN};
			fl_u8 result;

			inner = outer / 4;
			result = becomes[outer % 4][inner];
			rig_begin(&packet, &steer);
			ecn_set(packet.data + PACKET_OUTER_AT, outer % 4);
			packet_add_tcp(&packet, &rig_packets((enum rig_family)family)->established);
			packet_finish_outer(&packet);
			ecn_set(packet.data + PACKET_GUE_AT + 16, inner);
			packet_add_tcp(&expected, &rig_packets((enum rig_family)family)->established);
			ecn_set(expected.data + PACKET_ETH_LEN, result & 3);
			assert_int_equal(rig_run(program, &packet), result == LOST ? XDP_DROP : XDP_PASS);
			rig_check_counted(program,
					  result == LOST ? FL_COUNTER_DROP_CONGESTED : FL_COUNTER_DELIVER_LOCAL_SOCKET);
			if (result == LOST)
				continue;
			assert_int_equal(packet.len, expected.len);
			assert_memory_equal(packet.data + PACKET_ETH_LEN, expected.data + PACKET_ETH_LEN,
					    expected.len - PACKET_ETH_LEN);
		}
	}
}

/* Sends a SYN, with or without MOVED. */
static void syn_send(bool is_moved, fl_u32 since)
{
	struct fl_steer steer = steer_plain(FL_GUE_PROTO_IPV4);
	struct packet packet;

	if (is_moved) {
		steer.flags = FL_STEER_MOVED;
		steer.since = since;
		steer.previous = packet_address("10.1.0.21");
	}
	rig_begin(&packet, &steer);
	packet_add_tcp(&packet, &rig_packets(RIG_IPV4)->syn);
	packet_finish_outer(&packet);
	assert_int_equal(rig_run(program, &packet), XDP_PASS);
	rig_check_counted(program, FL_COUNTER_DELIVER_SYN);
}

static void move_that_is_over_is_forgotten(void **state)
{
	struct fl_bucket_memory over = moved_from("10.1.0.21", OLD_SECONDS), found;

	(void)state;
	rig_memory_set(program, &over);
	syn_send(true, over.since);
	assert_true(rig_memory_get(program, &found));
	syn_send(false, 0);
	assert_false(rig_memory_get(program, &found));
}

static void move_that_is_open_is_kept(void **state)
{
	struct fl_bucket_memory open = moved_from("10.1.0.21", FL_WINDOW_DEFAULT - 10), found;

	(void)state;
	rig_memory_set(program, &open);
	syn_send(false, 0);
	assert_true(rig_memory_get(program, &found));
	assert_memory_equal(&found, &open, sizeof(open));
}

static void memory_fill(int fd, fl_u32 entries)
{
	struct fl_memory_key *keys = calloc(BATCH, sizeof(*keys));
	struct fl_bucket_memory *values = calloc(BATCH, sizeof(*values));
	fl_u32 done, i, n;

	for (done = 0; done < entries; done += n) {
		n = entries - done < BATCH ? entries - done : BATCH;
		for (i = 0; i < n; i++)
			keys[i] = (struct fl_memory_key){.service = 2, .bucket = done + i};
		assert_int_equal(bpf_map_update_batch(fd, keys, values, &n, NULL), 0);
	}
	free(keys);
	free(values);
}

/* With no room left a move is not learned; its packet is still chained. */
static void memory_is_full(void **state)
{
	struct config config = rig_config();
	struct fl_server *own = program;
	struct fl_steer steer = steer_plain(FL_GUE_PROTO_IPV4);
	struct fl_bucket_memory found;
	struct packet packet;

	(void)state;
	program = rig_load(&config); /* its own map, freed with the million entries */
	memory_fill(bpf_map__fd(program->maps.memory), FL_SERVER_MEMORY_CAPACITY);
	steer.flags = FL_STEER_MOVED;
	steer.since = (fl_u32)time(NULL);
	steer.previous = packet_address("10.1.0.21");
	rig_begin(&packet, &steer);
	packet_add_tcp(&packet, &rig_packets(RIG_IPV4)->unknown);
	packet_finish_outer(&packet);
	assert_int_equal(rig_run(program, &packet), XDP_TX);
	rig_check_counted(program, FL_COUNTER_CHAIN);
	assert_int_equal(rig_counter(program, FL_COUNTER_LEARN_FAILED), 1);
	assert_int_equal(rig_counter(program, FL_COUNTER_LEARNED), 0);
	assert_false(rig_memory_get(program, &found));
	program_close(program);
	program = own;
}

/* Each processor's number is one of 64 bits. */
static void counter_passes_32_bits(void **state)
{
	const fl_u64 before = 0xffffffff;
	fl_u64 sum;
	int i;

	(void)state;
	rig_counter_set(program, FL_COUNTER_DELIVER_SYN, before);
	sum = rig_counter(program, FL_COUNTER_DELIVER_SYN);
	for (i = 0; i < 3; i++) {
		struct fl_steer steer = steer_plain(FL_GUE_PROTO_IPV4);
		struct packet packet;

		rig_begin(&packet, &steer);
		packet_add_tcp(&packet, &rig_packets(RIG_IPV4)->syn);
		packet_finish_outer(&packet);
		assert_int_equal(rig_run(program, &packet), XDP_PASS);
	}
	assert_true(sum >= before);
	assert_int_equal(rig_counter(program, FL_COUNTER_DELIVER_SYN), sum + 3);
}

struct raiser {
	fl_u32 first, step;
};

/* Packets of ascending generations, as one CPU sees them. */
static void *generations_send(void *argument)
{
	const struct raiser *raiser = argument;
	fl_u32 generation;

	for (generation = raiser->first; generation < RAISES; generation += raiser->step) {
		struct fl_steer steer = steer_plain(FL_GUE_PROTO_IPV4);
		LIBBPF_OPTS(bpf_test_run_opts, options, .repeat = 1);
		struct packet packet;

		steer.generation = generation;
		rig_begin(&packet, &steer);
		packet_add_tcp(&packet, &rig_packets(RIG_IPV4)->syn);
		packet_finish_outer(&packet);
		options.data_in = packet.data;
		options.data_size_in = (__u32)packet.len;
		bpf_prog_test_run_opts(bpf_program__fd(program->progs.fairlead_server), &options);
		if (rig_generation_get(program) < generation)
			return (void *)raiser;
	}
	return NULL;
}

/* A generation is never lowered, even if several CPUs raise it at once. */
static void generation_only_grows(void **state)
{
	struct raiser raisers[] = {{1, 2}, {2, 2}, {1, 1}, {3, 3}};
	pthread_t threads[4];
	void *failed;
	size_t i;

	(void)state;
	rig_generation_set(program, 0);
	for (i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, generations_send, &raisers[i]), 0);
	for (i = 0; i < 4; i++) {
		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	assert_int_equal(rig_generation_get(program), RAISES - 1);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		CMUnitTestFunction run;
	} cases[] = {
	    {"chain to a neighbour that is not resolved", chain_without_neighbour},
	    {"chain where there is no route", chain_without_route},
	    {"chain to an address of this host", chain_to_ourselves},
	    {"chain while forwarding is off", chain_without_forwarding},
	    {"chain what is larger than the MTU", chain_too_big},
	    {"chain to another family", chain_to_another_family},
	    {"chain through another interface", chain_elsewhere},
	    {"the VIP is missing", vip_missing},
	    {"congestion reaches the inner packet", ecn_carried},
	    {"a move that is over is forgotten", move_that_is_over_is_forgotten},
	    {"a move that is open is kept", move_that_is_open_is_kept},
	    {"memory is full", memory_is_full},
	    {"a generation only grows", generation_only_grows},
	    {"a counter passes 32 bits", counter_passes_32_bits},
	};
	json_t *steer = vectors_load(argc > 1 ? argv[1] : ".", "steer.json");
	struct vectors_tests tests = {NULL, 0};
	struct config config = rig_config(), passes = rig_config_both();
	size_t i;
	int failed;

	rig_open();
	program = rig_load(&config);
	rig_become_former(&passes);
	passing = rig_load(&passes);
	vectors_add(&tests, steer, "chained", chained_steer);
	vectors_add(&tests, steer, "promoted", promoted_steer);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		vectors_add_plain(&tests, cases[i].name, cases[i].run, NULL);
	failed = vectors_run("acting by the XDP program", &tests);
	program_close(passing);
	program_close(program);
	json_decref(steer);
	return failed;
}
