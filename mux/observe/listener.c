/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/listener.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "observe/bearer.h"
#include "observe/certificate.h"
#include "observe/head.h"
#include "observe/problem.h"

enum { REFRESH_MS = 1000, BACKLOG = 64 };

/* TLS 1.2 and 1.3, and of 1.2 only what has forward secrecy and authenticates what it encrypts. */
static const char priorities[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA:-AES-128-CBC:-AES-256-CBC:"
				 "-CAMELLIA-128-CBC:-CAMELLIA-256-CBC:-3DES-CBC:-SHA1";

/* A connection. */
struct slot {
	struct MHD_Connection *connection; /* NULL: free */
	uint64_t since_ms;
	bool has_asked; /* its request's head has arrived */
	bool is_shut;
	enum head_fault fault; /* of its target */
};

struct listener {
	struct MHD_Daemon *daemon;
	const struct http_access *access;
	struct listener_config config;
	struct certificate *certificate; /* NULL: no TLS */
	struct watched_file tokens_file; /* no path: no tokens */
	struct bearer tokens;
	struct slot slots[LISTENER_CONNECTIONS_MAX];
	uint64_t refreshed_ms;
	struct stat socket; /* the Unix socket as this process made it */
	int fd;
	struct {
		uint64_t malformed, token_missing, token_wrong, no_request, file_errors;
	} counters;
};

static uint64_t clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* --- files ------------------------------------------------------------------------------------------------------- */

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

static void refresh(struct listener *listener)
{
	uint64_t now = clock_ms();
	struct reason why = {""};

	if (now - listener->refreshed_ms < REFRESH_MS)
		return;
	listener->refreshed_ms = now;
	if (listener->certificate)
		report(listener, certificate_refresh(listener->certificate, &why), "--http-cert",
		       listener->access->certificate, &why);
	if (listener->tokens_file.path && watched_file_has_changed(&listener->tokens_file))
		report(listener, bearer_read(&listener->tokens_file, &listener->tokens, &why) ? -EINVAL : 1,
		       "--http-tokens", listener->access->tokens, &why);
}

/* --- connections ------------------------------------------------------------------------------------------------- */

static struct slot *slot_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

static void on_connection(void *context, struct MHD_Connection *connection, void **state,
			  enum MHD_ConnectionNotificationCode code)
{
	struct listener *listener = context;
	struct slot *slot = *state;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		refresh(listener);
		for (int i = 0; i < LISTENER_CONNECTIONS_MAX; i++)
			if (!listener->slots[i].connection) {
				listener->slots[i] = (struct slot){.connection = connection, .since_ms = clock_ms()};
				*state = &listener->slots[i];
				return;
			}
	} else if (slot) {
		listener->counters.no_request += !slot->has_asked;
		*slot = (struct slot){0};
	}
}

/* Shuts down what has sent no head in time; libmicrohttpd then closes it. */
static void shut_late(struct listener *listener)
{
	uint64_t now = clock_ms();

	for (int i = 0; i < LISTENER_CONNECTIONS_MAX; i++) {
		struct slot *slot = &listener->slots[i];
		const union MHD_ConnectionInfo *info;

		if (!slot->connection || slot->has_asked || slot->is_shut ||
		    now - slot->since_ms < LISTENER_HEAD_S * 1000)
			continue;
		info = MHD_get_connection_info(slot->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
		slot->is_shut = true;
		if (info)
			shutdown(info->connect_fd, SHUT_RDWR);
	}
}

enum MHD_Result listener_answer(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response)
{
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

/* text: malloc'ed, or NULL without memory; header: another one, name and value, or NULL. */
static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned status, char *text,
			      const char *const header[2])
{
	struct MHD_Response *response =
	    text ? MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE) : NULL;

	if (!response) {
		free(text);
		return MHD_NO;
	}
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, PROBLEM_TYPE);
	if (header)
		MHD_add_response_header(response, header[0], header[1]);
	return listener_answer(connection, status, response);
}

static enum MHD_Result refuse_head(struct listener *listener, struct MHD_Connection *connection, enum head_fault fault)
{
	listener->counters.malformed++;
	return refuse(connection, MHD_HTTP_BAD_REQUEST,
		      problem_text(MHD_HTTP_BAD_REQUEST, head_fault_field(fault), NULL, head_fault_allowed(fault)),
		      NULL);
}

