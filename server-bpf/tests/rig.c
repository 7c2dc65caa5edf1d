// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "counters.h"
#include "program.h"
#include "../skeleton.h"
#include "connection.h"
#include "rig.h"
#include "sockets.h"
#include "vectors.h"

/* Clients that are no addresses of this namespace. */
#define OUTSIDE4 "10.2.1.3"
#define OUTSIDE6 "2001:db8:2::3"

enum {
	ANSWER_MILLISECONDS = 30000, /* on a busy host; else a few */
	HTTP_PORT = 80,
	MPTCP_PORT = 8080,
	CONNECTED_PORT = 53,
	UNCONNECTED_PORT = 54,
	FIRST_SEQUENCE = 1000,
	FRESH_SECONDS = 20,     /* the kernel takes a cookie for one to two minutes, and keeps a TIME-WAIT for one */
	ELSEWHERE = 0x05010101, /* by how much the numbers of a connection that another host has differ from ours */
	CLUSTERS = 8,
	WINDOW = 0x8000, /* less than what a server offers a client */
};

static struct rig_packets packets[RIG_FAMILIES];
static unsigned int rig0;
static int wire;
static fl_u64 counters_before[FL_COUNTERS];
static int listeners[RIG_FAMILIES][2]; /* of each a plain one, and one that speaks MPTCP */
static time_t perishable_made;         /* by the monotonic clock */

static void give_up(const char *what)
{
	fprintf(stderr, "rig: %s: %s\n", what, strerror(errno));
	exit(1);
}

void rig_command(const char *format, ...)
{
	char line[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	if (system(line)) {
		fprintf(stderr, "rig: failed: %s\n", line);
		exit(1);
	}
}

void rig_stay(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		give_up("one processor");
}

static void sysctl(const char *key, const char *value)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/sys/net/%s", key);
	file = fopen(path, "we");
	if (!file || fputs(value, file) < 0 || fclose(file))
		give_up(path);
}

static void network_make(void)
{
	rig_command("ip link set lo up && ip addr add " RIG_VIP4 "/32 dev lo && ip addr add 10.2.1.2/32 dev lo");
	rig_command("ip addr add " RIG_VIP6 "/128 dev lo && ip addr add 2001:db8:2::2/128 dev lo");
	/* No packet is for rig1's MAC: the kernel would forward what rig1 accepted, out of rig0, 64 times. */
	rig_command("ip link add rig0 address 02:00:00:00:00:02 type veth peer name rig1 address 02:00:00:00:00:ff");
	rig_command("ip link set rig1 addrgenmode none up && ip link set rig0 addrgenmode none up");
	rig_command("ip addr add 10.1.0.2/24 dev rig0 && ip addr add 2001:db8:1::2/64 dev rig0 nodad");
	rig_command("for host in 1 11 12 21 22 23 24; do"
		    " ip neigh add 10.1.0.$host lladdr 02:00:00:00:00:$host dev rig0 || exit 1; done");
	rig_command("for host in 1 11 12 21 23 24; do"
		    " ip neigh add 2001:db8:1::$host lladdr 02:00:00:00:00:$host dev rig0 || exit 1; done");
	rig_command("ip route add default via 10.1.0.1 && ip -6 route add default via 2001:db8:1::1");
	rig_command("ip route add unreachable 10.3.0.0/16 && ip -6 route add unreachable 2001:db8:3::/48");
	sysctl("ipv4/conf/rig0/forwarding", "1");
	sysctl("ipv6/conf/all/forwarding", "1");
	sysctl("ipv6/conf/rig0/forwarding", "1");
	sysctl("ipv4/conf/rig0/rp_filter", "0");
	sysctl("ipv4/conf/all/rp_filter", "0");
	sysctl("ipv4/tcp_synack_retries", "10"); /* half-open ones outlive the test */
	rig0 = if_nametoindex("rig0");
}

