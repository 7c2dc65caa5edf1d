// SPDX-License-Identifier: Apache-2.0
/*
 * Real TCP connections through two servers in one kernel.
 *
 *	this namespace: client, router and mux in one		namespace "a"			namespace "b"
 *	client 10.2.1.2 (lo)					VIP 10.99.0.1 (lo), echo on port 80, the module
 *	VIP's route -> tun0 -> mux thread			eth0 10.1.0.21			eth0 10.1.0.22
 *	mux 10.1.0.11 (lo)                 to-a, to-b ------------'                                '
 *
 * The mux puts GUE and a list of the test's choice in front of the client's packets; of a SYN it names the owner alone.
 * Each server answers every line with its name in front.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <linux/if_tun.h>
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

#include <fairlead/ipip.h>

#include "form.h"
#include "vectors.h"
#include "stand.h"

enum {
	SERVERS = 2,
	CONNECTIONS = 32, /* of a server */
	LINE_MAX_LEN = 64,
	ANSWER_SECONDS = 30, /* that anything may take on a busy host */
	FLOOD = 1000,        /* SYNs */
	CLIENT_PORT = 40000,
	SERVICE = 1,
};

struct server {
	const char *name, *address;
	int namespace;
	struct genetlink module;
	struct pollfd sockets[1 + CONNECTIONS]; /* the listener first */
	nfds_t socket_count;
	pthread_t thread;
};

static struct server servers[SERVERS] = {{.name = "a", .address = "10.1.0.21"}, {.name = "b", .address = "10.1.0.22"}};

/* What the mux does; changed between packets by the tests. */
static struct {
	pthread_mutex_t lock;
	size_t owner;
	struct fl_list list;
	bool move_after_syn; /* to the other server, once the next SYN is sent */
	bool is_ipip;        /* in the paper's format */
	int tun, out, out_ipip;
	pthread_t thread;
} mux = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int here; /* this namespace */
static fl_u16 next_port = CLIENT_PORT;

static void give_up(const char *what)
{
	fprintf(stderr, "connection: %s: %s\n", what, strerror(errno));
	exit(1);
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

static struct sockaddr_in sockaddr_of(const char *address, fl_u16 port)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};

	inet_pton(AF_INET, address, &in.sin_addr);
	return in;
}

static int socket_bound(int type, const char *address, fl_u16 port)
{
	struct sockaddr_in in = sockaddr_of(address, port);
	int one = 1, fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, (struct sockaddr *)&in, sizeof(in)))
		give_up(address);
	return fd;
}

/* Sets the bucket's move to the other server in motion; the caller holds the lock. With two servers the list has one. */
static void move_locked(void)
{
	mux.list.candidate[0] = packet_address(servers[mux.owner].address);
	mux.list.count = mux.list.left = 1;
	mux.list.generation++;
	mux.owner = 1 - mux.owner;
}

/* Writes the headers in front of the inner packet; the kernel fills the outer header's checksum. */
static fl_u32 encapsulate(fl_u8 *out, size_t inner_len, bool is_syn, struct sockaddr_in to)
{
	struct fl_address self = packet_address("10.1.0.11");
	struct fl_ipip ipip = {.inner_len = (fl_u16)inner_len, .generation = mux.list.generation};
	struct fl_list list = mux.list;

	if (is_syn)
		list.count = list.left = 0;
	if (!mux.is_ipip)
		return fl_list_write(&list, out);
	memcpy(ipip.source, self.bytes + 12, 4);
	memcpy(ipip.destination, &to.sin_addr, 4);
	if (list.count) {
		ipip.since = (fl_u32)time(NULL);
		memcpy(ipip.previous, list.candidate[0].bytes + 12, 4);
	}
	fl_ipip_write(&ipip, out);
	return FL_IPIP_LEN;
}

static void *mux_run(void *unused)
{
	fl_u8 packet[PACKET_MAX];
	ssize_t len;

	(void)unused;
	while ((len = read(mux.tun, packet, sizeof(packet) / 2)) > 0) {
		fl_u8 datagram[FL_LIST_MAX_LEN + PACKET_MAX];
		struct sockaddr_in to;
		fl_u32 head;
		int out;

		if (packet[0] != 0x45 || packet[9] != IPPROTO_TCP)
			continue;
		pthread_mutex_lock(&mux.lock);
		to = sockaddr_of(servers[mux.owner].address, FL_LIST_GUE_PORT);
		head = encapsulate(datagram, (size_t)len, packet[33] == TCP_SYN, to);
		memcpy(datagram + head, packet, (size_t)len);
		out = mux.is_ipip ? mux.out_ipip : mux.out;
		if (mux.move_after_syn && packet[33] == TCP_SYN) {
			mux.move_after_syn = false;
			move_locked();
		}
		pthread_mutex_unlock(&mux.lock);
		sendto(out, datagram, head + (size_t)len, 0, (struct sockaddr *)&to, sizeof(to));
	}
	return NULL;
}

