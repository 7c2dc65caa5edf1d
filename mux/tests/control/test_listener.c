/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP listener with clients that are slow, by a clock that the test sets: how long each may take in all, who gives
 * way to whom, and what happens to a stream. On a Unix socket, also with TLS; by TCP: test_http_access.py.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <gnutls/x509.h>

#include "observe/connection.h"
#include "observe/listener.h"

enum { LARGE = 4 << 20, STREAM_S = 60, GOES_ON = -1 };

static const char asks[] = "GET /small HTTP/1.1\r\nHost: localhost\r\n\r\n";

struct world {
	struct http_access access;
	struct listener *listener;
	uint64_t now_ms;
	char folder[32];
	const char *stream; /* its next part, NULL: none yet */
	bool is_over;
	unsigned ends;
};

static ssize_t read_stream(void *context, char *out, size_t max)
{
	struct world *world = context;
	size_t len = world->stream ? strlen(world->stream) : 0;

	assert_true(len <= max);
	if (!len)
		return world->is_over ? -1 : 0;
	memcpy(out, world->stream, len);
	world->stream = NULL;
	return (ssize_t)len;
}

static void end_stream(void *context)
{
	((struct world *)context)->ends++;
}

static void handle(void *context, const struct request *request, struct response *response)
{
	struct world *world = context;

	*response = (struct response){.status = RESPONSE_OK, .type = "text/plain"};
	if (!strcmp(request->head.path, "/stream")) {
		response->stream = (struct response_stream){read_stream, end_stream, world, STREAM_S};
		return;
	}
	response->len = strcmp(request->head.path, "/large") ? 5 : LARGE;
	response->text = malloc(response->len);
	memset(response->text, 'x', response->len);
}

static void write_file(const char *path, const gnutls_datum_t *data)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, data->data, data->size), data->size);
	close(fd);
}

/* A certificate that nobody verifies, and its key. */
static void make_certificate(const struct http_access *access)
{
	gnutls_x509_crt_t certificate;
	gnutls_x509_privkey_t key;
	gnutls_datum_t pem;

	assert_int_equal(gnutls_x509_privkey_init(&key) | gnutls_x509_crt_init(&certificate), 0);
	assert_int_equal(
	    gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0), 0);
	gnutls_x509_crt_set_version(certificate, 3);
	gnutls_x509_crt_set_serial(certificate, "1", 1);
	gnutls_x509_crt_set_activation_time(certificate, 0);
	gnutls_x509_crt_set_expiration_time(certificate, 4000000000);
	gnutls_x509_crt_set_key(certificate, key);
	assert_int_equal(gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA256, 0), 0);
	assert_int_equal(gnutls_x509_crt_export2(certificate, GNUTLS_X509_FMT_PEM, &pem), 0);
	write_file(access->certificate, &pem);
	gnutls_free(pem.data);
	assert_int_equal(gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &pem), 0);
	write_file(access->key, &pem);
	gnutls_free(pem.data);
	gnutls_x509_crt_deinit(certificate);
	gnutls_x509_privkey_deinit(key);
}

static int begin(void **state, bool has_tls)
{
	struct world *world = calloc(1, sizeof(*world));
	const struct listener_config config = {"test", handle, world};
	struct reason why;

	strcpy(world->folder, "/tmp/listener-XXXXXX");
	assert_non_null(mkdtemp(world->folder));
	if (has_tls) {
		snprintf(world->access.certificate, sizeof(world->access.certificate), "%s/cert", world->folder);
		snprintf(world->access.key, sizeof(world->access.key), "%s/key", world->folder);
		make_certificate(&world->access);
	}
	snprintf(world->access.socket, sizeof(world->access.socket), "%s/http", world->folder);
	world->now_ms = 1000000;
	world->listener = listener_open(&world->access, &config, &why);
	assert_non_null(world->listener);
	*state = world;
	return 0;
}

static int set_up(void **state)
{
	return begin(state, false);
}