/* Waits for the SYN-ACK to a client's SYN at the wire's other end; returns its sequence number. */
static fl_u32 syn_ack_await(const struct packet_flow *flow)
{
	struct pollfd poll_in = {.fd = wire, .events = POLLIN};
	bool ipv4 = fl_address_is_ipv4(&flow->source);
	size_t ip_len = ipv4 ? 20 : 40;
	fl_u8 frame[PACKET_MAX];

	while (poll(&poll_in, 1, ANSWER_MILLISECONDS) > 0) {
		ssize_t len = recv(wire, frame, sizeof(frame), 0);
		const fl_u8 *tcp = frame + FL_ETHERNET_LEN + ip_len;

		if (len < (ssize_t)(FL_ETHERNET_LEN + ip_len + 20) ||
		    fl_load_be16(frame + 12) != (ipv4 ? ETHERTYPE_IP : ETHERTYPE_IPV6) ||
		    tcp[13] != (TCP_SYN | TCP_ACK) || fl_load_be16(tcp + 2) != flow->source_port)
			continue;
		return fl_load_be32(tcp + 4);
	}
	fprintf(stderr, "rig: no SYN-ACK came within %d ms\n", ANSWER_MILLISECONDS);
	exit(1);
}

/* Sends a client's SYN to lo, independently of what a test does to rig0. */
static void syn_send(const struct packet_tcp *syn)
{
	struct sockaddr_storage storage;
	socklen_t len = sockets_name(&syn->flow.destination, 0, &storage);
	int fd = socket(storage.ss_family, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);
	struct packet packet = {.len = 0};

	packet_add_tcp(&packet, syn);
	if (fd < 0 || sendto(fd, packet.data, packet.len, 0, (struct sockaddr *)&storage, len) < 0)
		give_up("a raw socket");
	close(fd);
}

/* Starts a client's handshake; returns the ACK that would complete it, which is not sent. */
static struct packet_tcp handshake_begin(struct packet_tcp syn)
{
	syn_send(&syn);
	syn.acknowledgement = syn_ack_await(&syn.flow) + 1;
	syn.sequence++;
	syn.flags = TCP_ACK;
	return syn;
}

static struct packet_tcp tcp_from(const struct fl_address *client, fl_u16 client_port, const struct fl_address *vip,
				  fl_u16 vip_port, fl_u8 flags)
{
	struct packet_tcp tcp = {{*client, *vip, client_port, vip_port}, flags, FIRST_SEQUENCE, 0};

	return tcp;
}

static void udp_make(struct rig_packets *p, const struct fl_address *client, const struct fl_address *outside,
		     const struct fl_address *vip)
{
	int connected = sockets_bind(SOCK_DGRAM, 0, vip, CONNECTED_PORT);

	sockets_connect(connected, client, 5353);
	sockets_bind(SOCK_DGRAM, 0, vip, UNCONNECTED_PORT);
	p->udp_connected = (struct packet_flow){*client, *vip, 5353, CONNECTED_PORT};
	p->udp_other = (struct packet_flow){*outside, *vip, 5353, CONNECTED_PORT};
	p->udp_unconnected = (struct packet_flow){*client, *vip, 5353, UNCONNECTED_PORT};
}

/* One that is open, and others of its two ends. */
static void established_make(struct rig_connection *made, const struct connection_ends *ends)
{
	made->established = connection_establish(ends);
	made->established_elsewhere = made->established;
	made->established_elsewhere.acknowledgement += ELSEWHERE;
	made->established_before = made->established;
	made->established_before.acknowledgement -= ELSEWHERE;
	made->established_ahead = made->established;
	made->established_ahead.sequence += ELSEWHERE;
	made->established_behind = made->established;
	made->established_behind.sequence -= ELSEWHERE;
	made->established_again = made->established;
	made->established_again.sequence -= WINDOW;
	made->established_filling = made->established;
	made->established_filling.sequence += WINDOW;
}

/* One that the server has closed, and others of its two ends. */
static void time_wait_make(struct rig_connection *made, const struct connection_ends *ends)
{
	made->time_wait = connection_time_wait(ends);
	made->time_wait_later = made->time_wait;
	made->time_wait_later.acknowledgement += 1;
	made->time_wait_reset = made->time_wait;
	made->time_wait_reset.flags = TCP_RST;
	made->time_wait_later_reset = made->time_wait_reset;
	made->time_wait_later_reset.sequence += ELSEWHERE;
}

