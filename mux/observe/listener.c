/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/listener.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "observe/bearer.h"
#include "observe/certificate.h"
#include "observe/connection.h"
#include "observe/exposition.h"

enum {
	REFRESH_MS = 1000,
	PAUSE_MS = 1000, /* of accepting, when there are no descriptors or no memory for it */
	BACKLOG = 128,
	EVENTS = 16, /* and as many connections are accepted, in one run: the caller has other work */
};

/* Why requests and connections are refused, or end early: counters and the metric's labels. */
#define REASONS(entry)                                                                                                 \
	entry(malformed) entry(other_host) entry(token_missing) entry(token_wrong) entry(no_request) entry(no_memory)  \
	    entry(unread) entry(gave_way)

#define REASON_FIELD(name) uint64_t name;

struct listener {
	const struct http_access *access;
	struct listener_config config;
	struct certificate *certificate; /* NULL: no TLS */
	struct watched_file tokens_file; /* no path: no tokens */
	struct bearer tokens;
	uint64_t refreshed_ms, paused_until_ms;
	struct stat unix_socket; /* as this process made it */
	int epoll, socket;       /* -1: none */
	bool is_paused, is_loopback;
	struct connection connections[LISTENER_CONNECTIONS_MAX];
	struct {
		REASONS(REASON_FIELD)
		uint64_t file_errors;
	} counters;
};

static void report(struct listener *listener, int error, const char *option, const char *path, const struct reason *why)
{
	if (error < 0) {
		listener->counters.file_errors++;
		fprintf(stderr, "%s event=http_file_refused option=%s why=\"%s; what was read before stays in use\"\n",
			listener->config.program, option, why->text);
	} else if (error > 0) {
		fprintf(stderr, "%s event=http_file_read option=%s path=%s\n", listener->config.program, option, path);
	}
}

static void refresh(struct listener *listener, uint64_t now_ms)
{
	struct reason why = {""};

	if (now_ms - listener->refreshed_ms < REFRESH_MS)
		return;
	listener->refreshed_ms = now_ms;
	if (listener->certificate)
		report(listener, certificate_refresh(listener->certificate, &why), "--http-cert",
		       listener->access->certificate, &why);
	if (listener->tokens_file.path && watched_file_has_changed(&listener->tokens_file))
		report(listener, bearer_read(&listener->tokens_file, &listener->tokens, &why) ? -EINVAL : 1,
		       "--http-tokens", listener->access->tokens, &why);
}

/* Without tokens only the header Host tells a page of another name from a client of this host. */
static bool needs_address(const struct listener *listener)
{
	return !*listener->access->tokens && listener->is_loopback;
}

/* Whether the request has a token that is needed; a refusal if not. */
static bool is_let_in(struct listener *listener, const struct head *head, struct response *response, uint64_t now_ms)
{
	enum bearer_verdict verdict = BEARER_RIGHT;

	if (needs_address(listener) && !head_host_is_address(head)) {
		listener->counters.other_host++;
		response_problem(response, RESPONSE_INVALID, "Host", head->host, "localhost or an address");
		return false;
	}
	if (listener->tokens_file.path) {
		refresh(listener, now_ms);
		verdict = bearer_check(&listener->tokens, head->authorization);
	}
	if (verdict == BEARER_MISSING) {
		listener->counters.token_missing++;
		response_unauthorized(response, "no token is given; allowed: Authorization: Bearer TOKEN",
				      "WWW-Authenticate: Bearer\r\n");
	} else if (verdict == BEARER_WRONG) {
		listener->counters.token_wrong++;
		response_unauthorized(response, "the token is unknown; allowed: one of --http-tokens",
				      "WWW-Authenticate: Bearer error=\"invalid_token\"\r\n");
	}
	return verdict == BEARER_RIGHT;
}

