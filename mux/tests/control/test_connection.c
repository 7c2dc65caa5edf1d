/* SPDX-License-Identifier: Apache-2.0 */
/* A connection of the HTTP listener, and whose place a new one takes. Slow clients: test_listener.c. */
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "observe/connection.h"
#include "observe/listener.h"

static const char asks[] = "GET /small HTTP/1.1\r\nHost: localhost\r\n\r\n";

/* A token may be in what a client sends, also after the head that is answered. */
static void test_what_was_read_is_wiped(void **state)
{
	static const char rest[] = "GET /small HTTP/1.1\r\nAuthorization: Bearer secret\r\n\r\n";
	struct connection *connection = calloc(1, sizeof(*connection));
	int fds[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
	connection_open(connection, fds[0], NULL, 0, 0);
	assert_int_equal(send(fds[1], asks, strlen(asks), MSG_NOSIGNAL), strlen(asks));
	assert_int_equal(connection_step(connection, EPOLLIN, 0), CONNECTION_ASKS);
	connection_respond(connection, &(struct response){.status = RESPONSE_OK, .type = "text/plain"}, false, 0);
	assert_int_equal(connection_step(connection, EPOLLOUT, 0), CONNECTION_WAITS);
	assert_int_equal(connection->state, CONNECTION_LINGER);
	for (int i = 0; i < 4; i++)
		assert_int_equal(send(fds[1], rest, strlen(rest), MSG_NOSIGNAL), strlen(rest));
	assert_int_equal(connection_step(connection, EPOLLIN, 0), CONNECTION_WAITS);
	connection_close(connection);
	assert_null(memmem(connection->buffer, sizeof(connection->buffer), "secret", strlen("secret")));
	free(connection);
	close(fds[1]);
}

static void handle(void *context, const struct request *request, struct response *response)
{
	(void)context;
	(void)request;
	*response = (struct response){.status = RESPONSE_OK, .type = "text/plain", .text = strdup("xxxxx"), .len = 5};
}

/* A socket whose port the listener may share, so that no other program can have it. Returns its descriptor. */
static int take_port(struct http_access *access)
{
	static const int on = 1;
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	strcpy(access->host, "127.0.0.1");
	access->port = ntohs(address.sin_port);
	return fd;
}

static void run(struct listener *listener)
{
	for (int i = 0; i < 20; i++)
		listener_run(listener, 1000000);
}

/* A client at one of 127.0.0.0/8 that has sent the text. */
static int client_of(struct listener *listener, uint16_t port, uint32_t source, const char *text)
{
	struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK + source)};
	struct sockaddr_in to = {
	    .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
	run(listener);
	return fd;
}

static void assert_counted(const struct listener *listener, const char *reason, unsigned count)
{
	char *text, wanted[64];
	size_t len;
	FILE *out = open_memstream(&text, &len);

	listener_write_metrics(out, "t", listener);
	fclose(out);
	snprintf(wanted, sizeof(wanted), "{reason=\"%s\"} %u\n", reason, count);
	assert_non_null(strstr(text, wanted));
	free(text);
}

/* However many one address opens within a client's round trip: it takes places from itself. */
static void test_one_address_takes_no_places_of_others(void **state)
{
	const struct listener_config config = {"test", handle, NULL};
	struct http_access access = {0};
	struct reason why;
	int port = take_port(&access), fds[4 * LISTENER_CONNECTIONS_MAX], few[2];
	struct listener *listener = listener_open(&access, &config, &why);

	(void)state;
	assert_non_null(listener);
	close(port);
	for (uint32_t i = 0; i < 2; i++)
		few[i] = client_of(listener, access.port, 1 + i, "GET ");
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		fds[i] = client_of(listener, access.port, 3, "G");
	assert_counted(listener, "gave_way", 3 * LISTENER_CONNECTIONS_MAX + 2);
	for (size_t i = 0; i < 2; i++) {
		char text[1024] = "";

		assert_int_equal(send(few[i], asks + 4, strlen(asks) - 4, MSG_NOSIGNAL), strlen(asks) - 4);
		run(listener);
		assert_true(recv(few[i], text, sizeof(text) - 1, 0) > 0);
		assert_non_null(strstr(text, "\r\n\r\nxxxxx"));
		close(few[i]);
	}
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		close(fds[i]);
	listener_close(listener);
}

/*
 * A page whose name was pointed at this host sends its name. At an address that others reach, --http-open says that the
 * network keeps them out; at a loopback address it says nothing.
 */
static void test_other_names_are_refused(void **state)
{
	static const char named[] = "GET /small HTTP/1.1\r\nHost: a.example:9108\r\n\r\n";
	const struct listener_config config = {"test", handle, NULL};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct http_access access = {.open = i > 0};
		struct reason why;
		int port = take_port(&access), fd;
		bool open = i == 2;
		struct listener *listener;
		char text[1024] = "";

		if (open)
			strcpy(access.host, "0.0.0.0");
		listener = listener_open(&access, &config, &why);
		assert_non_null(listener);
		close(port);
		fd = client_of(listener, access.port, 0, named);
		run(listener);
		assert_true(recv(fd, text, sizeof(text) - 1, 0) > 0);
		assert_non_null(strstr(text, open ? "HTTP/1.1 200 " : "HTTP/1.1 400 "));
		if (!open)
			assert_non_null(
			    strstr(text, "Host 'a.example:9108' is refused; allowed: localhost or an address"));
		assert_counted(listener, "other_host", !open);
		close(fd);
		listener_close(listener);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_what_was_read_is_wiped),
	    cmocka_unit_test(test_one_address_takes_no_places_of_others),
	    cmocka_unit_test(test_other_names_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