static struct connection_ends ends_of(enum rig_family family, enum rig_pair pair)
{
	bool is_mptcp_listener = pair == RIG_MPTCP_LISTENER || pair == RIG_MPTCP_BOTH;
	bool is_mptcp_client = pair == RIG_MPTCP_CLIENT || pair == RIG_MPTCP_BOTH;

	return (struct connection_ends){
	    .client = packet_address(family == RIG_IPV4 ? "10.2.1.2" : "2001:db8:2::2"),
	    .vip = packet_address(family == RIG_IPV4 ? RIG_VIP4 : RIG_VIP6),
	    .port = is_mptcp_listener ? MPTCP_PORT : HTTP_PORT,
	    .client_protocol = is_mptcp_client ? IPPROTO_MPTCP : 0,
	    .listener = listeners[family][is_mptcp_listener],
	};
}

/* Sockets stay open until the test's process ends. */
static void sockets_make(enum rig_family family)
{
	struct fl_address outside = packet_address(family == RIG_IPV4 ? OUTSIDE4 : OUTSIDE6);
	struct connection_ends ends = ends_of(family, RIG_PLAIN);
	struct rig_packets *p = &packets[family];
	const struct fl_address vip = ends.vip;
	int pair;

	listeners[family][0] = sockets_listen(0, &vip, HTTP_PORT);
	listeners[family][1] = sockets_listen(IPPROTO_MPTCP, &vip, MPTCP_PORT);
	for (pair = 0; pair < RIG_PAIRS; pair++) {
		ends = ends_of(family, (enum rig_pair)pair);
		established_make(&p->connections[pair], &ends);
	}
	p->syn = tcp_from(&outside, 1001, &vip, HTTP_PORT, TCP_SYN);
	p->unknown = tcp_from(&outside, 1002, &vip, HTTP_PORT, TCP_ACK);
	p->no_listener = tcp_from(&outside, 1002, &vip, 81, TCP_ACK);
	p->established = p->connections[RIG_PLAIN].established;
	sysctl("ipv4/tcp_syncookies", "1");
	p->half_open = handshake_begin(tcp_from(&outside, 1003, &vip, HTTP_PORT, TCP_SYN));
	p->half_open_elsewhere = p->half_open;
	p->half_open_elsewhere.acknowledgement += 1;
	p->half_open_mptcp = handshake_begin(tcp_from(&outside, 1005, &vip, MPTCP_PORT, TCP_SYN));
	p->half_open_mptcp_elsewhere = p->half_open_mptcp;
	p->half_open_mptcp_elsewhere.acknowledgement += 1;
	sysctl("ipv4/tcp_syncookies", "2");
	udp_make(p, &ends.client, &outside, &vip);
}

static void cookie_make(struct rig_packets *p, const char *vip_text, const char *outside_text)
{
	struct fl_address vip = packet_address(vip_text), outside = packet_address(outside_text);

	p->cookie_ack = handshake_begin(tcp_from(&outside, 1004, &vip, HTTP_PORT, TCP_SYN));
	p->bad_cookie = p->cookie_ack;
	p->bad_cookie.acknowledgement += 0x01010101;
}

/* Cookies and closed connections: neither lasts. */
static void perishable_make(void)
{
	struct timespec now;
	int family, pair;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (perishable_made && now.tv_sec < perishable_made + FRESH_SECONDS)
		return;
	wire = sockets_sniff("rig1");
	cookie_make(&packets[RIG_IPV4], RIG_VIP4, OUTSIDE4);
	cookie_make(&packets[RIG_IPV6], RIG_VIP6, OUTSIDE6);
	close(wire);
	for (family = 0; family < RIG_FAMILIES; family++) {
		for (pair = 0; pair < RIG_PAIRS; pair++) {
			struct connection_ends ends = ends_of((enum rig_family)family, (enum rig_pair)pair);

			time_wait_make(&packets[family].connections[pair], &ends);
		}
		packets[family].time_wait = packets[family].connections[RIG_PLAIN].time_wait;
	}
	perishable_made = now.tv_sec;
}

