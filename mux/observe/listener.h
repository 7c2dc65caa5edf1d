/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP listener of the mux and of the probe: libmicrohttpd in the caller's thread, with TLS and tokens as
 * config/http_access.h says, on an address or on a Unix socket.
 *
 *   accepted --> handshake --> head of a request --> form (head.h) --> token --> the program's handler --> closed
 *                `------- within LISTENER_HEAD_S ------'
 *
 * A connection has one request, a GET without a body, and is closed with its answer: what a client sends after the head
 * is never read as another request, whatever a proxy before it took it for. One whose head is not there in time is shut
 * down, however slowly it drips. So clients that send nothing, or rubbish, hold one of the few connections for that long
 * at most. Certificate, key and tokens are read again when their files change, looked at when a connection or a request
 * arrives, at most once a second. What can't be used is reported and counted, and what was there before goes on being
 * used.
 */
#ifndef FAIRLEAD_MUX_LISTENER_H
#define FAIRLEAD_MUX_LISTENER_H

#include <stdint.h>
#include <stdio.h>

#include <microhttpd.h>

#include "config/http_access.h"

enum listener_limits {
	LISTENER_CONNECTIONS_MAX = 64,
	LISTENER_MEMORY = 32768, /* bytes of a connection: the head of its request, and that of the answer */
	LISTENER_IDLE_S = 10,    /* a connection without traffic */
	LISTENER_HEAD_S = 10,    /* from the connection to its request's head */
};

/* Answers a request for a path, without its arguments, by listener_answer(). */
typedef enum MHD_Result listener_handler(void *context, struct MHD_Connection *connection, const char *path);

struct listener_config {
	const char *program; /* for its log lines */
	listener_handler *handler;
	void *context;
	unsigned flags; /* of MHD_start_daemon(), besides those for events and TLS */
};

struct listener;

/* access is kept. Returns NULL and why if it can't be listened there, or a file can't be used. */
struct listener *listener_open(const struct http_access *access, const struct listener_config *config,
			       struct reason *why);
/* A Unix socket is removed, unless another process has replaced it. */
void listener_close(struct listener *listener);

/* Sends an answer, if there is memory for it, and closes the connection after it. The response is the listener's then. */
enum MHD_Result listener_answer(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response);

/* Readable when listener_run() has work. */
int listener_fd(const struct listener *listener);
/* Milliseconds until listener_run() must be called even if nothing is readable; -1: never. */
int listener_timeout(const struct listener *listener);
void listener_run(struct listener *listener);

/* Its metrics, in Prometheus's text format; prefix such as "fairlead_mux". */
void listener_write_metrics(FILE *out, const char *prefix, const struct listener *listener);

#endif
