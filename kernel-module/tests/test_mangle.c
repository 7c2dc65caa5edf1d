// SPDX-License-Identifier: Apache-2.0
/*
 * Real connections through a server that mangles: its application listens on its own addresses, and knows no VIP.
 *
 *	this namespace: client and mux in one				namespace of the server
 *	client 10.2.1.2, 2001:db8:2::2 (lo)				eth0 10.1.0.21, 2001:db8:1::21
 *	VIPs 10.99.0.1, 10.99.0.2, 2001:db8:99::1 -> tun0 -> mux thread	echo on TCP and UDP 80, the module
 *	mux 10.1.0.11 (lo)			to-server ----------------'
 *
 * The mux takes packets with offloads, as large as TCP makes them and with sums still to be completed, and hands them
 *on like that: the server gets what GRO or a virtual machine's interface would give it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <linux/sockios.h>
#include <linux/virtio_net.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "vectors.h"
#include "stand.h"

#define SELF      "10.1.0.21"
#define SELF6     "2001:db8:1::21"
#define CLIENT4   "10.2.1.2"
#define CLIENT6   "2001:db8:2::2"
#define OTHER_VIP "10.99.0.2"
#define SELF_MAC  "02:00:00:00:00:22" /* as packet_begin_outer() has them */
#define MUX_MAC   "02:00:00:00:00:11"

enum {
	PORT = 80,
	CLOSED_PORT = 81,
	CLIENT_PORT = 40000,
	SOCKETS = 64,
	ANSWER_SECONDS = 5,
	BULK = 2 << 20,
	CHUNK = 8192,
	PACKET_LARGEST = 65535,
	FRAGMENTED = 3000,
	MTU_TOLD = 1400, /* by packet_add_icmp_error() */
	FORGOTTEN_SECONDS = 40,
};

struct mux_packet {
	struct virtio_net_hdr offload;
	fl_u8 bytes[PACKET_LARGEST];
} __attribute__((packed));

static struct {
	int tun, out, out_to;
	bool plain; /* the mux computes all sums, as one on another machine would have got them */
	pthread_t thread;
} mux;

static struct {
	int namespace;
	struct module_client module;
	struct pollfd sockets[SOCKETS]; /* two listeners and two of UDP first */
	nfds_t count;
	pthread_t thread;
	volatile int accepted; /* the last one */
} server;

static int here;
static fl_u16 next_port = CLIENT_PORT;

static void give_up(const char *what)
{
	fprintf(stderr, "mangle: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void enter(int namespace)
{
	if (setns(namespace, CLONE_NEWNET))
		give_up("setns");
}

struct end {
	union {
		struct sockaddr any;
		struct sockaddr_in ipv4;
		struct sockaddr_in6 ipv6;
	} address;
	socklen_t len;
};

static struct end end_of(const char *address, fl_u16 port)
{
	struct end end = {.len = sizeof(end.address.ipv4)};

	if (inet_pton(AF_INET, address, &end.address.ipv4.sin_addr) == 1) {
		end.address.ipv4.sin_family = AF_INET;
		end.address.ipv4.sin_port = htons(port);
		return end;
	}
	memset(&end, 0, sizeof(end));
	end.len = sizeof(end.address.ipv6);
	end.address.ipv6.sin6_family = AF_INET6;
	end.address.ipv6.sin6_port = htons(port);
	inet_pton(AF_INET6, address, &end.address.ipv6.sin6_addr);
	return end;
}

static int socket_bound(int type, const char *address, fl_u16 port)
{
	struct timeval deadline = {.tv_sec = ANSWER_SECONDS};
	struct end end = end_of(address, port);
	int one = 1, fd = socket(end.address.any.sa_family, type | SOCK_CLOEXEC, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, &end.address.any, end.len))
		give_up(address);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof(deadline));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &deadline, sizeof(deadline));
	return fd;
}

