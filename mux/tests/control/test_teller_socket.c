/* SPDX-License-Identifier: Apache-2.0 */
/* Notices over the kernel, from loopback to a server of the test that returns them; in a namespace of its own. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <setjmp.h>
#include <cmocka.h>

#include <fairlead/list.h>

#include "config/address.h"
#include "tell/teller.h"
#include "tell/teller_socket.h"

enum { SERVICE = 7, GENERATION = 12, DEADLINE_MS = 60000 };

static uint64_t clock_of(void *clock)
{
	(void)clock;
	return 5000;
}

static struct fl_address address(const char *text)
{
	struct fl_address parsed;

	assert_true(address_parse(text, &parsed));
	return parsed;
}

/* Without UDP checksums, as servers answer. */
static int server_open(const struct fl_address *self)
{
	struct sockaddr_storage name;
	socklen_t len = address_to_socket(self, FL_LIST_GUE_PORT, &name);
	int fd = socket(name.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_UDP), on = 1;

	assert_true(fd >= 0);
	if (name.ss_family == AF_INET6)
		assert_int_equal(setsockopt(fd, IPPROTO_UDP, UDP_NO_CHECK6_TX, &on, sizeof(on)), 0);
	else
		assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_NO_CHECK, &on, sizeof(on)), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&name, len), 0);
	return fd;
}

static void readable(int fd)
{
	struct pollfd one = {.fd = fd, .events = POLLIN};

	assert_int_equal(poll(&one, 1, DEADLINE_MS), 1);
}

/* Returns a notice to its sender. */
static void server_answer(int fd)
{
	uint8_t bytes[64];
	struct sockaddr_storage from;
	socklen_t from_len = sizeof(from);
	struct fl_notice notice = {0};
	ssize_t len;

	readable(fd);
	len = recvfrom(fd, bytes, sizeof(bytes), 0, (struct sockaddr *)&from, &from_len);
	assert_true(len > 0);
	assert_int_equal(fl_notice_parse(bytes, bytes + len, (uint32_t)len, &notice), FL_LIST_OK);
	notice.flags |= FL_NOTICE_ACK;
	assert_true(fl_notice_answer(bytes, bytes + len, &notice));
	assert_int_equal(sendto(fd, bytes, (size_t)len, 0, (struct sockaddr *)&from, from_len), len);
}

static void is_acknowledged(const char *mux, const char *server, bool is_ipv4)
{
	struct fl_address self = address(mux), to = address(server), none = {{0}};
	struct teller_socket *sockets = teller_socket_new(is_ipv4 ? &self : &none, is_ipv4 ? &none : &self);
	struct teller_options options = {.sink = {sockets, teller_socket_send}, .now_ms = clock_of};
	struct teller *teller = teller_new(&options);
	int fd = server_open(&to);

	assert_non_null(sockets);
	assert_non_null(teller);
	assert_int_equal(teller_set_servers(teller, SERVICE, &to, 1), 0);
	teller_tell(teller, SERVICE, GENERATION);
	assert_int_equal(teller->counts[TELLER_SENT], 1);
	server_answer(fd);
	readable(sockets->epoll);
	teller_socket_receive(sockets, teller);
	assert_int_equal(teller->counts[TELLER_ACKNOWLEDGED], 1);
	assert_true(teller_is_done(teller, SERVICE, GENERATION));
	close(fd);
	teller_free(teller);
	teller_socket_free(sockets);
}

static void over_ipv4(void **state)
{
	(void)state;
	is_acknowledged("127.0.0.1", "127.0.0.2", true);
}

static void over_ipv6(void **state)
{
	(void)state;
	is_acknowledged("::1", "::1", false);
}

static void without_an_address(void **state)
{
	struct fl_address none = {{0}}, absent = address("192.0.2.1"), to = address("127.0.0.2"), to6 = address("::1");
	struct teller_socket *sockets = teller_socket_new(&absent, &none);
	const uint8_t byte = 0;

	(void)state;
	assert_int_equal(teller_socket_send(sockets, &to, &byte, 1), -EADDRNOTAVAIL);
	assert_int_equal(teller_socket_send(sockets, &to6, &byte, 1), -EAFNOSUPPORT);
	teller_socket_free(sockets);
}

/* The server's port is closed: the kernel reports that in place of a packet. */
static void an_icmp_error_ends_nothing(void **state)
{
	struct fl_address self = address("127.0.0.1"), none = {{0}}, to = address("127.0.0.2");
	struct teller_socket *sockets = teller_socket_new(&self, &none);
	struct teller_options options = {.sink = {sockets, teller_socket_send}, .now_ms = clock_of};
	struct teller *teller = teller_new(&options);

	(void)state;
	assert_int_equal(teller_set_servers(teller, SERVICE, &to, 1), 0);
	teller_tell(teller, SERVICE, GENERATION);
	teller_socket_receive(sockets, teller);
	assert_false(teller_is_done(teller, SERVICE, GENERATION));
	teller_free(teller);
	teller_socket_free(sockets);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(over_ipv4),
	    cmocka_unit_test(over_ipv6),
	    cmocka_unit_test(without_an_address),
	    cmocka_unit_test(an_icmp_error_ends_nothing),
	};

	return cmocka_run_group_tests_name("teller socket", tests, NULL, NULL);
}