/* What is missing or wrong is not repeated: it may be a token. */
static enum MHD_Result refuse_token(struct listener *listener, struct MHD_Connection *connection,
				    enum bearer_verdict verdict)
{
	static const char missing[] = "no token is given; allowed: Authorization: Bearer TOKEN";
	static const char wrong[] = "the token is unknown; allowed: one of --http-tokens";
	const char *const header[2] = {MHD_HTTP_HEADER_WWW_AUTHENTICATE,
				       verdict == BEARER_MISSING ? "Bearer" : "Bearer error=\"invalid_token\""};
	char *text;

	listener->counters.token_missing += verdict == BEARER_MISSING;
	listener->counters.token_wrong += verdict == BEARER_WRONG;
	if (asprintf(&text,
		     "{\n  \"type\": \"about:blank\",\n  \"title\": \"Unauthorized\",\n  \"status\": 401,\n"
		     "  \"detail\": \"%s\"\n}\n",
		     verdict == BEARER_MISSING ? missing : wrong) < 0)
		text = NULL;
	return refuse(connection, MHD_HTTP_UNAUTHORIZED, text, header);
}

/* libmicrohttpd's hook for the target as it was sent, before escapes are resolved; NULL: it keeps nothing for it. */
static void *on_target(void *context, const char *target, struct MHD_Connection *connection)
{
	struct slot *slot = slot_of(connection);

	(void)context;
	if (slot)
		slot->fault = head_check_target(target);
	return NULL;
}

/* Called once for a request, when its head has arrived: it is answered at once. */
static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url, const char *method,
				  const char *version, const char *upload, size_t *upload_len, void **state)
{
	static const char *const allow[2] = {MHD_HTTP_HEADER_ALLOW, MHD_HTTP_METHOD_GET};
	struct listener *listener = context;
	struct slot *slot = slot_of(connection);
	enum head_fault fault = head_check(connection, method, version);

	(void)upload;
	(void)upload_len;
	(void)state;
	if (slot)
		slot->has_asked = true;
	if (!fault && slot)
		fault = slot->fault;
	if (fault)
		return refuse_head(listener, connection, fault);
	if (listener->tokens_file.path) {
		const char *header;
		enum bearer_verdict verdict;

		refresh(listener);
		header = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
		verdict = bearer_check(&listener->tokens, header);
		if (verdict != BEARER_RIGHT)
			return refuse_token(listener, connection, verdict);
	}
	if (strcmp(method, MHD_HTTP_METHOD_GET))
		return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
			      problem_text(MHD_HTTP_METHOD_NOT_ALLOWED, "method", method, "GET"), allow);
	return listener->config.handler(listener->config.context, connection, url);
}

/* --- sockets ----------------------------------------------------------------------------------------------------- */

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
	    !listen(fd, BACKLOG) && !stat(address.sun_path, &listener->socket) && !rename(address.sun_path, path))
		return fd;
	error = errno;
	unlink(address.sun_path);
	close(fd);
	return -error;
}

static void remove_unix(const struct listener *listener)
{
	struct stat now;

	if (!stat(listener->access->socket, &now) && now.st_dev == listener->socket.st_dev &&
	    now.st_ino == listener->socket.st_ino)
		unlink(listener->access->socket);
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
	    (struct watched_file){.option = "--http-tokens", .path = access->tokens, .is_secret = true};
	watched_file_has_changed(&listener->tokens_file);
	return bearer_read(&listener->tokens_file, &listener->tokens, why);
}

/* Starts libmicrohttpd on an address, or on a socket that listens already and that it then owns. */
static int start(struct listener *listener, const struct sockaddr_storage *address, int fd)
{
	/* an item has room for data pointers alone, to which C converts no function */
	const union {
		__typeof__(certificate_retrieve) *function;
		void *pointer;
	} retrieve = {.function = certificate_retrieve};
	const union MHD_DaemonInfo *info;
	struct MHD_OptionItem options[8];
	unsigned flags = listener->config.flags | MHD_USE_EPOLL, count = 0;

	if (fd >= 0) {
		options[count++] = (struct MHD_OptionItem){MHD_OPTION_LISTEN_SOCKET, fd, NULL};
	} else {
		options[count++] = (struct MHD_OptionItem){MHD_OPTION_SOCK_ADDR, 0, (void *)address};
		options[count++] = (struct MHD_OptionItem){MHD_OPTION_LISTENING_ADDRESS_REUSE, 1, NULL};
		flags |= address->ss_family == AF_INET6 ? MHD_USE_IPv6 : 0;
	}
	if (listener->certificate) {
		flags |= MHD_USE_TLS;
		options[count++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_CERT_CALLBACK2, 0, retrieve.pointer};
		options[count++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)priorities};
	}
	options[count] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
	errno = 0;
	listener->daemon = MHD_start_daemon(
	    flags, listener->access->port, NULL, NULL, on_request, listener, MHD_OPTION_CONNECTION_LIMIT,
	    (unsigned)LISTENER_CONNECTIONS_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)LISTENER_MEMORY,
	    MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)LISTENER_IDLE_S, MHD_OPTION_STRICT_FOR_CLIENT, 1,
	    MHD_OPTION_NOTIFY_CONNECTION, on_connection, listener, MHD_OPTION_URI_LOG_CALLBACK, on_target, listener,
	    MHD_OPTION_ARRAY, options, MHD_OPTION_END);
	if (!listener->daemon)
		return -(errno ? errno : EADDRINUSE);
	info = MHD_get_daemon_info(listener->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	listener->fd = info->epoll_fd;
	return 0;
}

