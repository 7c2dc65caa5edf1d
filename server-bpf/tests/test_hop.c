// SPDX-License-Identifier: Apache-2.0
/*
 * What the program remembers of next hops: that it uses it, that it asks the kernel again when its time is over, and that
 * it follows each change of neighbours, routes and interfaces within LIFE_NS of the change.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <linux/bpf.h>

#include "program.h"
#include "../skeleton.h"
#include "rig.h"
#include "vectors.h"

enum {
	LIFE_NS = 300000000, /* 25 ticks of at most 10 ms, and a tick to begin with; else a change came too late */
	MORE_RUNS = 100,
	SERVERS = 300, /* of each route: more than there are places for */
	PORTS = 64,
	SOURCE_PORT = 0xc000,
	SECOND_NS = 1000000000,
};

/* The next hop as the kernel has it in one state; the last byte of its MAC, 0 if none is written. */
struct seen {
	int action;
	fl_u8 mac;
};

struct change {
	const char *name, *next, *prepare, *change, *undo;
	struct seen before, after;
};

#define RIG2                                                                                                           \
	"ip link add rig2 type veth peer name rig3 && ip link set rig3 up && ip link set rig2 up &&"                   \
	" ip addr add 10.9.0.2/24 dev rig2 && ip neigh add 10.9.0.21 lladdr 02:00:00:00:00:91 dev rig2"

static const struct change changes[] = {
    {"a neighbour has another MAC",
     "10.1.0.23",
     "true",
     "ip neigh replace 10.1.0.23 lladdr 02:00:00:00:00:77 nud permanent dev rig0",
     "ip neigh replace 10.1.0.23 lladdr 02:00:00:00:00:23 nud permanent dev rig0",
     {XDP_TX, 0x23},
     {XDP_TX, 0x77}},
    {"the same of IPv6",
     "2001:db8:1::23",
     "true",
     "ip neigh replace 2001:db8:1::23 lladdr 02:00:00:00:00:77 nud permanent dev rig0",
     "ip neigh replace 2001:db8:1::23 lladdr 02:00:00:00:00:23 nud permanent dev rig0",
     {XDP_TX, 0x23},
     {XDP_TX, 0x77}},
    {"a neighbour is not resolved any more",
     "10.1.0.23",
     "true",
     "ip neigh del 10.1.0.23 dev rig0",
     "ip neigh replace 10.1.0.23 lladdr 02:00:00:00:00:23 nud permanent dev rig0",
     {XDP_TX, 0x23},
     {XDP_PASS, 0}},
    {"a route leads to another next hop",
     "10.8.0.1",
     "ip route add 10.8.0.0/16 via 10.1.0.21",
     "ip route replace 10.8.0.0/16 via 10.1.0.23",
     "ip route del 10.8.0.0/16",
     {XDP_TX, 0x21},
     {XDP_TX, 0x23}},
    {"the same of IPv6",
     "2001:db8:8::1",
     "ip -6 route add 2001:db8:8::/48 via 2001:db8:1::21",
     "ip -6 route replace 2001:db8:8::/48 via 2001:db8:1::23",
     "ip -6 route del 2001:db8:8::/48",
     {XDP_TX, 0x21},
     {XDP_TX, 0x23}},
    {"a longer prefix leads elsewhere",
     "10.1.0.23",
     "true",
     "ip route add 10.1.0.23/32 via 10.1.0.21",
     "ip route del 10.1.0.23/32",
     {XDP_TX, 0x23},
     {XDP_TX, 0x21}},
    {"a route refuses",
     "10.8.0.1",
     "ip route add 10.8.0.0/16 via 10.1.0.21",
     "ip route del 10.8.0.0/16 && ip route add blackhole 10.8.0.0/16",
     "ip route del blackhole 10.8.0.0/16",
     {XDP_TX, 0x21},
     {XDP_DROP, 0}},
    {"a route has a smaller MTU",
     "10.8.0.1",
     "ip route add 10.8.0.0/16 via 10.1.0.21",
     "ip route replace 10.8.0.0/16 via 10.1.0.21 mtu lock 80",
     "ip route del 10.8.0.0/16",
     {XDP_TX, 0x21},
     {XDP_DROP, 0}},
    {"a route leads to another interface",
     "10.8.0.1",
     RIG2 " && ip route add 10.8.0.0/16 via 10.1.0.21",
     "ip route replace 10.8.0.0/16 via 10.9.0.21 dev rig2",
     "ip link del rig2",
     {XDP_TX, 0x21},
     {XDP_REDIRECT, 0x91}},
    {"an interface is gone",
     "10.9.0.21",
     RIG2 " && ip route add unreachable 10.9.0.0/16",
     "ip link del rig2",
     "ip route del unreachable 10.9.0.0/16",
     {XDP_REDIRECT, 0x91},
     {XDP_DROP, 0}},
    {"forwarding is turned off",
     "10.1.0.23",
     "true",
     "echo 0 > /proc/sys/net/ipv4/conf/rig0/forwarding",
     "echo 1 > /proc/sys/net/ipv4/conf/rig0/forwarding",
     {XDP_TX, 0x23},
     {XDP_DROP, 0}},
};