void rig_open(void)
{
	if (unshare(CLONE_NEWNET))
		give_up("its own network namespace; this test must run as root");
	network_make();
	wire = sockets_sniff("rig1");
	sockets_make(RIG_IPV4);
	sockets_make(RIG_IPV6);
	close(wire);
}

const struct rig_packets *rig_packets(enum rig_family family)
{
	perishable_make();
	return &packets[family];
}

unsigned int rig_interface(void)
{
	return rig0;
}

struct config rig_config(void)
{
	struct config config = config_default;

	config.program.quiet = 0;
	if (config_set(&config, "address", RIG_SELF) || config_set(&config, "peers", "10.1.0.0/24") ||
	    config_set(&config, "servers", "10.3.0.0/16,10.4.0.0/16,10.8.0.0/15"))
		exit(1);
	return config;
}

struct config rig_config_both(void)
{
	struct config config = rig_config();

	if (config_set(&config, "address", RIG_SELF "," RIG_SELF6) ||
	    config_set(&config, "peers", "10.1.0.0/24,2001:db8:1::/64") ||
	    config_set(&config, "servers",
		       "10.3.0.0/16,10.4.0.0/16,10.8.0.0/15,2001:db8::/64,2001:db8:3::/48,2001:db8:8::/48"))
		exit(1);
	return config;
}

/* The keys of one cluster's services are made once, and freed with the test's process. */
void rig_tag(struct config *config, const struct fl_siphash_key *cluster)
{
	static struct {
		struct fl_siphash_key cluster;
		struct fl_service_keys *services;
	} made[CLUSTERS];
	const struct fl_address self[2] = {config->program.self, config->program.self6};
	const struct keys_file file = {.is_cluster = true, .cluster = {{*cluster, *cluster}}};
	unsigned int i = 0;

	if (keys_make(&file, "key", self, &config->keys))
		exit(1);
	while (made[i].services && memcmp(&made[i].cluster, cluster, sizeof(*cluster)) != 0)
		if (++i == CLUSTERS)
			give_up("more clusters than expected");
	if (made[i].services) {
		free(config->keys.services);
		config->keys.services = made[i].services;
	}
	made[i].cluster = *cluster;
	made[i].services = config->keys.services;
	config->program.tagged = 1;
}

struct fl_server *rig_load(const struct config *config)
{
	struct running nothing = {.mode = NULL};
	struct fl_server *program = program_load(config, &nothing);

	if (!program)
		exit(1);
	return program;
}

static fl_u64 counter_read(struct fl_server *program, __u32 slot)
{
	int cpus = libbpf_num_possible_cpus(), cpu;
	fl_u64 values[cpus > 0 ? cpus : 1], sum = 0;

	if (bpf_map_lookup_elem(bpf_map__fd(program->maps.counters), &slot, values))
		give_up("counters");
	for (cpu = 0; cpu < cpus; cpu++)
		sum += values[cpu];
	return sum;
}

void rig_counter_set(struct fl_server *program, enum fl_counter counter, fl_u64 value)
{
	int cpus = libbpf_num_possible_cpus(), cpu;
	fl_u64 values[cpus > 0 ? cpus : 1];
	__u32 slot = counter;

	for (cpu = 0; cpu < cpus; cpu++)
		values[cpu] = value;
	if (bpf_map_update_elem(bpf_map__fd(program->maps.counters), &slot, values, BPF_ANY))
		give_up("counters");
}

fl_u64 rig_counter(struct fl_server *program, enum fl_counter counter)
{
	return counter_read(program, counter);
}

int rig_run(struct fl_server *program, struct packet *packet)
{
	struct packet out = {.len = 0};
	struct xdp_md context = {.data_end = (__u32)packet->len, .ingress_ifindex = rig0};
	LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = packet->data, .data_size_in = (__u32)packet->len,
		    .data_out = out.data, .data_size_out = sizeof(out.data), .ctx_in = &context,
		    .ctx_size_in = sizeof(context), .repeat = 1);
	__u32 slot;

	for (slot = 0; slot < FL_COUNTERS; slot++)
		counters_before[slot] = counter_read(program, slot);
	if (bpf_prog_test_run_opts(bpf_program__fd(program->progs.fairlead_server), &options))
		give_up("BPF_PROG_TEST_RUN");
	out.len = options.data_size_out;
	*packet = out;
	return (int)options.retval;
}