/* Writes what stands in front of the inner packet, in a frame; returns its length. */
static size_t frame_write(struct mux_packet *out, const struct mux_packet *in, size_t len)
{
	struct fl_steer steer = {
	    .inner_protocol = in->bytes[0] >> 4 == 4 ? FL_GUE_PROTO_IPV4 : FL_GUE_PROTO_IPV6,
	    .service = 1,
	    .bucket = 7,
	    .generation = 12,
	};
	struct fl_address from = packet_address("10.1.0.11"), to = packet_address(SELF);
	fl_u8 gue[FL_GUE_BASE_LEN + FL_STEER_MAX_LEN], *ip;
	struct packet head;

	packet_begin_outer(&head, &from, &to, FL_GUE_PORT);
	packet_add_bytes(&head, gue, fl_steer_write(&steer, gue));
	ip = head.data + PACKET_OUTER_AT;
	fl_store_be16(head.data + PACKET_UDP_AT + 4, (fl_u16)(head.len - PACKET_UDP_AT + len));
	fl_store_be16(ip + 2, (fl_u16)(head.len - PACKET_OUTER_AT + len));
	fl_store_be16(ip + 10, 0);
	fl_store_be16(ip + 10, packet_checksum(ip, 20, 0));
	out->offload = in->offload;
	out->offload.hdr_len = (fl_u16)(out->offload.hdr_len ? out->offload.hdr_len + head.len : 0);
	if (out->offload.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)
		out->offload.csum_start = (fl_u16)(out->offload.csum_start + head.len);
	memcpy(out->bytes, head.data, head.len);
	memcpy(out->bytes + head.len, in->bytes, len);
	return sizeof(out->offload) + head.len + len;
}

static void *mux_run(void *unused)
{
	static struct mux_packet in, out;
	struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = mux.out_to, .sll_protocol = htons(ETH_P_IP)};
	ssize_t len;

	(void)unused;
	while ((len = read(mux.tun, &in, sizeof(in))) > (ssize_t)sizeof(in.offload)) {
		size_t frame_len = frame_write(&out, &in, (size_t)len - sizeof(in.offload));

		sendto(mux.out, &out, frame_len, 0, (struct sockaddr *)&to, sizeof(to));
	}
	return NULL;
}

/* Whether tun0 may hand over large packets and sums to be completed. */
static void mux_offloads(bool on)
{
	if (ioctl(mux.tun, TUNSETOFFLOAD, on ? TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 : 0))
		give_up("TUNSETOFFLOAD");
}

static void mux_open(void)
{
	struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR, .ifr_name = "tun0"};
	int one = 1;

	mux.tun = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
	if (mux.tun < 0 || ioctl(mux.tun, TUNSETIFF, &request))
		give_up("tun0");
	mux_offloads(true);
	rig_command("ip link set tun0 up mtu 1400 gso_max_size 32768");
	rig_command("ip route add 10.99.0.0/24 dev tun0 src " CLIENT4);
	rig_command("ip -6 route add 2001:db8:99::/64 dev tun0 src " CLIENT6);
	mux.out = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	mux.out_to = (int)if_nametoindex("to-server");
	if (mux.out < 0 || setsockopt(mux.out, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof(one)))
		give_up("a packet socket");
	pthread_create(&mux.thread, NULL, mux_run, NULL);
}

/* Sends back what came; a connection that has ended is closed. */
static void server_answer(struct pollfd *socket, bool is_udp)
{
	static char data[CHUNK];
	struct end from = {.len = sizeof(from.address)};
	ssize_t len = recvfrom(socket->fd, data, sizeof(data), 0, &from.address.any, &from.len);

	if (is_udp && len >= 0) {
		sendto(socket->fd, data, (size_t)len, 0, &from.address.any, from.len);
	} else if (len > 0) {
		send(socket->fd, data, (size_t)len, MSG_NOSIGNAL);
	} else if (!is_udp && !(len < 0 && errno == EAGAIN)) {
		close(socket->fd);
		socket->fd = -1;
	}
}