static struct fl_server *program;

static fl_u64 now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (fl_u64)now.tv_sec * SECOND_NS + (fl_u64)now.tv_nsec;
}

/* What becomes of an unknown connection's packet with this candidate. */
static struct seen send_to(const char *next, fl_u16 source_port)
{
	struct fl_list list = rig_list(RIG_IPV4);
	fl_u8 original[6];
	struct packet packet;
	struct seen seen;

	list.count = list.left = 1;
	list.candidate[0] = packet_address(next);
	list.flags = fl_address_is_ipv4(&list.candidate[0]) ? 0 : FL_LIST_IPV6;
	rig_begin(&packet, &list);
	packet_add_tcp(&packet, &rig_packets(RIG_IPV4)->unknown);
	packet_finish_outer(&packet);
	fl_store_be16(packet.data + PACKET_UDP_AT, source_port);
	memcpy(original, packet.data, sizeof(original));
	seen.action = rig_run(program, &packet);
	seen.mac = memcmp(original, packet.data, sizeof(original)) ? packet.data[5] : 0;
	return seen;
}

static bool seen_equal(struct seen a, struct seen b)
{
	return a.action == b.action && a.mac == b.mac;
}

static void check_seen(struct seen seen, struct seen expected)
{
	assert_int_equal(seen.action, expected.action);
	assert_int_equal(seen.mac, expected.mac);
}

/* What was remembered counts no longer than LIFE_NS. */
static void followed(void **state)
{
	const struct change *change = *state;
	fl_u64 changed, begun;
	struct seen seen;
	int i;

	rig_command("%s", change->prepare);
	rig_hops_forget(program);
	check_seen(send_to(change->next, SOURCE_PORT), change->before);
	rig_command("%s", change->change);
	changed = now_ns();
	do {
		begun = now_ns();
		seen = send_to(change->next, SOURCE_PORT);
		if (!seen_equal(seen, change->before))
			break;
		assert_true(begun - changed < LIFE_NS);
	} while (true);
	for (i = 0; i < MORE_RUNS; i++)
		check_seen(send_to(change->next, SOURCE_PORT), change->after);
	rig_command("%s", change->undo);
	rig_hops_forget(program);
}

/* Gives all that is remembered another MAC and another end; returns how many next hops that are. */
static int remembered_set(fl_u64 until)
{
	int map = bpf_map__fd(program->maps.hops), cpus = libbpf_num_possible_cpus(), cpu, count = 0;
	size_t size = bpf_map__value_size(program->maps.hops);
	char *values = calloc((size_t)cpus, size);
	__u32 slot;

	assert_non_null(values);
	for (slot = 0; slot < bpf_map__max_entries(program->maps.hops); slot++) {
		assert_int_equal(bpf_map_lookup_elem(map, &slot, values), 0);
		for (cpu = 0; cpu < cpus; cpu++) {
			char *value = values + (size_t)cpu * size;
			fl_u64 was;

			memcpy(&was, value + 24, sizeof(was));
			if (!was)
				continue;
			count++;
			memcpy(value + 24, &until, sizeof(until));
			memcpy(value + 40, "\x02\x00\x00\x00\x00\xee", 6);
		}
		assert_int_equal(bpf_map_update_elem(map, &slot, values, BPF_ANY), 0);
	}
	free(values);
	return count;
}