static int set_up_tls(void **state)
{
	return begin(state, true);
}

static int tear_down(void **state)
{
	struct world *world = *state;

	listener_close(world->listener);
	if (*world->access.key)
		assert_int_equal(unlink(world->access.key) | unlink(world->access.certificate), 0);
	assert_int_equal(rmdir(world->folder), 0);
	free(world);
	return 0;
}

/* As often as it has work: what it does in one run is limited. */
static void run(struct world *world)
{
	for (int i = 0; i < 20; i++)
		listener_run(world->listener, world->now_ms);
}

static void pass(struct world *world, unsigned ms)
{
	world->now_ms += ms;
	run(world);
}

/* A client that has sent the text. */
static int client(struct world *world, const char *text)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", world->access.socket);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
	run(world);
	return fd;
}

/* What has come, at most 1,023 bytes. Returns its length, GOES_ON for none of an open connection, 0 for its end. */
static ssize_t receive(int fd, char out[1024])
{
	ssize_t n = recv(fd, out, 1023, 0);

	out[n > 0 ? n : 0] = 0;
	if (n < 0 && errno == ECONNRESET)
		return 0;
	assert_true(n >= 0 || errno == EAGAIN);
	return n >= 0 ? n : GOES_ON;
}

static bool is_open(int fd)
{
	char text[1024];

	return receive(fd, text) == GOES_ON;
}

/* Whether a new client is answered at once. */
static bool is_answered(struct world *world)
{
	char text[1024];
	int fd = client(world, asks);
	bool is_right = receive(fd, text) > 0 && strstr(text, "\r\n\r\nxxxxx");

	close(fd);
	run(world);
	return is_right;
}

static unsigned counted(struct world *world, const char *reason)
{
	char *text, wanted[64], *found;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	unsigned count;

	listener_write_metrics(out, "t", world->listener);
	fclose(out);
	snprintf(wanted, sizeof(wanted), "{reason=\"%s\"} ", reason);
	found = strstr(text, wanted);
	assert_non_null(found);
	count = (unsigned)atoi(found + strlen(wanted));
	free(text);
	return count;
}

static void test_one_response_and_the_end(void **state)
{
	struct world *world = *state;
	char text[1024];
	int fd = client(world,
			"GET /small HTTP/1.1\r\nHost: localhost\r\n\r\nGET /large HTTP/1.1\r\nHost: localhost\r\n\r\n");

	assert_true(receive(fd, text) > 0);
	assert_ptr_equal(strstr(text, "HTTP/1.1 200 OK\r\n"), text);
	assert_non_null(strstr(text, "\r\nConnection: close\r\n"));
	assert_non_null(strstr(text, "\r\nContent-Length: 5\r\n"));
	assert_non_null(strstr(text, "\r\n\r\nxxxxx"));
	assert_int_equal(receive(fd, text), 0);
	/* it is still there for what the client may be sending, but not for long */
	assert_int_equal(send(fd, asks, strlen(asks), MSG_NOSIGNAL), strlen(asks));
	pass(world, CONNECTION_LINGER_S * 1000);
	assert_int_equal(send(fd, asks, strlen(asks), MSG_NOSIGNAL), -1);
	assert_int_equal(receive(fd, text), 0);
	close(fd);
	assert_int_equal(counted(world, "unread") + counted(world, "no_request") + counted(world, "gave_way"), 0);
	assert_int_equal(listener_timeout(world->listener, world->now_ms), -1);
}

static void test_other_methods(void **state)
{
	static const char *const requests[] = {"HEAD /small HTTP/1.1\r\nHost: localhost\r\n\r\n",
					       "POST /small HTTP/1.1\r\nHost: localhost\r\n\r\n"};
	char text[1024];

	for (int i = 0; i < 2; i++) {
		int fd = client(*state, requests[i]);

		assert_true(receive(fd, text) > 0);
		assert_ptr_equal(strstr(text, "HTTP/1.1 405 "), text);
		assert_non_null(strstr(text, "\r\nAllow: GET\r\n"));
		assert_true(!strstr(text, "\"allowed\": \"GET\"") == !i); /* HEAD is answered without a text */
		assert_int_equal(receive(fd, text), 0);
		close(fd);
	}
}

