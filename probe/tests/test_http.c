/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes by HTTP against a server in this process, on loopback without a tunnel: requests, results, and what is left; by
 * HTTPS, how much is read.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <gnutls/x509.h>

#include "config/address.h"
#include "encap/encap.h"
#include "prober.h"

enum { WAIT_MS = 5000, INTERVAL_MS = 60000, TIMEOUT_MS = 20000, FIRST_PORT = 22000, LAST_PORT = 22063 };

enum server_end { STAYS, CLOSES, RESETS };

struct world {
	struct pool pool;
	struct prober prober;
	struct probed *web;
	struct service_config config;
	struct check check;
	int listener, connection;
	uint64_t now_ms;
};

static void on_changed(void *context, struct probed *service)
{
	(void)context;
	(void)service;
}

static int listen_at(int family)
{
	struct sockaddr_in6 at6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct sockaddr_in at4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(family == AF_INET6 ? bind(fd, (struct sockaddr *)&at6, sizeof(at6))
					    : bind(fd, (struct sockaddr *)&at4, sizeof(at4)),
			 0);
	assert_int_equal(listen(fd, 4), 0);
	return fd;
}

static uint16_t port_of(int fd)
{
	struct sockaddr_in6 at;
	socklen_t len = sizeof(at);

	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	return ntohs(at.sin6_port); /* at the same place in both families */
}

static void open_world(struct world *world, int family)
{
	const char *loopback = family == AF_INET6 ? "::1" : "127.0.0.1";
	struct prober_options options = {.first_port = FIRST_PORT,
					 .last_port = LAST_PORT,
					 .epoll = epoll_create1(EPOLL_CLOEXEC),
					 .changed = on_changed};

	*world = (struct world){.now_ms = 1000000, .connection = -1};
	world->listener = listen_at(family);
	assert_true(address_parse(loopback, &options.inner[family == AF_INET6]));
	assert_int_equal(prober_open(&world->prober, &options), 0);
	world->prober.now_ms = world->now_ms;
	world->pool = (struct pool){.outer = {options.inner[0], options.inner[1]},
				    .inner = {options.inner[0], options.inner[1]},
				    .listener = prober_listener(&world->prober)};
	world->config = (struct service_config){.id = 5,
						.vips_count = 1,
						.ports_count = 1,
						.ports = {{IPPROTO_TCP, port_of(world->listener)}},
						.encap = &encap_gue,
						.hash = FL_HASH_SIPHASH};
	world->config.vips[0] = options.inner[family == AF_INET6];
	world->check = (struct check){.kind = CHECK_HTTP,
				      .path = "/",
				      .statuses = 1,
				      .status = {{200, 299}},
				      .rise = 1,
				      .fall = 1,
				      .interval_ms = INTERVAL_MS,
				      .timeout_ms = TIMEOUT_MS};
	world->web = pool_get(&world->pool, "web");
}

static void close_world(struct world *world)
{
	pool_clear(&world->pool);
	prober_close(&world->prober);
	close(world->prober.options.epoll);
	close(world->listener);
}

/* Has the check as it stands begin one attempt. */
static struct probe *begin(struct world *world)
{
	struct fl_delta_backend backend = {.id = 1, .address = world->config.vips[0]};

	assert_int_equal(pool_set(&world->pool, world->web, &world->config, &world->check, &backend, 1), 0);
	world->now_ms += 2 * INTERVAL_MS;
	prober_run(&world->prober, world->now_ms);
	assert_non_null(world->web->targets[0]->probes[0].attempt);
	return &world->web->targets[0]->probes[0];
}

/* Serves what is ready; false after WAIT_MS without anything. */
static bool serve(struct world *world)
{
	struct epoll_event ready[4];
	int count = epoll_wait(world->prober.options.epoll, ready, 4, WAIT_MS);

	for (int i = 0; i < count; i++) {
		struct waiter *waiter = ready[i].data.ptr;

		if (waiter->ready)
			waiter->ready(waiter, ready[i].events);
	}
	prober_reap(&world->prober);
	return count > 0;
}