/* Looked up once, then used until its tick, and then looked up again. */
static void remembered_and_over(void **state)
{
	static const struct seen known = {XDP_TX, 0x23}, changed = {XDP_TX, 0xee};

	(void)state;
	rig_hops_forget(program);
	check_seen(send_to("10.1.0.23", SOURCE_PORT), known);
	assert_int_equal(remembered_set(UINT64_MAX), 1);
	check_seen(send_to("10.1.0.23", SOURCE_PORT), changed);
	assert_int_equal(remembered_set(1), 1);
	check_seen(send_to("10.1.0.23", SOURCE_PORT), known);
}

/* Nothing but success is remembered: a neighbour that is resolved at last gets the next packet. */
static void failure_is_not_remembered(void **state)
{
	static const struct seen by_kernel = {XDP_PASS, 0}, known = {XDP_TX, 0x98};

	(void)state;
	rig_hops_forget(program);
	check_seen(send_to("10.1.0.98", SOURCE_PORT), by_kernel);
	rig_command("ip neigh replace 10.1.0.98 lladdr 02:00:00:00:00:98 nud permanent dev rig0");
	check_seen(send_to("10.1.0.98", SOURCE_PORT), known);
	rig_command("ip neigh del 10.1.0.98 dev rig0");
	rig_hops_forget(program);
}

/* Servers that share places, asked in turns. */
static void places_are_shared(void **state)
{
	static const struct seen first = {XDP_TX, 0x21}, second = {XDP_TX, 0x23};
	char address[32];
	int round, i;

	(void)state;
	rig_command("ip route add 10.8.0.0/16 via 10.1.0.21 && ip route add 10.9.0.0/16 via 10.1.0.23");
	rig_hops_forget(program);
	for (round = 0; round < 2; round++)
		for (i = 0; i < SERVERS; i++) {
			snprintf(address, sizeof(address), "10.8.%d.%d", i / 200, 1 + i % 200);
			check_seen(send_to(address, SOURCE_PORT), first);
			snprintf(address, sizeof(address), "10.9.%d.%d", i / 200, 1 + i % 200);
			check_seen(send_to(address, SOURCE_PORT), second);
		}
	rig_command("ip route del 10.8.0.0/16 && ip route del 10.9.0.0/16");
	rig_hops_forget(program);
}

/* A route over two next hops, by ports: each has some of the connections. Of 32 paths all are one with 1 in 2^31. */
static void paths_are_spread(void **state)
{
	static const char *const servers[] = {"10.8.0.1", "10.8.0.2", "10.8.0.3", "10.8.0.4"};
	unsigned int to_first = 0, to_second = 0, server;
	fl_u16 i;

	(void)state;
	rig_command("echo 1 > /proc/sys/net/ipv4/fib_multipath_hash_policy && ip route add 10.8.0.0/16"
		    " nexthop via 10.1.0.21 nexthop via 10.1.0.23");
	rig_hops_forget(program);
	for (server = 0; server < 4; server++)
		for (i = 0; i < PORTS; i++) {
			struct seen seen = send_to(servers[server], (fl_u16)(SOURCE_PORT + i));

			to_first += seen.mac == 0x21;
			to_second += seen.mac == 0x23;
		}
	rig_command("ip route del 10.8.0.0/16");
	rig_hops_forget(program);
	assert_int_equal(to_first + to_second, 4 * PORTS);
	assert_true(to_first && to_second);
}

int main(void)
{
	static const struct {
		const char *name;
		CMUnitTestFunction run;
	} cases[] = {
	    {"a next hop is remembered, and looked up again when it is over", remembered_and_over},
	    {"only success is remembered", failure_is_not_remembered},
	    {"servers that share places", places_are_shared},
	    {"two paths are both used", paths_are_spread},
	};
	struct config config = rig_config_both();
	struct vectors_tests tests = {NULL, 0};
	size_t i;
	int failed;

	rig_stay(); /* each processor remembers for itself */
	rig_open();
	program = rig_load(&config);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		vectors_add_plain(&tests, cases[i].name, cases[i].run, NULL);
	for (i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		vectors_add_plain(&tests, changes[i].name, followed, (void *)(uintptr_t)&changes[i]);
	failed = vectors_run("next hops of the XDP program", &tests);
	program_close(program);
	return failed;
}
