/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/connection.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "observe/certificate.h"

enum { CHUNK_HEAD = 8, CHUNK_END = 2 };

_Static_assert((int)RESPONSE_HEAD_MAX <= (int)HEAD_MAX, "a response's head fits where the request's was");

void connection_open(struct connection *connection, int fd, gnutls_session_t tls, uint64_t source, uint64_t now_ms)
{
	*connection = (struct connection){.state = tls ? CONNECTION_HANDSHAKE : CONNECTION_HEAD,
					  .fd = fd,
					  .tls = tls,
					  .source = source,
					  .since_ms = now_ms,
					  .deadline_ms = now_ms + CONNECTION_HEAD_S * 1000,
					  .events = EPOLLIN};
}

void connection_close(struct connection *connection)
{
	response_clear(&connection->response);
	if (connection->tls)
		certificate_end(connection->tls);
	close(connection->fd);
	explicit_bzero(connection->buffer,
		       sizeof(connection->buffer)); /* a token may be in it, also in what was dropped */
	connection->state = CONNECTION_FREE;
}

bool connection_is_stream(const struct connection *connection)
{
	return connection->response.stream.read;
}

/* What a call of GnuTLS or of the kernel returned: > 0: bytes, 0: it would block, -1: it failed or the client ended. */
static ssize_t result_of(const struct connection *connection, ssize_t result)
{
	if (result > 0)
		return result;
	if (!result)
		return -1;
	if (connection->tls)
		return gnutls_error_is_fatal((int)result) || result == GNUTLS_E_REHANDSHAKE ? -1 : 0;
	return errno == EAGAIN || errno == EINTR ? 0 : -1;
}

static ssize_t receive(struct connection *connection, char *out, size_t max)
{
	return result_of(connection, connection->tls ? gnutls_record_recv(connection->tls, out, max)
						     : recv(connection->fd, out, max, 0));
}

static ssize_t transmit(struct connection *connection)
{
	return result_of(connection, connection->tls
					 ? gnutls_record_send(connection->tls, connection->out, connection->left)
					 : send(connection->fd, connection->out, connection->left, MSG_NOSIGNAL));
}

/* What a session waits for, which is not always what it is doing. */
static uint32_t direction(const struct connection *connection)
{
	return connection->tls && gnutls_record_get_direction(connection->tls) ? EPOLLOUT : EPOLLIN;
}

static enum connection_event shake_hands(struct connection *connection)
{
	int error = gnutls_handshake(connection->tls);

	if (error < 0 && gnutls_error_is_fatal(error))
		return CONNECTION_ENDS;
	if (!error)
		connection->state = CONNECTION_HEAD;
	connection->events = direction(connection);
	return CONNECTION_WAITS;
}

/* TLS can give it byte by byte. What is left after a step is in the socket, as GnuTLS reads a record at a time. */
static enum connection_event read_head(struct connection *connection)
{
	for (int i = 0; i < CONNECTION_STEP; i++) {
		size_t before = connection->len;
		ssize_t n = receive(connection, connection->buffer + before, HEAD_MAX - before);

		connection->events = direction(connection);
		if (n <= 0)
			return n ? CONNECTION_ENDS : CONNECTION_WAITS;
		connection->len += (size_t)n;
		connection->head = head_end(connection->buffer, before, connection->len);
		if (connection->head)
			return CONNECTION_ASKS;
	}
	return CONNECTION_WAITS;
}

enum head_fault connection_head(struct connection *connection, struct head *out)
{
	if (connection->head < 0)
		return (enum head_fault) - connection->head;
	return head_parse(connection->buffer, (size_t)connection->head, out);
}

void connection_respond(struct connection *connection, const struct response *response, bool without_text,
			uint64_t now_ms)
{
	connection->response = *response;
	connection->out = connection->buffer;
	connection->left = response_head(response, connection->buffer);
	if (without_text)
		connection->response.len = 0;
	connection->state = CONNECTION_RESPONSE;
	connection->deadline_ms = now_ms + 1000ULL * (CONNECTION_RESPONSE_S + response->stream.seconds);
	connection->events = EPOLLOUT;
}

