/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP listener of the mux and of the probe, in the caller's thread, with TLS and tokens as config/http_access.h
 * says, on an address or on a Unix socket.
 *
 *   accepted --> handshake --> head of a request --> token --> the program's handler --> response --> closed
 *
 * A connection has one request, a GET without a body (head.h), and is closed with its response: what a client sends after
 * the head is never read as another request, whatever a proxy before it took it for. Each has a total time
 * (connection.h). When all are taken, a new one takes the place of the oldest that is not a stream, of the address (IPv6:
 * the /64) that has the most: clients that are slow, or send nothing, or open many, do not keep out others.
 *
 * Certificate, key and tokens are read again when their files change, looked at when a connection or a request arrives,
 * at most once a second. What can't be used is reported and counted, and what was there before goes on being used.
 */
#ifndef FAIRLEAD_MUX_LISTENER_H
#define FAIRLEAD_MUX_LISTENER_H

#include <stdint.h>
#include <stdio.h>

#include "config/http_access.h"
#include "observe/head.h"
#include "observe/response.h"

enum listener_limits { LISTENER_CONNECTIONS_MAX = 64 };

struct request {
	struct head head;
	int socket; /* the client's, to ask who it is */
};

/* Fills in the response to a GET, all of it except a stream's content. */
typedef void listener_handler(void *context, const struct request *request, struct response *response);

struct listener_config {
	const char *program; /* for its log lines */
	listener_handler *handler;
	void *context;
};

struct listener;

/* access is kept. Returns NULL and why if it can't be listened there, or a file can't be used. */
struct listener *listener_open(const struct http_access *access, const struct listener_config *config,
			       struct reason *why);
/* Ends all connections. A Unix socket is removed, unless another process has replaced it. */
void listener_close(struct listener *listener);

/* Readable when listener_run() has work. */
int listener_fd(const struct listener *listener);
/* Milliseconds until listener_run() must be called even if nothing is readable; -1: never. Streams do not count. */
int listener_timeout(const struct listener *listener, uint64_t now_ms);
/* now_ms: of any clock that does not go back. */
void listener_run(struct listener *listener, uint64_t now_ms);

/* Its metrics, in Prometheus's text format; prefix such as "fairlead_mux". */
void listener_write_metrics(FILE *out, const char *prefix, const struct listener *listener);

#endif