enum fl_counter rig_counter_bumped(struct fl_server *program)
{
	__u32 slot, found = FL_COUNTERS;
	int by = 0;

	for (slot = 0; slot < FL_COUNTERS; slot++) {
		fl_u64 grown = counter_read(program, slot) - counters_before[slot];

		if (!fl_counter_is_exit((enum fl_counter)slot) || !grown)
			continue;
		by += (int)grown;
		found = slot;
	}
	return by == 1 ? (enum fl_counter)found : FL_COUNTERS;
}

void rig_check_counted(struct fl_server *program, enum fl_counter expected)
{
	enum fl_counter counter = rig_counter_bumped(program);

	if (counter != expected)
		fail_msg("counted as %s, not as %s",
			 counter < FL_COUNTERS ? fl_counter_names[counter] : "none or several",
			 fl_counter_names[expected]);
}

struct fl_list rig_list(enum rig_family inner)
{
	return (struct fl_list){.inner_protocol = inner == RIG_IPV4 ? FL_LIST_GUE_IPV4 : FL_LIST_GUE_IPV6,
				.service = RIG_SERVICE,
				.generation = RIG_GENERATION};
}

void rig_begin(struct packet *packet, const struct fl_list *list)
{
	struct fl_address mux = packet_address(RIG_MUX), self = packet_address(RIG_SELF);
	fl_u8 gue[FL_LIST_MAX_LEN];
	fl_u32 len = fl_list_write(list, gue);

	packet_begin_outer(packet, &mux, &self, FL_LIST_GUE_PORT);
	packet_add_bytes(packet, gue, len);
}

void rig_generation_set(struct fl_server *program, fl_u32 generation)
{
	__u32 slot = RIG_SERVICE;

	if (bpf_map_update_elem(bpf_map__fd(program->maps.generations), &slot, &generation, BPF_ANY))
		give_up("generations");
}

fl_u32 rig_generation_get(struct fl_server *program)
{
	__u32 slot = RIG_SERVICE, generation;

	if (bpf_map_lookup_elem(bpf_map__fd(program->maps.generations), &slot, &generation))
		give_up("generations");
	return generation;
}

void rig_hops_forget(struct fl_server *program)
{
	int map = bpf_map__fd(program->maps.hops), cpus = libbpf_num_possible_cpus();
	size_t size = bpf_map__value_size(program->maps.hops) * (size_t)(cpus > 0 ? cpus : 0);
	void *nothing = cpus > 0 ? calloc(1, size) : NULL;
	__u32 slot;

	if (!nothing)
		give_up("processors");
	for (slot = 0; slot < bpf_map__max_entries(program->maps.hops); slot++)
		if (bpf_map_update_elem(map, &slot, nothing, BPF_ANY))
			give_up("hops");
	free(nothing);
}

void rig_load_set(struct fl_server *program, const struct fl_load_setting *setting)
{
	struct fl_load_setting counting = setting ? *setting : (struct fl_load_setting){0};
	struct fl_load_state fresh = {0};
	__u32 slot = RIG_SERVICE;

	counting.until_ns = setting ? UINT64_MAX : 0;
	if (bpf_map_update_elem(bpf_map__fd(program->maps.load_settings), &slot, &counting, BPF_ANY) ||
	    bpf_map_update_elem(bpf_map__fd(program->maps.load_states), &slot, &fresh, BPF_ANY))
		give_up("load");
}

struct fl_load_state rig_load_get(struct fl_server *program)
{
	__u32 slot = RIG_SERVICE;
	struct fl_load_state state;

	if (bpf_map_lookup_elem(bpf_map__fd(program->maps.load_states), &slot, &state))
		give_up("load");
	return state;
}