static void test_a_head_that_drips(void **state)
{
	struct world *world = *state;
	int fd = client(world, "");

	for (unsigned ms = 0; ms < CONNECTION_HEAD_S * 1000 - 500; ms += 500) {
		assert_int_equal(send(fd, "G", 1, MSG_NOSIGNAL), 1);
		pass(world, 500);
		assert_true(is_open(fd));
	}
	assert_int_equal(listener_timeout(world->listener, world->now_ms), 500);
	pass(world, 499);
	assert_true(is_open(fd));
	pass(world, 1);
	assert_false(is_open(fd));
	assert_int_equal(counted(world, "no_request"), 1);
	close(fd);
}

static void test_a_response_that_is_read_slowly(void **state)
{
	struct world *world = *state;
	char text[1024];
	int fd = client(world, "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n");
	ssize_t n;

	for (unsigned ms = 0; ms < CONNECTION_RESPONSE_S * 1000 - 1000; ms += 1000) {
		assert_true(receive(fd, text) > 0);
		pass(world, 1000);
		assert_true(is_answered(world)); /* it holds up nobody */
	}
	assert_int_equal(counted(world, "unread"), 0);
	pass(world, 1000);
	assert_int_equal(counted(world, "unread"), 1);
	while ((n = receive(fd, text)) > 0)
		continue;
	assert_int_equal(n, 0);
	close(fd);
}

static void test_the_oldest_gives_way(void **state)
{
	struct world *world = *state;
	int fds[LISTENER_CONNECTIONS_MAX];

	for (int i = 0; i < LISTENER_CONNECTIONS_MAX; i++) {
		/* some that send slowly, some that read nothing */
		fds[i] = client(world, i % 2 ? "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n" : "G");
		pass(world, 1);
	}
	assert_int_equal(counted(world, "gave_way"), 0);
	assert_true(is_answered(world));
	assert_int_equal(counted(world, "gave_way"), 1);
	assert_false(is_open(fds[0]));
	assert_true(is_open(fds[2]));
	assert_true(is_answered(world)); /* by the place that is free now */
	assert_int_equal(counted(world, "gave_way"), 1);
	for (int i = 0; i < LISTENER_CONNECTIONS_MAX; i++)
		close(fds[i]);
}

static void test_a_stream_keeps_its_place(void **state)
{
	struct world *world = *state;
	char text[1024];
	int fd = client(world, "GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n"), fds[LISTENER_CONNECTIONS_MAX];

	assert_true(receive(fd, text) > 0);
	assert_non_null(strstr(text, "\r\nTransfer-Encoding: chunked\r\n"));
	assert_ptr_equal(strstr(text, "\r\n\r\n"), text + strlen(text) - 4);
	for (int i = 0; i < LISTENER_CONNECTIONS_MAX; i++) {
		pass(world, 1);
		fds[i] = client(world, "G");
	}
	assert_int_equal(counted(world, "gave_way"), 1);
	assert_false(is_open(fds[0]));
	world->stream = "a part of eighteen";
	run(world);
	assert_int_equal(receive(fd, text), 24);
	assert_string_equal(text, "12\r\na part of eighteen\r\n");
	pass(world, CONNECTION_RESPONSE_S * 1000); /* longer than other responses may take */
	assert_true(is_open(fd));
	world->is_over = true;
	run(world);
	assert_int_equal(receive(fd, text), 5);
	assert_string_equal(text, "0\r\n\r\n");
	assert_int_equal(receive(fd, text), 0);
	assert_int_equal(world->ends, 1);
	close(fd);
	for (int i = 0; i < LISTENER_CONNECTIONS_MAX; i++)
		close(fds[i]);
}