/* Answers the request whose head has come, or refuses it. false: no memory. */
static bool answer(struct listener *listener, struct connection *connection, uint64_t now_ms)
{
	struct request request = {.socket = connection->fd};
	struct response response = {0};
	enum head_fault fault = connection_head(connection, &request.head);
	bool is_head = !fault && !strcmp(request.head.method, "HEAD");

	if (fault) {
		listener->counters.malformed++;
		response_problem(&response, RESPONSE_INVALID, head_refusals[fault].field, NULL,
				 head_refusals[fault].allowed);
	} else if (is_let_in(listener, &request.head, &response, now_ms)) {
		if (!strcmp(request.head.method, "GET")) {
			listener->config.handler(listener->config.context, &request, &response);
		} else {
			response_problem(&response, RESPONSE_METHOD, "method", request.head.method, "GET");
			response.header = "Allow: GET\r\n";
		}
	}
	if (!response.text && !response.stream.read)
		return false;
	connection_respond(connection, &response, is_head, now_ms);
	return true;
}

/* reason: a counter of why it ends early; NULL: it does not. */
static void end(struct connection *connection, uint64_t *reason)
{
	if (reason)
		(*reason)++;
	connection_close(connection);
}

/* Why a connection whose time is up, or whose client has gone, ends early. */
static uint64_t *reason_of(struct listener *listener, const struct connection *connection)
{
	if (connection->state == CONNECTION_HANDSHAKE || connection->state == CONNECTION_HEAD)
		return &listener->counters.no_request;
	return connection->state == CONNECTION_RESPONSE || connection->state == CONNECTION_GOODBYE
		   ? &listener->counters.unread
		   : NULL;
}

static void step(struct listener *listener, struct connection *connection, uint32_t ready, uint64_t now_ms)
{
	uint32_t before = connection->events;
	enum connection_event event = connection_step(connection, ready, now_ms);

	if (event == CONNECTION_ASKS) {
		if (!answer(listener, connection, now_ms)) {
			end(connection, &listener->counters.no_memory);
			return;
		}
		event = connection_step(connection, 0, now_ms);
	}
	if (event == CONNECTION_WAITS && connection->events != before) {
		struct epoll_event wanted = {.events = connection->events, .data.ptr = connection};

		if (epoll_ctl(listener->epoll, EPOLL_CTL_MOD, connection->fd, &wanted))
			event = CONNECTION_ENDS;
	}
	if (event == CONNECTION_ENDS)
		end(connection, reason_of(listener, connection));
}

static uint64_t source_of(const struct sockaddr_storage *address)
{
	uint64_t source = 0;

	if (address->ss_family == AF_INET)
		source = ((const struct sockaddr_in *)address)->sin_addr.s_addr;
	else if (address->ss_family == AF_INET6)
		memcpy(&source, &((const struct sockaddr_in6 *)address)->sin6_addr, sizeof(source));
	return source;
}

static unsigned places_of(const struct listener *listener, uint64_t source)
{
	unsigned count = 0;

	for (int i = 0; i < LISTENER_CONNECTIONS_MAX; i++)
		count += listener->connections[i].state != CONNECTION_FREE && listener->connections[i].source == source;
	return count;
}

/*
 * A free place for a connection from the source. If all are taken, the oldest that is no stream gives way, of the
 * source that has the most with the new one: who opens many takes none of the others'. NULL: all are streams.
 */
static struct connection *make_room(struct listener *listener, uint64_t source)
{
	struct connection *victim = NULL;
	unsigned most = 0;

	for (int i = 0; i < LISTENER_CONNECTIONS_MAX; i++) {
		struct connection *one = &listener->connections[i];
		unsigned count;

		if (one->state == CONNECTION_FREE)
			return one;
		if (connection_is_stream(one))
			continue;
		count = places_of(listener, one->source) + (one->source == source);
		if (!victim || count > most || (count == most && one->since_ms < victim->since_ms)) {
			victim = one;
			most = count;
		}
	}
	if (victim)
		end(victim, victim->state == CONNECTION_LINGER ? NULL : &listener->counters.gave_way);
	return victim;
}

static void take(struct listener *listener, int fd, uint64_t source, uint64_t now_ms)
{
	static const int on = 1;
	struct connection *connection = make_room(listener, source);
	struct epoll_event wanted = {.data.ptr = connection};
	gnutls_session_t tls = NULL;

	refresh(listener, now_ms);
	if (connection && listener->certificate)
		tls = certificate_session(listener->certificate, fd);
	if (!connection || !tls != !listener->certificate) {
		listener->counters.no_request++;
		close(fd);
		return;
	}
	if (!*listener->access->socket) /* the text does not wait until the head has arrived */
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	connection_open(connection, fd, tls, source, now_ms);
	wanted.events = connection->events;
	if (epoll_ctl(listener->epoll, EPOLL_CTL_ADD, fd, &wanted))
		end(connection, &listener->counters.no_request);
}