static void mux_open(void)
{
	struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI, .ifr_name = "tun0"};
	int one = 1;

	mux.tun = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
	if (mux.tun < 0 || ioctl(mux.tun, TUNSETIFF, &request))
		give_up("tun0");
	rig_command("ip link set tun0 up mtu 1400 && ip route add 10.99.0.1 dev tun0 src 10.2.1.2");
	mux.out = socket_bound(SOCK_DGRAM, "10.1.0.11", 0);
	setsockopt(mux.out, SOL_SOCKET, SO_NO_CHECK, &one, sizeof(one));
	mux.out_ipip = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);
	if (mux.out_ipip < 0)
		give_up("a raw socket");
	pthread_create(&mux.thread, NULL, mux_run, NULL);
}

/* Answers a line; a connection that has ended is closed. */
static void server_answer(const struct server *server, struct pollfd *socket)
{
	char line[LINE_MAX_LEN], answer[LINE_MAX_LEN + 8];
	ssize_t len = recv(socket->fd, line, sizeof(line) - 1, 0);

	if (len <= 0) {
		close(socket->fd);
		socket->fd = -1;
		return;
	}
	line[len] = '\0';
	len = snprintf(answer, sizeof(answer), "%s %s", server->name, line);
	send(socket->fd, answer, (size_t)len, MSG_NOSIGNAL);
}

static void *server_run(void *state)
{
	struct server *server = state;

	while (poll(server->sockets, server->socket_count, -1) >= 0) {
		nfds_t i;

		for (i = 1; i < server->socket_count; i++)
			if (server->sockets[i].revents)
				server_answer(server, &server->sockets[i]);
		if (server->sockets[0].revents && server->socket_count <= CONNECTIONS) {
			server->sockets[server->socket_count].fd = accept(server->sockets[0].fd, NULL, NULL);
			server->sockets[server->socket_count++].events = POLLIN;
		}
	}
	return NULL;
}

static void server_open(struct server *server)
{
	struct config config = config_default;

	if (unshare(CLONE_NEWNET))
		give_up("a network namespace");
	server->namespace = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	rig_command("ip link set lo up && ip addr add 10.99.0.1/32 dev lo");
	rig_command("ip link add eth0 type veth peer name to-%s", server->name);
	rig_command("ip link set to-%s netns /proc/%d/fd/%d", server->name, getpid(), here);
	rig_command("ip addr add %s/32 dev eth0 && ip link set eth0 up", server->address);
	rig_command("ip route add default dev eth0");
	/* One kernel has one secret of cookies: the second must not take those of the first for its own. */
	sysctl("ipv4/tcp_syncookies", !strcmp(server->name, "a") ? "1" : "0");
	sysctl("ipv4/conf/all/rp_filter", "0");
	sysctl("ipv4/conf/eth0/rp_filter", "0");
	server->sockets[0] = (struct pollfd){.fd = socket_bound(SOCK_STREAM, "10.99.0.1", 80), .events = POLLIN};
	server->socket_count = 1;
	if (listen(server->sockets[0].fd, CONNECTIONS))
		give_up("listen");
	config_set(&config, "address", server->address);
	config_set(&config, "peers", "10.1.0.0/24");
	config.program.ipip_service = SERVICE;
	config.program.quiet = 0;
	if (module_open(&server->module) || form_module_set(&server->module, &config)) {
		fprintf(stderr, "connection: %s\n", server->module.error);
		exit(1);
	}
	if (setns(here, CLONE_NEWNET))
		give_up("setns");
	rig_command("ip link set to-%s up && ip route add %s dev to-%s src 10.1.0.11", server->name, server->address,
		    server->name);
	sysctl(!strcmp(server->name, "a") ? "ipv4/conf/to-a/rp_filter" : "ipv4/conf/to-b/rp_filter", "0");
	sysctl(!strcmp(server->name, "a") ? "ipv4/conf/to-a/proxy_arp" : "ipv4/conf/to-b/proxy_arp", "1");
	pthread_create(&server->thread, NULL, server_run, server);
}

static void network_open(void)
{
	size_t i;

	if (unshare(CLONE_NEWNET))
		give_up("a network namespace");
	here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	rig_command("ip link set lo up");
	sysctl("ipv4/ip_forward", "1");
	sysctl("ipv4/conf/all/rp_filter", "0");
	rig_command("ip addr add 10.2.1.2/32 dev lo && ip addr add 10.1.0.11/32 dev lo");
	for (i = 0; i < SERVERS; i++)
		server_open(&servers[i]);
	mux_open();
}