static void test_streams_end(void **state)
{
	struct world *world = *state;
	int late = client(world, "GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n"), gone;
	char text[1024];

	pass(world, (STREAM_S + CONNECTION_RESPONSE_S) * 1000 - 1);
	assert_int_equal(world->ends, 0);
	pass(world, 1);
	assert_int_equal(world->ends, 1);
	assert_true(receive(late, text) > 0);
	assert_int_equal(receive(late, text), 0);
	close(late);
	gone = client(world, "GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
	close(gone);
	run(world);
	assert_int_equal(world->ends, 2);
	assert_int_equal(counted(world, "unread"), 2);
	client(world, "GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n"); /* listener_close() ends it */
}

/* Without descriptors it neither spins nor stays away for good. */
static void test_no_descriptors(void **state)
{
	struct world *world = *state;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct rlimit before, few = {100, 100};
	int fds[100], count = 0, fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	char text[1024];

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", world->access.socket);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	while ((fds[count] = fcntl(fd, F_DUPFD_CLOEXEC, 0)) >= 0)
		count++;
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(send(fd, asks, strlen(asks), MSG_NOSIGNAL), strlen(asks));
	run(world);
	assert_in_range(listener_timeout(world->listener, world->now_ms), 1, 1000);
	while (count)
		close(fds[--count]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	pass(world, 1000);
	assert_true(receive(fd, text) > 0);
	close(fd);
}

/* --- with TLS ---------------------------------------------------------------------------------------------------- */

struct secured {
	gnutls_session_t session;
	gnutls_certificate_credentials_t credentials;
	int fd;
};

static struct secured secured_client(struct world *world)
{
	struct secured client_of = {.fd = client(world, "")};

	assert_int_equal(gnutls_init(&client_of.session, GNUTLS_CLIENT | GNUTLS_NONBLOCK), 0);
	gnutls_set_default_priority(client_of.session);
	gnutls_certificate_allocate_credentials(&client_of.credentials);
	gnutls_credentials_set(client_of.session, GNUTLS_CRD_CERTIFICATE, client_of.credentials);
	gnutls_transport_set_int(client_of.session, client_of.fd);
	return client_of;
}

static void shake_hands(struct world *world, struct secured *secured)
{
	int error;

	while ((error = gnutls_handshake(secured->session)) == GNUTLS_E_AGAIN)
		run(world);
	assert_int_equal(error, 0);
	run(world);
}

/* Reads until there is nothing more for now. Returns how many bytes; *end: what came after them. */
static size_t receive_all(struct world *world, struct secured *secured, ssize_t *end)
{
	static char bytes[1 << 16];
	size_t sum = 0;

	while ((*end = gnutls_record_recv(secured->session, bytes, sizeof(bytes))) > 0) {
		sum += (size_t)*end;
		run(world);
	}
	return sum;
}

static void end_client(struct secured *secured)
{
	gnutls_deinit(secured->session);
	gnutls_certificate_free_credentials(secured->credentials);
	close(secured->fd);
}

static void test_tls_to_the_end(void **state)
{
	static const char large[] = "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n";
	struct world *world = *state;
	struct secured secured = secured_client(world);
	ssize_t end;

	shake_hands(world, &secured);
	for (size_t i = 0; i < strlen(large); i++) { /* a record for each byte */
		assert_int_equal(receive_all(world, &secured, &end), 0);
		assert_int_equal(end, GNUTLS_E_AGAIN);
		assert_int_equal(gnutls_record_send(secured.session, large + i, 1), 1);
		run(world);
	}
	assert_in_range(receive_all(world, &secured, &end), LARGE + 1, LARGE + RESPONSE_HEAD_MAX);
	assert_int_equal(end, 0); /* the session's end, not just the socket's */
	assert_int_equal(counted(world, "unread"), 0);
	end_client(&secured);
}

/* A record for each byte of a head is so many calls: the other connections have their turn in between. */
static void test_tls_of_tiny_records(void **state)
{
	struct world *world = *state;
	struct secured secured = secured_client(world);
	size_t len = strlen(asks);
	ssize_t end;

	shake_hands(world, &secured);
	assert_int_equal(receive_all(world, &secured, &end), 0);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(gnutls_record_send(secured.session, asks + i, 1), 1);
	for (size_t read = CONNECTION_STEP; read < len; read += CONNECTION_STEP) {
		char byte;

		listener_run(world->listener, world->now_ms);
		assert_int_equal(recv(secured.fd, &byte, 1, MSG_PEEK), -1);
	}
	listener_run(world->listener, world->now_ms);
	assert_true(receive_all(world, &secured, &end) > 0);
	end_client(&secured);
}

static void test_tls_refuses_heads(void **state)
{
	static const char bare[] = "GET /small HTTP/1.1\nHost: localhost\n\n";
	struct world *world = *state;
	struct secured secured = secured_client(world);
	char text[1024] = "";

	shake_hands(world, &secured);
	assert_int_equal(gnutls_record_send(secured.session, bare, strlen(bare)), strlen(bare));
	run(world);
	assert_true(gnutls_record_recv(secured.session, text, sizeof(text) - 1) > 0);
	assert_ptr_equal(strstr(text, "HTTP/1.1 400 "), text);
	assert_int_equal(counted(world, "malformed"), 1);
	end_client(&secured);
}

static void test_tls_that_is_slow(void **state)
{
	static const char large[] = "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n";
	struct world *world = *state;
	struct secured silent = secured_client(world), half = secured_client(world), reader = secured_client(world);

	gnutls_handshake(half.session); /* its first flight */
	shake_hands(world, &reader);
	assert_int_equal(gnutls_record_send(reader.session, large, strlen(large)), strlen(large));
	pass(world, CONNECTION_HEAD_S * 1000 - 1);
	assert_int_equal(counted(world, "no_request"), 0);
	pass(world, 1);
	assert_int_equal(counted(world, "no_request"), 2);
	pass(world, (CONNECTION_RESPONSE_S - CONNECTION_HEAD_S) * 1000);
	assert_int_equal(counted(world, "unread"), 0);
	pass(world, CONNECTION_HEAD_S * 1000);
	assert_int_equal(counted(world, "unread"), 1);
	assert_int_equal(listener_timeout(world->listener, world->now_ms), -1);
	end_client(&silent);
	end_client(&half);
	end_client(&reader);
}

static void test_tls_streams(void **state)
{
	static const char stream[] = "GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n";
	struct world *world = *state;
	struct secured secured = secured_client(world);
	ssize_t end;

	shake_hands(world, &secured);
	assert_int_equal(gnutls_record_send(secured.session, stream, strlen(stream)), strlen(stream));
	run(world);
	assert_true(receive_all(world, &secured, &end) > 0);
	assert_int_equal(end, GNUTLS_E_AGAIN);
	world->stream = "a part";
	run(world);
	assert_int_equal(receive_all(world, &secured, &end), strlen("6\r\na part\r\n"));
	world->is_over = true;
	run(world);
	assert_int_equal(receive_all(world, &secured, &end), strlen("0\r\n\r\n"));
	assert_int_equal(end, 0);
	end_client(&secured);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_one_response_and_the_end, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_other_methods, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_a_head_that_drips, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_a_response_that_is_read_slowly, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_the_oldest_gives_way, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_a_stream_keeps_its_place, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_streams_end, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_no_descriptors, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_tls_to_the_end, set_up_tls, tear_down),
	    cmocka_unit_test_setup_teardown(test_tls_of_tiny_records, set_up_tls, tear_down),
	    cmocka_unit_test_setup_teardown(test_tls_refuses_heads, set_up_tls, tear_down),
	    cmocka_unit_test_setup_teardown(test_tls_that_is_slow, set_up_tls, tear_down),
	    cmocka_unit_test_setup_teardown(test_tls_streams, set_up_tls, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