static void *server_run(void *unused)
{
	(void)unused;
	while (poll(server.sockets, server.count, -1) >= 0) {
		nfds_t i;

		for (i = 2; i < server.count; i++)
			if (server.sockets[i].revents)
				server_answer(&server.sockets[i], i < 4);
		for (i = 0; i < 2; i++)
			if (server.sockets[i].revents && server.count < SOCKETS) {
				server.accepted = accept(server.sockets[i].fd, NULL, NULL);
				server.sockets[server.count] = (struct pollfd){.fd = server.accepted, .events = POLLIN};
				server.count++;
			}
	}
	return NULL;
}

static void server_listen(int type, const char *address)
{
	int fd = socket_bound(type, address, PORT);

	if (type == SOCK_STREAM && listen(fd, SOCKETS))
		give_up("listen");
	server.sockets[server.count++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

static void server_open(void)
{
	static struct config config;

	if (unshare(CLONE_NEWNET))
		give_up("a network namespace");
	server.namespace = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	rig_command("ip link set lo up");
	rig_command("ip link add eth0 address " SELF_MAC " type veth peer name to-server address " MUX_MAC);
	rig_command("ip link set to-server netns /proc/%d/fd/%d", getpid(), here);
	rig_command("ip addr add " SELF "/32 dev eth0 && ip addr add " SELF6 "/128 dev eth0 nodad");
	rig_command("ip link set eth0 up && ip route add default dev eth0 && ip -6 route add default dev eth0");
	rig_command("echo 0 > /proc/sys/net/ipv4/conf/all/rp_filter");
	rig_command("echo 0 > /proc/sys/net/ipv4/conf/eth0/rp_filter");
	rig_command("ip neigh add " CLIENT4 " lladdr " MUX_MAC " dev eth0");
	rig_command("ip neigh add " CLIENT6 " lladdr " MUX_MAC " dev eth0");
	server_listen(SOCK_STREAM, SELF);
	server_listen(SOCK_STREAM, SELF6);
	server_listen(SOCK_DGRAM, SELF);
	server_listen(SOCK_DGRAM, SELF6);
	config = config_default;
	config_set_address(&config, "address", SELF "," SELF6);
	config_set_peers(&config, "peers", "10.1.0.0/24");
	config.program.mangle = 1;
	if (module_open(&server.module) ||
	    module_set(&server.module, &config.program, config.peers, config.peer_count)) {
		fprintf(stderr, "mangle: %s\n", server.module.error);
		exit(1);
	}
	enter(here);
	rig_command("ip link set to-server up");
	rig_command("ip route add " SELF " dev to-server src " CLIENT4);
	rig_command("ip -6 route add " SELF6 " dev to-server src " CLIENT6);
	rig_command("echo 0 > /proc/sys/net/ipv4/conf/to-server/rp_filter");
	rig_command("ip neigh add " SELF " lladdr " SELF_MAC " dev to-server");
	rig_command("ip neigh add " SELF6 " lladdr " SELF_MAC " dev to-server");
	pthread_create(&server.thread, NULL, server_run, NULL);
}

static void network_open(void)
{
	if (unshare(CLONE_NEWNET))
		give_up("a network namespace");
	here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	rig_command("ip link set lo up");
	rig_command("echo 0 > /proc/sys/net/ipv4/conf/all/rp_filter");
	rig_command("ip addr add " CLIENT4 "/32 dev lo && ip addr add " CLIENT6 "/128 dev lo nodad");
	server_open();
	mux_open();
}

static void state_read(struct module_state *state)
{
	if (module_get(&server.module, state))
		fail_msg("%s", server.module.error);
}

static fl_u64 counter(enum fl_counter counter)
{
	static struct module_state state;

	state_read(&state);
	return state.counters[counter];
}

static void await(enum fl_counter what, fl_u64 above)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	int tries;

	for (tries = 0; tries < ANSWER_SECONDS * 1000; tries++) {
		if (counter(what) > above)
			return;
		nanosleep(&pause, NULL);
	}
	fail_msg("the counter never grew");
}

static const struct path {
	const char *name, *client, *vip, *self;
} paths[] = {
    {"IPv4", CLIENT4, "10.99.0.1", SELF},
    {"IPv6", CLIENT6, "2001:db8:99::1", SELF6},
};

/* Returns a socket, connected or with errno set to why not in *err. */
static int client_open(int type, const char *from, fl_u16 port, const char *to, fl_u16 to_port, int *err)
{
	struct end end = end_of(to, to_port);
	int fd = socket_bound(type, from, port);

	*err = connect(fd, &end.address.any, end.len) ? errno : 0;
	return fd;
}

static int client_connect(int type, const char *from, const char *to)
{
	int err, fd = client_open(type, from, next_port++, to, PORT, &err);

	if (err)
		fail_msg("connect to %s: %s", to, strerror(err));
	return fd;
}

static void expect_echo(int fd, const char *text)
{
	char answer[64] = "";
	size_t len = strlen(text);

	assert_int_equal(send(fd, text, len, MSG_NOSIGNAL), len);
	if (recv(fd, answer, len, MSG_WAITALL) != (ssize_t)len)
		fail_msg("no answer to '%s': %s", text, strerror(errno));
	assert_string_equal(answer, text);
}

static void tcp(void **state)
{
	const struct path *path = *state;
	int by_vip = client_connect(SOCK_STREAM, path->client, path->vip);
	int direct = client_connect(SOCK_STREAM, path->client, path->self);

	expect_echo(by_vip, "by the VIP");
	expect_echo(direct, "directly");
	expect_echo(by_vip, "by the VIP again");
	close(by_vip);
	close(direct);
}

static void closed_tcp(void **state)
{
	const struct path *path = *state;
	int err, fd = client_open(SOCK_STREAM, path->client, next_port++, path->vip, CLOSED_PORT, &err);

	assert_int_equal(err, ECONNREFUSED); /* the RST came from the VIP */
	close(fd);
}

/* A datagram, and one so large that fragments of it go both ways; a connected socket takes answers of the VIP alone. */
static void udp(void **state)
{
	static char large[FRAGMENTED], answer[FRAGMENTED + 1];
	const struct path *path = *state;
	int by_vip = client_connect(SOCK_DGRAM, path->client, path->vip), i;
	int direct = client_connect(SOCK_DGRAM, path->client, path->self);

	expect_echo(by_vip, "by the VIP");
	expect_echo(direct, "directly");
	for (i = 0; i < FRAGMENTED; i++)
		large[i] = (char)('a' + i % 23);
	assert_int_equal(send(by_vip, large, sizeof(large), 0), sizeof(large));
	assert_int_equal(recv(by_vip, answer, sizeof(answer), 0), sizeof(large));
	assert_memory_equal(answer, large, sizeof(large));
	close(by_vip);
	close(direct);
}

/* The host's own ICMP error leaves by the VIP and quotes it: the client's socket takes it for its own. */
static void closed_udp(void **state)
{
	const struct path *path = *state;
	char byte = 0;
	int err, fd = client_open(SOCK_DGRAM, path->client, next_port++, path->vip, CLOSED_PORT, &err);

	assert_int_equal(send(fd, &byte, 1, 0), 1);
	assert_int_equal(recv(fd, &byte, 1, 0), -1);
	assert_int_equal(errno, ECONNREFUSED);
	close(fd);
}

/* Sends all of it and takes all of it back, both at once. */
static void bulk(const struct path *path)
{
	static fl_u8 data[CHUNK], back[CHUNK];
	int fd = client_connect(SOCK_STREAM, path->client, path->vip);
	struct pollfd socket = {.fd = fd, .events = POLLIN | POLLOUT};
	size_t sent = 0, received = 0, i;

	while (received < BULK) {
		socket.events = (short)(POLLIN | (sent < BULK ? POLLOUT : 0));
		if (poll(&socket, 1, ANSWER_SECONDS * 1000) <= 0)
			fail_msg("%zu of %d bytes came back", received, BULK);
		if (socket.revents & POLLOUT && sent < BULK) {
			ssize_t len;

			for (i = 0; i < CHUNK; i++)
				data[i] = (fl_u8)((sent + i) * 31 >> 3);
			len = send(fd, data, CHUNK, MSG_DONTWAIT | MSG_NOSIGNAL);
			sent += len > 0 ? (size_t)len : 0;
		}
		if (socket.revents & POLLIN) {
			ssize_t len = recv(fd, back, CHUNK, MSG_DONTWAIT);

			if (len <= 0)
				fail_msg("the connection ended after %zu bytes", received);
			for (i = 0; i < (size_t)len; i++, received++)
				if (back[i] != (fl_u8)(received * 31 >> 3))
					fail_msg("byte %zu is another", received);
		}
	}
	close(fd);
}

/* Checksum offload of a veth end; without it the kernel computes what mangling left to be completed, and TSO ends. */
static void checksum_offload(const char *interface, bool on)
{
	struct ethtool_value value = {.cmd = ETHTOOL_STXCSUM, .data = on};
	struct ifreq request = {.ifr_data = (char *)&value};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", interface);
	if (fd < 0 || ioctl(fd, SIOCETHTOOL, &request))
		give_up("ETHTOOL_STXCSUM");
	close(fd);
}

static void bulk_offloaded(void **state)
{
	bulk(*state);
}

static void bulk_completed(void **state)
{
	mux_offloads(false);
	enter(server.namespace);
	checksum_offload("eth0", false);
	enter(here);
	bulk(*state);
	udp(state);
	enter(server.namespace);
	checksum_offload("eth0", true);
	enter(here);
	mux_offloads(true);
}

static void cookies(void **state)
{
	const struct path *path = *state;
	fl_u64 before = counter(FL_COUNTER_DELIVER_COOKIE_ACK);
	int fd;

	enter(server.namespace);
	rig_command("echo 2 > /proc/sys/net/ipv4/tcp_syncookies");
	enter(here);
	fd = client_connect(SOCK_STREAM, path->client, path->vip);
	expect_echo(fd, "a cookie");
	enter(server.namespace);
	rig_command("echo 1 > /proc/sys/net/ipv4/tcp_syncookies");
	enter(here);
	assert_true(counter(FL_COUNTER_DELIVER_COOKIE_ACK) > before);
	close(fd);
}

/* What the client expects next, which is what the server sends next. */
static fl_u32 sequence_expected(int fd)
{
	int on = 1, off = -1, queue = TCP_RECV_QUEUE;
	fl_u32 sequence = 0;
	socklen_t len = sizeof(sequence);

	if (setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on)) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_REPAIR_QUEUE, &queue, sizeof(queue)) ||
	    getsockopt(fd, IPPROTO_TCP, TCP_QUEUE_SEQ, &sequence, &len) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &off, sizeof(off)))
		fail_msg("TCP_REPAIR: %s", strerror(errno));
	return sequence;
}

