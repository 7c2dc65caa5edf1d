/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a running mux tells: GET /metrics, /healthz, /ring?service=, /rings?since=, /explain?service=&protocol=&source=
 * &sourcePort=&destination=&destinationPort=, and /sample (recording.h). Answered by the control thread itself, which
 * owns all that is read for it; refusals are problem documents (RFC 9457) that name the field, its value and what is
 * allowed.
 */
#ifndef MUX_HTTP_H
#define MUX_HTTP_H

#include <stdint.h>

#include "host/announce.h"
#include "observe/change_log.h"
#include "packet/counters.h"
#include "control/cluster_sync.h"
#include "host/neighbour.h"
#include "config/why.h"

enum http_limits {
	HTTP_CONNECTIONS_MAX = 64,
	HTTP_TIMEOUT_S = 10, /* a connection that is silent for so long is closed */
};

/* What is read for answers; outlives the server. */
struct http_sources {
	const struct cluster_sync *cluster;
	const struct tables *tables;
	const struct counters *counters;
	const struct announcer *announcer;   /* NULL: none */
	const struct neighbours *neighbours; /* NULL: none */
	const struct change_log *changes;    /* what was applied of late */
	const struct ports *ports;
	struct sampler *sampler; /* NULL: none */
	const char *id;
};

struct http;

/* NULL and why: host and port can't be listened on. */
struct http *http_open(const char *host, uint16_t port, const struct http_sources *sources, struct why *why);
void http_close(struct http *http);

/* Readable when http_run() has work. */
int http_fd(const struct http *http);
/* Milliseconds until http_run() is due by itself, -1: not. */
int http_timeout(const struct http *http);
void http_run(struct http *http);

#endif
