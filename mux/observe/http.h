/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP server: GET /metrics, /healthz, /ring?service=, /rings?since=, /explain?service=&protocol=&source=
 * &sourcePort=&destination=&destinationPort=, /sample (recording.h), /notices?service= and /peers. It runs in the
 * control thread, which owns all data that the answers use. Errors are problem documents (RFC 9457) that name the field,
 * its value and what is allowed.
 */
#ifndef FAIRLEAD_MUX_HTTP_H
#define FAIRLEAD_MUX_HTTP_H

#include "config/http_access.h"
#include "observe/sources.h"

struct http;

/* access is kept. Returns NULL and why if it can't listen there. */
struct http *http_open(const struct http_access *access, const struct sources *sources, struct reason *why);
void http_close(struct http *http);

/* Readable when http_run() has work. */
int http_fd(const struct http *http);
/* Milliseconds until http_run() must be called even if nothing is readable, -1: never. */
int http_timeout(const struct http *http);
void http_run(struct http *http);

#endif