static void pause_accepting(struct listener *listener, bool pauses, uint64_t now_ms)
{
	struct epoll_event wanted = {.events = pauses ? 0 : EPOLLIN, .data.ptr = NULL};

	listener->is_paused = !epoll_ctl(listener->epoll, EPOLL_CTL_MOD, listener->socket, &wanted) && pauses;
	listener->paused_until_ms = now_ms + PAUSE_MS;
}

static void accept_some(struct listener *listener, uint64_t now_ms)
{
	for (int i = 0; i < EVENTS; i++) {
		struct sockaddr_storage address = {0};
		socklen_t len = sizeof(address);
		int fd = accept4(listener->socket, (struct sockaddr *)&address, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			take(listener, fd, source_of(&address), now_ms);
		} else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
			pause_accepting(listener, true, now_ms);
			return;
		} else if (errno == EAGAIN) {
			return;
		}
	}
}

void listener_run(struct listener *listener, uint64_t now_ms)
{
	struct epoll_event ready[EVENTS];
	int count = epoll_wait(listener->epoll, ready, EVENTS, 0);
	bool is_asked = false;

	if (listener->is_paused && now_ms >= listener->paused_until_ms)
		pause_accepting(listener, false, now_ms);
	for (int i = 0; i < count; i++)
		if (ready[i].data.ptr)
			step(listener, ready[i].data.ptr, ready[i].events, now_ms);
		else
			is_asked = true;
	for (int i = 0; i < LISTENER_CONNECTIONS_MAX; i++) {
		struct connection *connection = &listener->connections[i];

		if (connection->state == CONNECTION_RESPONSE && !connection->events) /* a stream that had nothing */
			step(listener, connection, 0, now_ms);
		if (connection->state != CONNECTION_FREE && now_ms >= connection->deadline_ms)
			end(connection, reason_of(listener, connection));
	}
	/* last, as the events of a connection that gives way must not be taken for those of the new one */
	if (is_asked)
		accept_some(listener, now_ms);
}

int listener_timeout(const struct listener *listener, uint64_t now_ms)
{
	uint64_t at = listener->is_paused ? listener->paused_until_ms : UINT64_MAX;

	for (int i = 0; i < LISTENER_CONNECTIONS_MAX; i++) {
		const struct connection *connection = &listener->connections[i];

		if (connection->state != CONNECTION_FREE && connection->deadline_ms < at)
			at = connection->deadline_ms;
	}
	if (at == UINT64_MAX)
		return -1;
	return at > now_ms ? (int)(at - now_ms) : 0;
}

/*
 * A socket at the path, which replaces what another process left there, or still has there until it ends: as with
 * ports, a mux that takes over listens before the old one stops. Returns a descriptor or -errno.
 */
static int listen_unix(struct listener *listener)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *path = listener->access->socket;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error;

	if (fd < 0)
		return -errno;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s.new", path);
	unlink(address.sun_path);
	if (!bind(fd, (struct sockaddr *)&address, sizeof(address)) && !chmod(address.sun_path, 0660) &&
	    !listen(fd, BACKLOG) && !stat(address.sun_path, &listener->unix_socket) && !rename(address.sun_path, path))
		return fd;
	error = errno;
	unlink(address.sun_path);
	close(fd);
	return -error;
}

static void remove_unix(const struct listener *listener)
{
	struct stat now;

	if (!stat(listener->access->socket, &now) && now.st_dev == listener->unix_socket.st_dev &&
	    now.st_ino == listener->unix_socket.st_ino)
		unlink(listener->access->socket);
}

/* Several may listen on an address, as with Unix sockets above. Returns a descriptor or -errno. */
static int listen_address(const struct sockaddr_storage *address, socklen_t len)
{
	static const int on = 1;
	int fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error;

	if (fd < 0)
		return -errno;
	if (!setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) &&
	    !setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) &&
	    (address->ss_family != AF_INET6 || !setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on))) &&
	    !bind(fd, (const struct sockaddr *)address, len) && !listen(fd, BACKLOG))
		return fd;
	error = errno;
	close(fd);
	return -error;
}