static fl_u64 counter(size_t server, enum fl_counter counter)
{
	static struct module_state state;

	if (module_get(&servers[server].module, &state))
		fail_msg("%s", servers[server].module.error);
	return state.counters[counter];
}

/* Restarts the mux with an owner and no move, in a later generation. */
static void mux_own(size_t owner)
{
	pthread_mutex_lock(&mux.lock);
	mux.owner = owner;
	mux.list.inner_protocol = FL_LIST_GUE_IPV4;
	mux.list.service = SERVICE;
	mux.list.count = mux.list.left = 0;
	mux.list.generation++;
	pthread_mutex_unlock(&mux.lock);
}

static void mux_move(void)
{
	pthread_mutex_lock(&mux.lock);
	move_locked();
	pthread_mutex_unlock(&mux.lock);
}

static int client_connect(void)
{
	struct sockaddr_in vip = sockaddr_of("10.99.0.1", 80);
	struct timeval deadline = {.tv_sec = ANSWER_SECONDS};
	int fd = socket_bound(SOCK_STREAM, "10.2.1.2", next_port++);

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof(deadline));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &deadline, sizeof(deadline));
	if (connect(fd, (struct sockaddr *)&vip, sizeof(vip)))
		fail_msg("connect: %s", strerror(errno));
	return fd;
}

/* Sends a line and expects that server's answer to it. */
static void expect_answer(int fd, const char *text, size_t server)
{
	char expected[LINE_MAX_LEN], answer[LINE_MAX_LEN] = "";
	int len = snprintf(expected, sizeof(expected), "%s %s", servers[server].name, text);

	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
	if (recv(fd, answer, (size_t)len, MSG_WAITALL) != len)
		fail_msg("no answer to '%s': %s", text, strerror(errno));
	assert_string_equal(answer, expected);
}

static void await_counter(size_t server, enum fl_counter what, fl_u64 above)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	int tries;

	for (tries = 0; tries < ANSWER_SECONDS * 1000; tries++) {
		if (counter(server, what) > above)
			return;
		nanosleep(&pause, NULL);
	}
	fail_msg("the counter never grew");
}

static void moved_connection_lives(void **state)
{
	fl_u64 chained = counter(1, FL_COUNTER_CHAIN);
	int old, new;

	(void)state;
	mux_own(0);
	old = client_connect();
	expect_answer(old, "before", 0);
	mux_move();
	expect_answer(old, "after", 0);
	new = client_connect();
	expect_answer(new, "new", 1);
	expect_answer(old, "still", 0);
	assert_true(counter(1, FL_COUNTER_CHAIN) >= chained + 2);
	close(old);
	close(new);
}

static void moved_connection_lives_by_ipip(void **state)
{
	mux.is_ipip = true;
	moved_connection_lives(state);
	mux.is_ipip = false;
}

static void moved_back_and_forth(void **state)
{
	int first, second;

	(void)state;
	mux_own(0);
	first = client_connect();
	mux_move();
	second = client_connect();
	mux_move();
	expect_answer(first, "home", 0);
	expect_answer(second, "away", 1);
	mux_move();
	expect_answer(first, "again", 0);
	expect_answer(second, "again", 1);
	close(first);
	close(second);
}

static void handshake_is_chained(void **state)
{
	fl_u64 chained = counter(1, FL_COUNTER_CHAIN);
	int fd;

	(void)state;
	mux_own(0);
	mux.move_after_syn = true;
	fd = client_connect();
	assert_int_equal(mux.owner, 1);
	expect_answer(fd, "half-open", 0);
	assert_true(counter(1, FL_COUNTER_CHAIN) > chained);
	close(fd);
}

static void cookie_syncookies(const char *value)
{
	if (setns(servers[0].namespace, CLONE_NEWNET))
		give_up("setns");
	sysctl("ipv4/tcp_syncookies", value);
	if (setns(here, CLONE_NEWNET))
		give_up("setns");
}

static void cookie_survives_a_move(void **state)
{
	fl_u64 cookies = counter(0, FL_COUNTER_DELIVER_COOKIE_ACK);
	int fd;

	(void)state;
	cookie_syncookies("2");
	mux_own(0);
	mux.move_after_syn = true;
	fd = client_connect();
	expect_answer(fd, "cookie", 0);
	assert_true(counter(0, FL_COUNTER_DELIVER_COOKIE_ACK) > cookies);
	cookie_syncookies("1");
	close(fd);
}