/* Takes the next part of a stream as a chunk. */
static void take_chunk(struct connection *connection)
{
	static const char last[] = "0\r\n\r\n";
	struct response_stream *stream = &connection->response.stream;
	char *data = connection->buffer + CHUNK_HEAD, size[CHUNK_HEAD + 1];
	ssize_t n = stream->read(stream->context, data, HEAD_MAX - CHUNK_HEAD - CHUNK_END);
	size_t len;

	connection->out = last;
	connection->left = n < 0 ? strlen(last) : 0;
	if (n < 0) {
		stream->end(stream->context);
		stream->read = NULL;
	}
	if (n <= 0)
		return;
	len = (size_t)snprintf(size, sizeof(size), "%zx\r\n", (size_t)n);
	connection->out = memcpy(data - len, size, len);
	memcpy(data + n, "\r\n", CHUNK_END);
	connection->left = len + (size_t)n + CHUNK_END;
}

/* Takes what is to be sent next, if anything is there. */
static void take_part(struct connection *connection)
{
	if (connection->response.len) {
		connection->out = connection->response.text;
		connection->left = connection->response.len;
		connection->response.len = 0;
	} else if (connection->response.stream.read) {
		take_chunk(connection);
	} else {
		connection->state = CONNECTION_GOODBYE;
	}
}

static enum connection_event say_goodbye(struct connection *connection, uint64_t now_ms)
{
	int error = connection->tls ? gnutls_bye(connection->tls, GNUTLS_SHUT_WR) : 0;

	if (error < 0 && gnutls_error_is_fatal(error))
		return CONNECTION_ENDS;
	connection->events = EPOLLOUT;
	if (error)
		return CONNECTION_WAITS;
	shutdown(connection->fd, SHUT_WR);
	connection->state = CONNECTION_LINGER;
	connection->deadline_ms = now_ms + CONNECTION_LINGER_S * 1000;
	connection->events = EPOLLIN;
	return CONNECTION_WAITS;
}

static enum connection_event send_response(struct connection *connection, uint64_t now_ms)
{
	for (int i = 0; i < CONNECTION_STEP; i++) {
		ssize_t n;

		if (!connection->left)
			take_part(connection);
		if (connection->state == CONNECTION_GOODBYE)
			return say_goodbye(connection, now_ms);
		connection->events = connection->left ? EPOLLOUT : 0;
		if (!connection->left) /* the stream has nothing yet */
			return CONNECTION_WAITS;
		n = transmit(connection);
		if (n <= 0)
			return n ? CONNECTION_ENDS : CONNECTION_WAITS;
		connection->out += n;
		connection->left -= (size_t)n;
	}
	return CONNECTION_WAITS;
}

/* What still comes is dropped as it came: TLS has ended. */
static enum connection_event drop_rest(struct connection *connection)
{
	for (int i = 0; i < CONNECTION_STEP; i++) {
		ssize_t n = recv(connection->fd, connection->buffer, sizeof(connection->buffer), 0);

		if (n <= 0)
			return !n || (errno != EAGAIN && errno != EINTR) ? CONNECTION_ENDS : CONNECTION_WAITS;
	}
	return CONNECTION_WAITS;
}

enum connection_event connection_step(struct connection *connection, uint32_t ready, uint64_t now_ms)
{
	/* in a head there may still be something to read */
	if (ready & (EPOLLERR | EPOLLHUP) && connection->state != CONNECTION_HEAD)
		return CONNECTION_ENDS;
	switch (connection->state) {
	case CONNECTION_FREE:
		break;
	case CONNECTION_HANDSHAKE:
		return shake_hands(connection);
	case CONNECTION_HEAD:
		return read_head(connection);
	case CONNECTION_RESPONSE:
		return send_response(connection, now_ms);
	case CONNECTION_GOODBYE:
		return say_goodbye(connection, now_ms);
	case CONNECTION_LINGER:
		return drop_rest(connection);
	}
	return CONNECTION_WAITS;
}