static int listen_somewhere(struct listener *listener, struct reason *why)
{
	const struct http_access *access = listener->access;
	struct sockaddr_storage address = {0};
	socklen_t len;
	int error;

	if (*access->socket) {
		listener->socket = listen_unix(listener);
		if (listener->socket >= 0)
			return 0;
		return reason_set(why, listener->socket,
				  "--http: 'unix:%s' can't be listened on: %s; allowed: a path in a folder that this "
				  "process may write to",
				  access->socket, strerror(-listener->socket));
	}
	error = http_access_resolve(access, &address, &len, why);
	if (error)
		return error;
	listener->is_loopback = http_address_is_loopback(&address);
	listener->socket = listen_address(&address, len);
	if (listener->socket >= 0)
		return 0;
	return reason_set(why, listener->socket,
			  "--http: '%.120s:%u' can't be listened on: %s; allowed: a free address of this host",
			  access->host, access->port, strerror(-listener->socket));
}

static int open_files(struct listener *listener, struct reason *why)
{
	const struct http_access *access = listener->access;

	if (*access->certificate) {
		listener->certificate = certificate_open(access, why);
		if (!listener->certificate)
			return -EINVAL;
	}
	if (!*access->tokens)
		return 0;
	listener->tokens_file =
	    (struct watched_file){.option = "--http-tokens", .path = access->tokens, .forbidden = WATCHED_FILE_GROUP};
	watched_file_has_changed(&listener->tokens_file);
	return bearer_read(&listener->tokens_file, &listener->tokens, why);
}

static int open_epoll(struct listener *listener, struct reason *why)
{
	struct epoll_event wanted = {.events = EPOLLIN, .data.ptr = NULL};

	listener->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (listener->epoll < 0 || epoll_ctl(listener->epoll, EPOLL_CTL_ADD, listener->socket, &wanted))
		return reason_set(why, -errno, "--http: epoll: %s", strerror(errno));
	return 0;
}

struct listener *listener_open(const struct http_access *access, const struct listener_config *config,
			       struct reason *why)
{
	struct listener *listener = calloc(1, sizeof(*listener));

	if (!listener) {
		reason_set(why, -ENOMEM, "--http: no memory");
		return NULL;
	}
	listener->access = access;
	listener->config = *config;
	listener->epoll = listener->socket = -1;
	if (!open_files(listener, why) && !listen_somewhere(listener, why) && !open_epoll(listener, why))
		return listener;
	listener_close(listener);
	return NULL;
}

void listener_close(struct listener *listener)
{
	for (int i = 0; i < LISTENER_CONNECTIONS_MAX; i++)
		if (listener->connections[i].state != CONNECTION_FREE)
			connection_close(&listener->connections[i]);
	if (listener->socket >= 0) {
		if (*listener->access->socket)
			remove_unix(listener);
		close(listener->socket);
	}
	if (listener->epoll >= 0)
		close(listener->epoll);
	certificate_close(listener->certificate);
	explicit_bzero(&listener->tokens, sizeof(listener->tokens));
	free(listener);
}

int listener_fd(const struct listener *listener)
{
	return listener->epoll;
}

void listener_write_metrics(FILE *out, const char *prefix, const struct listener *listener)
{
	struct exposition to = {.out = out, .prefix = prefix};

	exposition_begin(&to, "http_refused_total", "counter",
			 "Requests and connections at --http that were refused, by the reason.");
#define REASON_SAMPLE(name) exposition_add(&to, "reason", #name, listener->counters.name);
	REASONS(REASON_SAMPLE)
	exposition_write(&to, "http_file_errors_total", "counter", "Changed files of --http that could not be used.",
			 listener->counters.file_errors);
	if (!listener->certificate)
		return;
	exposition_begin(&to, "http_certificate_expiry_seconds", "gauge",
			 "When the certificate of --http expires, in Unix time.");
	fprintf(out, "%s_http_certificate_expiry_seconds %jd\n", prefix,
		(intmax_t)certificate_expiry(listener->certificate));
}
