/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection of the HTTP listener, with or without TLS: one request, one response.
 *
 *   accepted --> handshake --> head --> response --> end told to the client --> its end seen --> closed
 *                `------ HEAD_S ----´  `--- RESPONSE_S + the stream's seconds ---´  `-- LINGER_S --´
 *
 * Each time is a total: bytes that drip do not extend it. What comes after the head is dropped unread, but until the
 * client has seen the end it is taken from the socket: closing earlier would reset the connection, and the client might
 * lose the response. Nothing here blocks, and a step takes at most some tens of KB.
 */
#ifndef FAIRLEAD_MUX_CONNECTION_H
#define FAIRLEAD_MUX_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include <gnutls/gnutls.h>

#include "observe/head.h"
#include "observe/response.h"

enum connection_limits {
	CONNECTION_HEAD_S = 10,
	CONNECTION_RESPONSE_S = 30,
	CONNECTION_LINGER_S = 2,
	CONNECTION_STEP = 16, /* reads or writes, each of up to 16 KB with TLS */
};

enum connection_state {
	CONNECTION_FREE = 0,
	CONNECTION_HANDSHAKE,
	CONNECTION_HEAD,
	CONNECTION_RESPONSE,
	CONNECTION_GOODBYE,
	CONNECTION_LINGER,
};

enum connection_event {
	CONNECTION_WAITS, /* for epoll's events, a stream or time */
	CONNECTION_ASKS,  /* its head is there: connection_head() and connection_respond() are due */
	CONNECTION_ENDS,  /* connection_close() is due */
};

struct connection {
	enum connection_state state;
	int fd;
	gnutls_session_t tls; /* NULL: clear text */
	uint64_t source;      /* the client's IPv4 address or IPv6 /64; 0: it came by a Unix socket */
	uint64_t since_ms, deadline_ms;
	uint32_t events; /* of epoll, that it waits for */
	ssize_t head;    /* as head_end() returned it */
	size_t len;      /* of what was received */
	const char *out; /* what is being sent */
	size_t left;
	struct response response;
	char buffer[HEAD_MAX]; /* the request's head, then the response's, then parts of a stream */
};

/* Takes fd, and the session unless it is NULL. */
void connection_open(struct connection *connection, int fd, gnutls_session_t tls, uint64_t source, uint64_t now_ms);
/* ready: epoll's events; 0: to go on with a stream. */
enum connection_event connection_step(struct connection *connection, uint32_t ready, uint64_t now_ms);
/* Parts of out are the connection's, until connection_respond(). */
enum head_fault connection_head(struct connection *connection, struct head *out);
/* Takes what the response has. without_text: only its head is sent. */
void connection_respond(struct connection *connection, const struct response *response, bool without_text,
			uint64_t now_ms);
/* Whether it may take long although its client reads. */
bool connection_is_stream(const struct connection *connection);
void connection_close(struct connection *connection);

#endif