/* SYNs of made-up clients, more than the listener's queue holds, all to the owner. */
static void flood(void)
{
	struct packet_tcp syn = {.flags = TCP_SYN, .flow.destination = packet_address("10.99.0.1")};
	struct sockaddr_in to = sockaddr_of(servers[mux.owner].address, FL_LIST_GUE_PORT);
	fl_u32 i;

	syn.flow.destination_port = 80;
	syn.flow.source = packet_address("203.0.113.1");
	for (i = 0; i < FLOOD; i++) {
		struct packet datagram = {.len = 0};
		fl_u8 gue[FL_LIST_MAX_LEN];

		syn.flow.source_port = (fl_u16)(1024 + i);
		syn.sequence = i * 7919;
		pthread_mutex_lock(&mux.lock);
		packet_add_bytes(&datagram, gue, fl_list_write(&mux.list, gue));
		pthread_mutex_unlock(&mux.lock);
		packet_add_tcp(&datagram, &syn);
		sendto(mux.out, datagram.data, datagram.len, 0, (struct sockaddr *)&to, sizeof(to));
	}
}

/*
 * With a listener's queue full of handshakes that are never completed, SYN cookies are used: new connections come about,
 * the bucket moves, and they and the older ones live on.
 */
static void flood_does_no_harm(void **state)
{
	fl_u64 cookies = counter(0, FL_COUNTER_DELIVER_COOKIE_ACK), syns = counter(0, FL_COUNTER_DELIVER_SYN);
	int before, fds[4], i;

	(void)state;
	mux_own(0);
	before = client_connect();
	expect_answer(before, "before", 0);
	flood();
	await_counter(0, FL_COUNTER_DELIVER_SYN, syns + FLOOD);
	for (i = 0; i < 4; i++) {
		fds[i] = client_connect();
		expect_answer(fds[i], "in the flood", 0);
	}
	assert_true(counter(0, FL_COUNTER_DELIVER_COOKIE_ACK) >= cookies + 4);
	mux_move();
	for (i = 0; i < 4; i++) {
		expect_answer(fds[i], "after the move", 0);
		close(fds[i]);
	}
	expect_answer(before, "still", 0);
	close(before);
}

/*
 * A mux that lags behind: the client retransmits, and the connection continues once the mux has caught up. The second
 * server is taught first, so that packets of the connection that arrive while the mux errs are stale, too.
 */
static void stale_is_dropped_not_reset(void **state)
{
	fl_u64 stale, unknown;
	char answer[LINE_MAX_LEN] = "";
	int fd, other;

	(void)state;
	mux_own(1);
	pthread_mutex_lock(&mux.lock);
	mux.list.generation += 2;
	pthread_mutex_unlock(&mux.lock);
	other = client_connect();
	expect_answer(other, "teach", 1);
	mux_own(0);
	pthread_mutex_lock(&mux.lock);
	mux.list.generation -= 2;
	pthread_mutex_unlock(&mux.lock);
	fd = client_connect();
	expect_answer(fd, "early", 0);
	stale = counter(1, FL_COUNTER_DROP_STALE);
	unknown = counter(1, FL_COUNTER_DELIVER_UNKNOWN);
	pthread_mutex_lock(&mux.lock);
	mux.owner = 1;
	pthread_mutex_unlock(&mux.lock);
	assert_int_equal(send(fd, "late", 4, MSG_NOSIGNAL), 4);
	await_counter(1, FL_COUNTER_DROP_STALE, stale);
	pthread_mutex_lock(&mux.lock);
	mux.owner = 0;
	mux.list.generation++;
	pthread_mutex_unlock(&mux.lock);
	assert_int_equal(recv(fd, answer, 6, MSG_WAITALL), 6);
	assert_string_equal(answer, "a late");
	assert_int_equal(counter(1, FL_COUNTER_DELIVER_UNKNOWN), unknown);
	close(fd);
	close(other);
}

static void unknown_everywhere_is_reset(void **state)
{
	char answer[LINE_MAX_LEN];
	int fd;

	(void)state;
	mux_own(0);
	fd = client_connect();
	expect_answer(fd, "known", 0);
	mux_own(1);
	assert_int_equal(send(fd, "lost", 4, MSG_NOSIGNAL), 4);
	assert_int_equal(recv(fd, answer, sizeof(answer), 0), -1);
	assert_int_equal(errno, ECONNRESET);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(moved_connection_lives), cmocka_unit_test(moved_connection_lives_by_ipip),
	    cmocka_unit_test(moved_back_and_forth),   cmocka_unit_test(handshake_is_chained),
	    cmocka_unit_test(cookie_survives_a_move), cmocka_unit_test(stale_is_dropped_not_reset),
	    cmocka_unit_test(flood_does_no_harm),     cmocka_unit_test(unknown_everywhere_is_reset),
	};

	network_open();
	return cmocka_run_group_tests_name("connections through the module", tests, NULL, NULL);
}