static void take_request(struct world *world, const char *wanted)
{
	char request[2048];
	size_t len = 0;

	world->connection = accept(world->listener, NULL, NULL);
	assert_true(world->connection >= 0);
	assert_true(serve(world));
	do {
		ssize_t part = read(world->connection, request + len, sizeof(request) - 1 - len);

		assert_true(part > 0);
		len += (size_t)part;
		request[len] = '\0';
	} while (!strstr(request, "\r\n\r\n"));
	if (wanted)
		assert_string_equal(request, wanted);
}

static void finish(struct world *world, enum server_end how)
{
	struct linger reset = {1, 0};

	if (how == RESETS)
		assert_int_equal(setsockopt(world->connection, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
	if (how != STAYS)
		close(world->connection);
}

static void expect(struct world *world, const struct probe *probe, enum outcome wanted, const char *what)
{
	while (probe->attempt)
		if (!serve(world))
			fail_msg("%s: nothing within %d ms", what, WAIT_MS);
	if (world->prober.counters.outcomes[wanted] != 1)
		fail_msg("%s: not %s", what, outcome_name(wanted));
	world->prober.counters = (struct prober_counters){0};
}

#define OK_HEAD "HTTP/1.1 200 OK\r\n"

static void results(void **state)
{
	static const struct {
		const char *body; /* that is wanted */
		const char *first, *second;
		enum server_end end;
		enum outcome wanted;
	} rows[] = {
	    {"", OK_HEAD "Content-Length: 4\r\n\r\nfine", "", STAYS, OUTCOME_OK},
	    {"fine", OK_HEAD "Content-Length: 4\r\n\r\nfi", "ne", STAYS, OUTCOME_OK},
	    {"fine", OK_HEAD "\r\nfi", "ne", CLOSES, OUTCOME_OK},
	    {"fine", OK_HEAD "Transfer-Encoding: chunked\r\n\r\n2\r\nfi\r\n", "2\r\nne\r\n0\r\n\r\n", STAYS,
	     OUTCOME_OK},
	    {"fine", OK_HEAD "Content-Length: 4\r\n\r\nfin", "d", STAYS, OUTCOME_BODY},
	    {"", "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", "", STAYS, OUTCOME_STATUS},
	    {"", "", "", CLOSES, OUTCOME_CLOSED},
	    {"", OK_HEAD "Content-Le", "", CLOSES, OUTCOME_CLOSED},
	    {"fine", OK_HEAD "Content-Length: 9\r\n\r\nfine", "", CLOSES, OUTCOME_CLOSED},
	    {"", OK_HEAD "Content-Length: 9\r\n\r\nfine", "", RESETS, OUTCOME_CLOSED},
	    {"", "220 smtp.example.org\r\n", "", STAYS, OUTCOME_MALFORMED},
	};
	struct world world;

	(void)state;
	open_world(&world, AF_INET);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct probe *probe;
		char what[32];

		snprintf(what, sizeof(what), "row %zu", i);
		snprintf(world.check.body, sizeof(world.check.body), "%s", rows[i].body);
		probe = begin(&world);
		take_request(&world, NULL);
		assert_int_equal(write(world.connection, rows[i].first, strlen(rows[i].first)), strlen(rows[i].first));
		if (rows[i].second[0]) {
			assert_true(serve(&world));
			assert_non_null(probe->attempt);
			assert_int_equal(write(world.connection, rows[i].second, strlen(rows[i].second)),
					 strlen(rows[i].second));
		}
		finish(&world, rows[i].end);
		expect(&world, probe, rows[i].wanted, what);
		if (rows[i].end == STAYS) {
			char byte;

			/* the probe resets its connections, which leaves nothing in TIME-WAIT */
			assert_int_equal(read(world.connection, &byte, 1), -1);
			close(world.connection);
		}
	}
	close_world(&world);
}

static void requests_name_host_port_and_path(void **state)
{
	static const struct {
		int family;
		const char *host, *path, *wanted; /* of the request, with the port's place */
	} rows[] = {
	    {AF_INET, "", "/", "GET / HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n"},
	    {AF_INET6, "", "/a?b=c", "GET /a?b=c HTTP/1.1\r\nHost: [::1]:%u\r\n"},
	    {AF_INET, "www.example.org", "/a/../b", "GET /a/../b HTTP/1.1\r\nHost: www.example.org:%u\r\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char wanted[512];
		struct world world;
		struct probe *probe;
		int len;

		open_world(&world, rows[i].family);
		snprintf(world.check.host, sizeof(world.check.host), "%s", rows[i].host);
		snprintf(world.check.path, sizeof(world.check.path), "%s", rows[i].path);
		probe = begin(&world);
		len = snprintf(wanted, sizeof(wanted), rows[i].wanted, port_of(world.listener));
		snprintf(wanted + len, sizeof(wanted) - (size_t)len,
			 "User-Agent: fairlead-probe\r\nAccept: */*\r\n\r\n");
		take_request(&world, wanted);
		assert_int_equal(write(world.connection, OK_HEAD "\r\n", strlen(OK_HEAD) + 2), strlen(OK_HEAD) + 2);
		finish(&world, CLOSES);
		expect(&world, probe, OUTCOME_OK, rows[i].path);
		close_world(&world);
	}
}

/* The longest request that a check allows, and an answer that is longer than what is looked at. */
static void the_longest(void **state)
{
	static char filler[BUFSIZ];
	struct world world;
	struct probe *probe;

	(void)state;
	memset(filler, 'x', sizeof(filler));
	open_world(&world, AF_INET);
	memset(world.check.path + 1, 'p', CHECK_TEXT_MAX - 1);
	memset(world.check.host, 'h', CHECK_TEXT_MAX);
	probe = begin(&world);
	take_request(&world, NULL);
	assert_int_equal(write(world.connection, OK_HEAD "\r\n", strlen(OK_HEAD) + 2), strlen(OK_HEAD) + 2);
	while (probe->attempt) {
		assert_true(write(world.connection, filler, sizeof(filler)) > 0);
		assert_true(serve(&world));
	}
	expect(&world, probe, OUTCOME_OK, "a long answer");
	close(world.connection);
	close_world(&world);
}

/* A server by TLS whose answer begins with `first` and goes on with `again` for as long as someone takes it. */
struct tls_server {
	int listener;
	const char *first, *again;
	size_t sent;
};

static void make_certificate(gnutls_certificate_credentials_t out)
{
	gnutls_x509_privkey_t key;
	gnutls_x509_crt_t certificate;

	assert_int_equal(gnutls_x509_privkey_init(&key) | gnutls_x509_crt_init(&certificate), 0);
	assert_int_equal(
	    gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0), 0);
	assert_int_equal(gnutls_x509_crt_set_version(certificate, 3), 0);
	assert_int_equal(gnutls_x509_crt_set_serial(certificate, "1", 1), 0);
	assert_int_equal(gnutls_x509_crt_set_activation_time(certificate, time(NULL) - 60), 0);
	assert_int_equal(gnutls_x509_crt_set_expiration_time(certificate, time(NULL) + 3600), 0);
	assert_int_equal(gnutls_x509_crt_set_key(certificate, key), 0);
	assert_int_equal(gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA256, 0), 0);
	assert_int_equal(gnutls_certificate_set_x509_key(out, &certificate, 1, key), 0);
	gnutls_x509_crt_deinit(certificate);
	gnutls_x509_privkey_deinit(key);
}

