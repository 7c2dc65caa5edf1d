// SPDX-License-Identifier: Apache-2.0
/*
 * What is done: that packets are not sent on without forwarding, or to servers that are no peers; the guard against a VIP
 * that is missing; congestion; and counters and generations of several processors. (Packets byte by byte: list_decisions.c.)
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <pthread.h>
#include <string.h>

#include <linux/bpf.h>

#include "program.h"
#include "../skeleton.h"
#include "rig.h"
#include "vectors.h"

enum {
	RAISES = 20000,
};

static struct fl_server *program;

/* What becomes of an unknown connection's packet with these candidates. */
static enum fl_counter send_to(struct fl_server *server, const char *first, const char *second, int *action)
{
	const char *const names[] = {first, second};
	struct fl_list list = rig_list(RIG_IPV4);
	struct packet packet, before;

	for (; list.count < 2 && names[list.count]; list.count++) {
		list.candidate[list.count] = packet_address(names[list.count]);
		if (!fl_address_is_ipv4(&list.candidate[list.count]))
			list.flags |= FL_LIST_IPV6;
	}
	list.left = list.count;
	rig_begin(&packet, &list);
	packet_add_tcp(&packet, &rig_packets(RIG_IPV4)->unknown);
	packet_finish_outer(&packet);
	before = packet;
	*action = rig_run(server, &packet);
	if (*action == XDP_DROP) {
		assert_int_equal(packet.len, before.len);
		assert_memory_equal(packet.data, before.data, before.len);
	}
	return rig_counter_bumped(server);
}

static void without_forwarding(void **state)
{
	int action;

	(void)state;
	rig_command("echo 0 > /proc/sys/net/ipv4/conf/rig0/forwarding");
	rig_hops_forget(program);
	assert_int_equal(send_to(program, "10.1.0.21", NULL, &action), FL_COUNTER_DROP_STALE);
	rig_command("echo 1 > /proc/sys/net/ipv4/conf/rig0/forwarding");
	assert_int_equal(send_to(program, "10.1.0.21", NULL, &action), FL_COUNTER_CHAIN);
}

/* The longest prefix that an address has says what it is. */
static void next_hops_are_servers(void **state)
{
	static const struct {
		const char *first, *second;
		enum fl_counter counter;
	} rows[] = {
	    {"10.1.0.21", NULL, FL_COUNTER_CHAIN},                      /* in a prefix of servers */
	    {"10.1.0.23", NULL, FL_COUNTER_CHAIN},                      /* in one of both */
	    {"10.1.0.11", NULL, FL_COUNTER_DROP_UNTRUSTED_NEXT},        /* a mux */
	    {"192.0.2.1", NULL, FL_COUNTER_DROP_UNTRUSTED_NEXT},        /* a stranger */
	    {"192.0.2.1", "10.1.0.21", FL_COUNTER_DROP_UNTRUSTED_NEXT}, /* it is not skipped */
	    {"2001:db8:1::21", NULL, FL_COUNTER_CHAIN},
	    {"2001:db8:1::11", NULL, FL_COUNTER_DROP_UNTRUSTED_NEXT},
	    {"2001:db8:9::1", "10.1.0.21", FL_COUNTER_DROP_UNTRUSTED_NEXT},
	    {"10.3.0.1", "192.0.2.1", FL_COUNTER_DROP_UNTRUSTED_NEXT}, /* behind one that is skipped */
	    {"0.0.0.0", "10.1.0.21", FL_COUNTER_CHAIN},                /* no address: skipped */
	};
	struct config config = rig_config_both();
	struct fl_server *own;
	int action;
	size_t i;

	(void)state;
	assert_int_equal(config_set(&config, "peers", "10.1.0.23"), 0);
	assert_int_equal(config_set(&config, "muxes", "10.1.0.11,2001:db8:1::11"), 0);
	assert_int_equal(config_set(&config, "servers", "10.1.0.0/24,10.3.0.0/16,2001:db8:1::/64"), 0);
	own = rig_load(&config);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(send_to(own, rows[i].first, rows[i].second, &action), rows[i].counter);
		assert_int_equal(action, rows[i].counter == FL_COUNTER_CHAIN ? XDP_TX : XDP_DROP);
	}
	program_close(own);
}

/* Packets to an address that this host doesn't have, which the kernel would forward. */
static void vip_missing(void **state)
{
	static const char *const missing[RIG_FAMILIES] = {"10.99.0.2", "2001:db8:99::2"};
	int family, is_syn;

	(void)state;
	for (family = 0; family < RIG_FAMILIES; family++) {
		for (is_syn = 0; is_syn <= 1; is_syn++) {
			struct fl_list list = rig_list((enum rig_family)family);
			struct packet_tcp tcp = rig_packets((enum rig_family)family)->syn;
			struct packet packet;

			tcp.flags = is_syn ? TCP_SYN : TCP_ACK;
			tcp.flow.destination = packet_address(missing[family]);
			rig_begin(&packet, &list);
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
	for (family = 0; family < RIG_FAMILIES; family++) {
		for (outer = 0; outer < 16; outer++) {
			struct fl_list list = rig_list((enum rig_family)family);
			struct packet packet, expected = {.len = FL_ETHERNET_LEN};
			fl_u8 result;

			inner = outer / 4;
			result = becomes[outer % 4][inner];
			rig_begin(&packet, &list);
			ecn_set(packet.data + PACKET_OUTER_AT, outer % 4);
			packet_add_tcp(&packet, &rig_packets((enum rig_family)family)->established);
			packet_finish_outer(&packet);
			ecn_set(packet.data + PACKET_GUE_AT + FL_LIST_AT_CANDIDATES, inner);
			packet_add_tcp(&expected, &rig_packets((enum rig_family)family)->established);
			ecn_set(expected.data + FL_ETHERNET_LEN, result & 3);
			assert_int_equal(rig_run(program, &packet), result == LOST ? XDP_DROP : XDP_PASS);
			rig_check_counted(program,
					  result == LOST ? FL_COUNTER_DROP_CONGESTED : FL_COUNTER_DELIVER_LOCAL_SOCKET);
			if (result == LOST)
				continue;
			assert_int_equal(packet.len, expected.len);
			assert_memory_equal(packet.data + FL_ETHERNET_LEN, expected.data + FL_ETHERNET_LEN,
					    expected.len - FL_ETHERNET_LEN);
		}
	}
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
		struct fl_list list = rig_list(RIG_IPV4);
		struct packet packet;

		rig_begin(&packet, &list);
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
		struct fl_list list = rig_list(RIG_IPV4);
		LIBBPF_OPTS(bpf_test_run_opts, options, .repeat = 1);
		struct packet packet;

		list.generation = generation;
		rig_begin(&packet, &list);
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

int main(void)
{
	static const struct {
		const char *name;
		CMUnitTestFunction run;
	} cases[] = {
	    {"nothing is sent on while forwarding is off", without_forwarding},
	    {"packets are sent on to peers that are servers", next_hops_are_servers},
	    {"a VIP that is missing", vip_missing},
	    {"congestion is carried", ecn_carried},
	    {"a counter passes 32 bits", counter_passes_32_bits},
	    {"a generation only grows", generation_only_grows},
	};
	struct vectors_tests tests = {NULL, 0};
	struct config config = rig_config();
	size_t i;
	int failed;

	rig_open();
	program = rig_load(&config);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		vectors_add_plain(&tests, cases[i].name, cases[i].run, NULL);
	failed = vectors_run("acting by the XDP program", &tests);
	program_close(program);
	return failed;
}