static int listen_somewhere(struct listener *listener, struct reason *why)
{
	const struct http_access *access = listener->access;
	struct sockaddr_storage address = {0};
	socklen_t len;
	int error, fd = -1;

	if (*access->socket) {
		fd = listen_unix(listener);
		error = fd < 0 ? fd : start(listener, NULL, fd);
		if (fd >= 0 && error) {
			remove_unix(listener);
			close(fd);
		}
		return error ? reason_set(why, error,
					  "--http: 'unix:%s' can't be listened on: %s; allowed: a path in a folder "
					  "that this process may write to",
					  access->socket, strerror(-error))
			     : 0;
	}
	error = http_access_resolve(access, &address, &len, why);
	if (error)
		return error;
	error = start(listener, &address, -1);
	return error ? reason_set(why, error,
				  "--http: '%.120s:%u' can't be listened on: %s; allowed: a free address of this host",
				  access->host, access->port, strerror(-error))
		     : 0;
}

/* --- the whole --------------------------------------------------------------------------------------------------- */

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
	listener->refreshed_ms = clock_ms();
	if (!open_files(listener, why) && !listen_somewhere(listener, why))
		return listener;
	certificate_close(listener->certificate);
	explicit_bzero(&listener->tokens, sizeof(listener->tokens));
	free(listener);
	return NULL;
}

void listener_close(struct listener *listener)
{
	if (*listener->access->socket)
		remove_unix(listener);
	MHD_stop_daemon(listener->daemon);
	certificate_close(listener->certificate);
	explicit_bzero(&listener->tokens, sizeof(listener->tokens));
	free(listener);
}

int listener_fd(const struct listener *listener)
{
	return listener->fd;
}

int listener_timeout(const struct listener *listener)
{
	MHD_UNSIGNED_LONG_LONG ms = 0;

	if (MHD_get_timeout(listener->daemon, &ms) != MHD_YES)
		return -1;
	/* with a connection at hand: so often that shut_late() is not late by more than a second */
	return ms > REFRESH_MS ? REFRESH_MS : (int)ms;
}

void listener_run(struct listener *listener)
{
	MHD_run(listener->daemon);
	shut_late(listener);
}

void listener_write_metrics(FILE *out, const char *prefix, const struct listener *listener)
{
	fprintf(out,
		"# HELP %s_http_refused_total Requests and connections at --http that were refused, by the reason.\n"
		"# TYPE %s_http_refused_total counter\n",
		prefix, prefix);
	fprintf(out, "%s_http_refused_total{reason=\"malformed\"} %" PRIu64 "\n", prefix, listener->counters.malformed);
	fprintf(out, "%s_http_refused_total{reason=\"token_missing\"} %" PRIu64 "\n", prefix,
		listener->counters.token_missing);
	fprintf(out, "%s_http_refused_total{reason=\"token_wrong\"} %" PRIu64 "\n", prefix,
		listener->counters.token_wrong);
	fprintf(out, "%s_http_refused_total{reason=\"no_request\"} %" PRIu64 "\n", prefix,
		listener->counters.no_request);
	fprintf(out,
		"# HELP %s_http_file_errors_total Changed files of --http that could not be used.\n"
		"# TYPE %s_http_file_errors_total counter\n%s_http_file_errors_total %" PRIu64 "\n",
		prefix, prefix, prefix, listener->counters.file_errors);
	if (listener->certificate)
		fprintf(out,
			"# HELP %s_http_certificate_expiry_seconds When the certificate of --http expires, in Unix "
			"time.\n"
			"# TYPE %s_http_certificate_expiry_seconds gauge\n%s_http_certificate_expiry_seconds %jd\n",
			prefix, prefix, prefix, (intmax_t)certificate_expiry(listener->certificate));
}