static void *serve_tls(void *context)
{
	struct tls_server *server = context;
	int fd = accept(server->listener, NULL, NULL);
	gnutls_certificate_credentials_t credentials;
	gnutls_session_t session;
	char request[2048];
	ssize_t part;

	assert_int_equal(gnutls_certificate_allocate_credentials(&credentials), 0);
	make_certificate(credentials);
	assert_int_equal(gnutls_init(&session, GNUTLS_SERVER | GNUTLS_NO_SIGNAL), 0);
	assert_int_equal(gnutls_set_default_priority(session), 0);
	gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials);
	gnutls_transport_set_int(session, fd);
	assert_int_equal(gnutls_handshake(session), 0);
	assert_true(gnutls_record_recv(session, request, sizeof(request)) > 0);
	assert_true(gnutls_record_send(session, server->first, strlen(server->first)) > 0);
	while ((part = gnutls_record_send(session, server->again, strlen(server->again))) > 0)
		server->sent += (size_t)part;
	gnutls_deinit(session);
	gnutls_certificate_free_credentials(credentials);
	close(fd);
	return NULL;
}

/* What libcurl reads has the limits of what is read without it. */
static void an_endless_answer_by_tls(void **state)
{
	static char line[1024], body[8192];
	const struct {
		const char *first, *again;
		enum outcome wanted;
	} rows[] = {
	    {OK_HEAD, line, OUTCOME_MALFORMED},
	    {"HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n", OUTCOME_MALFORMED},
	    {OK_HEAD "\r\n", body, OUTCOME_OK},
	};

	(void)state;
	memset(line, 'x', sizeof(line) - 1);
	memcpy(line, "X: ", 3);
	memcpy(line + sizeof(line) - 3, "\r\n", 2);
	memset(body, 'x', sizeof(body) - 1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tls_server server = {.first = rows[i].first, .again = rows[i].again};
		struct world world;
		struct probe *probe;
		pthread_t thread;

		open_world(&world, AF_INET);
		world.check.kind = CHECK_HTTPS;
		server.listener = world.listener;
		assert_int_equal(pthread_create(&thread, NULL, serve_tls, &server), 0);
		probe = begin(&world);
		while (probe->attempt) {
			prober_run(&world.prober, ++world.now_ms);
			serve(&world);
		}
		if (world.prober.counters.outcomes[rows[i].wanted] != 1)
			fail_msg("row %zu: not %s", i, outcome_name(rows[i].wanted));
		close_world(&world);
		pthread_join(thread, NULL);
		assert_true(server.sent < 16 << 20); /* what sockets hold, beside 64 KiB */
	}
}