/* A router's error about what the server sent comes to the VIP, and reaches the connection. */
static void mtu_is_learned(void **state)
{
	struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = mux.out_to, .sll_protocol = htons(ETH_P_IP)};
	int fd = client_connect(SOCK_STREAM, CLIENT4, "10.99.0.1"), mtu = 0, tries;
	struct packet quoted = {.len = 0}, error = {.len = 0};
	struct fl_address router = packet_address("192.0.2.1");
	const struct timespec pause = {.tv_nsec = 1000000};
	struct packet_tcp segment = {.flags = TCP_ACK};
	static struct mux_packet in, out;
	socklen_t mtu_len = sizeof(mtu);
	size_t len;

	(void)state;
	expect_echo(fd, "before");
	segment.sequence = sequence_expected(fd);
	segment.flow.source = packet_address("10.99.0.1");
	segment.flow.destination = packet_address(CLIENT4);
	segment.flow.source_port = PORT;
	segment.flow.destination_port = (fl_u16)(next_port - 1);
	packet_add_tcp(&quoted, &segment);
	packet_add_icmp_error(&error, &router, &quoted);
	memcpy(in.bytes, error.data, error.len);
	len = frame_write(&out, &in, error.len);
	assert_int_equal(sendto(mux.out, &out, len, 0, (struct sockaddr *)&to, sizeof(to)), len);
	for (tries = 0; tries < ANSWER_SECONDS * 1000 && mtu != MTU_TOLD; tries++) {
		assert_int_equal(getsockopt(server.accepted, IPPROTO_IP, IP_MTU, &mtu, &mtu_len), 0);
		nanosleep(&pause, NULL);
	}
	assert_int_equal(mtu, MTU_TOLD);
	expect_echo(fd, "after");
	close(fd);
}

