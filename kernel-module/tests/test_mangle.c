// SPDX-License-Identifier: Apache-2.0
/* Real connections through a server that mangles (site.h), by the VIP and directly. */
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "form.h"
#include "vectors.h"
#include "site.h"
#include "stand.h"

#define VIP       "10.99.0.1"
#define OTHER_VIP "10.99.0.2"

enum {
	CLOSED_PORT = 81,
	CLIENT_PORT = 40000,
	BULK = 2 << 20,
	CHUNK = 8192,
	FRAGMENTED = 3000,
	MTU_TOLD = 1400,         /* by packet_add_icmp_error() */
	FORGOTTEN_SECONDS = 120, /* else 20 at most */
};

static fl_u16 next_port = CLIENT_PORT;

static void state_read(struct module_state *state)
{
	if (module_get(site_module(), state))
		fail_msg("%s", site_module()->error);
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

	for (tries = 0; tries < SITE_SECONDS * 1000; tries++) {
		if (counter(what) > above)
			return;
		nanosleep(&pause, NULL);
	}
	fail_msg("the counter never grew");
}

static const struct path {
	const char *name, *client, *vip, *self;
} paths[] = {
    {"IPv4", SITE_CLIENT, VIP, SITE_SELF},
    {"IPv6", SITE_CLIENT6, "2001:db8:99::1", SITE_SELF6},
};

/* Returns a socket, connected or with errno set to why not in *err. */
static int client_open(int type, const char *from, fl_u16 port, const char *to, fl_u16 to_port, int *err)
{
	struct site_end end = site_end(to, to_port);
	int fd = site_socket(type, from, port);

	*err = connect(fd, &end.address.any, end.len) ? errno : 0;
	return fd;
}

static int client_connect(int type, const char *from, const char *to)
{
	int err, fd = client_open(type, from, next_port++, to, SITE_PORT, &err);

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
		if (poll(&socket, 1, SITE_SECONDS * 1000) <= 0)
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

static void bulk_offloaded(void **state)
{
	bulk(*state);
}

static void bulk_completed(void **state)
{
	site_mux_offload(false);
	site_server_offload(false);
	bulk(*state);
	udp(state);
	site_server_offload(true);
	site_mux_offload(true);
}

static void cookies(void **state)
{
	const struct path *path = *state;
	fl_u64 before = counter(FL_COUNTER_DELIVER_COOKIE_ACK);
	int fd;

	site_server_command("echo 2 > /proc/sys/net/ipv4/tcp_syncookies");
	fd = client_connect(SOCK_STREAM, path->client, path->vip);
	expect_echo(fd, "a cookie");
	site_server_command("echo 1 > /proc/sys/net/ipv4/tcp_syncookies");
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

/* A router's error about the server's packet arrives for the VIP, and reaches the connection. */
static void mtu_is_learned(void **state)
{
	int fd = client_connect(SOCK_STREAM, SITE_CLIENT, VIP), mtu = 0, tries;
	struct packet quoted = {.len = 0}, error = {.len = 0};
	struct fl_address router = packet_address("192.0.2.1");
	const struct timespec pause = {.tv_nsec = 1000000};
	struct packet_tcp segment = {.flags = TCP_ACK};
	socklen_t mtu_len = sizeof(mtu);

	(void)state;
	expect_echo(fd, "before");
	segment.sequence = sequence_expected(fd);
	segment.flow.source = packet_address(VIP);
	segment.flow.destination = packet_address(SITE_CLIENT);
	segment.flow.source_port = SITE_PORT;
	segment.flow.destination_port = (fl_u16)(next_port - 1);
	packet_add_tcp(&quoted, &segment);
	packet_add_icmp_error(&error, &router, &quoted);
	site_mux_send(&error);
	for (tries = 0; tries < SITE_SECONDS * 1000 && mtu != MTU_TOLD; tries++) {
		assert_int_equal(getsockopt(site_accepted(), IPPROTO_IP, IP_MTU, &mtu, &mtu_len), 0);
		nanosleep(&pause, NULL);
	}
	assert_int_equal(mtu, MTU_TOLD);
	expect_echo(fd, "after");
	close(fd);
}

/* The same two ends cannot have two connections: the first has them, and the other is refused without harm. */
static void conflicts(void **state)
{
	static const char *const first[] = {SITE_SELF, VIP}, *const second[] = {VIP, OTHER_VIP};
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		fl_u64 before = counter(FL_COUNTER_DROP_MANGLE_CONFLICT);
		struct site_end end = site_end(second[i], SITE_PORT);
		int err, other, fd = client_open(SOCK_STREAM, SITE_CLIENT, next_port, first[i], SITE_PORT, &err);

		assert_int_equal(err, 0);
		expect_echo(fd, "first");
		other = site_socket(SOCK_STREAM | SOCK_NONBLOCK, SITE_CLIENT, next_port++);
		assert_int_equal(connect(other, &end.address.any, end.len), -1);
		await(FL_COUNTER_DROP_MANGLE_CONFLICT, before);
		expect_echo(fd, "still");
		close(other);
		close(fd);
	}
}

/* Until the module knows so many flows. */
static void await_flows(fl_u64 count)
{
	const struct timespec pause = {.tv_nsec = 100000000};
	static struct module_state module;
	int tries;

	for (tries = 0; tries < FORGOTTEN_SECONDS * 10; tries++) {
		state_read(&module);
		if (module.flows == count)
			break;
		nanosleep(&pause, NULL);
	}
	assert_int_equal(module.flows, count);
}

/* Nothing that has ended is remembered for long. Connections are reset, so that no TIME-WAIT holds them. */
static void forgotten(void **state)
{
	struct linger reset = {.l_onoff = 1};
	static struct module_state module;
	static struct config config;
	int fds[10], i;

	(void)state;
	assert_int_equal(module_get(site_module(), &module), 0);
	config.program = module.config;
	memcpy(config.peers, module.peers, sizeof(config.peers));
	config.peer_count = module.peer_count;
	config.program.quiet = module.config.quiet;
	assert_int_equal(module_detach(site_module()), 0);
	assert_int_equal(form_module_set(site_module(), &config), 0);
	for (i = 0; i < 10; i++) {
		fds[i] = client_connect(SOCK_STREAM, paths[i % 2].client, paths[i % 2].vip);
		expect_echo(fds[i], "known");
	}
	await_flows(10); /* one more for a while, if a late packet of an earlier test's connection came */
	for (i = 0; i < 9; i++) {
		setsockopt(fds[i], SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		close(fds[i]);
	}
	await_flows(1);
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

	site_open();
	for (i = 0; i < sizeof(each) / sizeof(each[0]); i++)
		for (family = 0; family < 2; family++) {
			snprintf(names[n], sizeof(names[n]), "%s, %s", each[i].name, paths[family].name);
			vectors_add_plain(&tests, names[n++], each[i].function, (void *)(uintptr_t)&paths[family]);
		}
	vectors_add_plain(&tests, "a router's error reaches the connection", mtu_is_learned, NULL);
	vectors_add_plain(&tests, "two connections with the same ends", conflicts, NULL);
	vectors_add_plain(&tests, "ended connections are forgotten", forgotten, NULL);
	return vectors_run("mangling by the module", &tests);
}