/* A server that speaks before it is asked: both are told of at once. */
static void a_server_that_speaks_first(void **state)
{
	struct world world;
	struct probe *probe;

	(void)state;
	open_world(&world, AF_INET);
	probe = begin(&world);
	world.connection = accept(world.listener, NULL, NULL);
	assert_int_equal(write(world.connection, "SSH-2.0-x\r\n", 11), 11);
	expect(&world, probe, OUTCOME_MALFORMED, "speaks first");
	close(world.connection);
	close_world(&world);
}

static void no_server_and_no_answer(void **state)
{
	struct world world;
	struct probe *probe;

	(void)state;
	open_world(&world, AF_INET);
	probe = begin(&world);
	probe->is_sent = true; /* as the tunnel would say */
	prober_run(&world.prober, world.now_ms + TIMEOUT_MS);
	expect(&world, probe, OUTCOME_TIMEOUT, "not served, so not connected as far as it knows");
	probe = begin(&world);
	take_request(&world, NULL);
	probe->is_sent = true;
	prober_run(&world.prober, world.now_ms + TIMEOUT_MS);
	expect(&world, probe, OUTCOME_NO_ANSWER, "no answer");
	close(world.connection);
	close(world.listener);
	world.listener = -1;
	probe = begin(&world);
	expect(&world, probe, OUTCOME_REFUSED, "no server");
	close_world(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(results),
	    cmocka_unit_test(requests_name_host_port_and_path),
	    cmocka_unit_test(the_longest),
	    cmocka_unit_test(an_endless_answer_by_tls),
	    cmocka_unit_test(a_server_that_speaks_first),
	    cmocka_unit_test(no_server_and_no_answer),
	};

	alarm(WAIT_MS / 100); /* where a peer's turn never comes */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