/* The same two ends cannot have two connections: the first has them, and the other is refused without harm. */
static void conflicts(void **state)
{
	static const char *const first[] = {SELF, "10.99.0.1"}, *const second[] = {"10.99.0.1", OTHER_VIP};
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		fl_u64 before = counter(FL_COUNTER_DROP_MANGLE_CONFLICT);
		struct end end = end_of(second[i], PORT);
		int err, other, fd = client_open(SOCK_STREAM, CLIENT4, next_port, first[i], PORT, &err);

		assert_int_equal(err, 0);
		expect_echo(fd, "first");
		other = socket_bound(SOCK_STREAM | SOCK_NONBLOCK, CLIENT4, next_port++);
		assert_int_equal(connect(other, &end.address.any, end.len), -1);
		await(FL_COUNTER_DROP_MANGLE_CONFLICT, before);
		expect_echo(fd, "still");
		close(other);
		close(fd);
	}
}

/* Nothing that has ended is remembered for long. Connections are reset, so that no TIME-WAIT holds them. */
static void forgotten(void **state)
{
	struct linger reset = {.l_onoff = 1};
	static struct module_state module;
	const struct timespec pause = {.tv_nsec = 100000000};
	static struct config config;
	int fds[10], i, tries;

	(void)state;
	assert_int_equal(module_get(&server.module, &module), 0);
	config.program = module.config;
	assert_int_equal(module_detach(&server.module), 0);
	assert_int_equal(module_set(&server.module, &config.program, module.peers, module.peer_count), 0);
	for (i = 0; i < 10; i++) {
		fds[i] = client_connect(SOCK_STREAM, paths[i % 2].client, paths[i % 2].vip);
		expect_echo(fds[i], "known");
	}
	state_read(&module);
	assert_int_equal(module.flows, 10);
	for (i = 0; i < 9; i++) {
		setsockopt(fds[i], SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		close(fds[i]);
	}
	for (tries = 0; tries < FORGOTTEN_SECONDS * 10; tries++) {
		state_read(&module);
		if (module.flows == 1)
			break;
		nanosleep(&pause, NULL);
	}
	assert_int_equal(module.flows, 1);
	expect_echo(fds[9], "the idle one");
	close(fds[9]);
}

int main(void)
{
	static const struct {
		const char *name;
		CMUnitTestFunction function;
	} each[] = {
	    {"TCP by the VIP and directly", tcp},
	    {"a closed TCP port answers by the VIP", closed_tcp},
	    {"UDP by the VIP and directly, in fragments too", udp},
	    {"a closed UDP port answers by the VIP", closed_udp},
	    {"large packets with sums to be completed", bulk_offloaded},
	    {"small packets with whole sums", bulk_completed},
	    {"SYN cookies", cookies},
	};
	struct vectors_tests tests = {NULL, 0};
	static char names[2 * sizeof(each) / sizeof(each[0])][80];
	size_t i, family, n = 0;

	network_open();
	for (i = 0; i < sizeof(each) / sizeof(each[0]); i++)
		for (family = 0; family < 2; family++) {
			snprintf(names[n], sizeof(names[n]), "%s, %s", each[i].name, paths[family].name);
			vectors_add_plain(&tests, names[n++], each[i].function, (void *)(uintptr_t)&paths[family]);
		}
	vectors_add_plain(&tests, "a router's error reaches the connection", mtu_is_learned, NULL);
	vectors_add_plain(&tests, "two connections with the same ends", conflicts, NULL);
	vectors_add_plain(&tests, "what has ended is forgotten", forgotten, NULL);
	return vectors_run("mangling by the module", &tests);
}
