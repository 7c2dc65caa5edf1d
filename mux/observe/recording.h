/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /sample?seconds=&rate=&service=&verdict=&source=: the sampler's packets, as a pcapng stream that ends after the
 * given seconds. Each has a comment: verdict, service, bucket, backend, generation. Packets are private to their
 * senders: only clients of a Unix socket are served, and of this host those with a token, but for --http-samples on; one
 * recording at a time.
 */
#ifndef FAIRLEAD_MUX_RECORDING_H
#define FAIRLEAD_MUX_RECORDING_H

#include <microhttpd.h>

#include "observe/sources.h"

struct recording;

enum recording_limits {
	RECORDING_SECONDS = 5, /* the default */
	RECORDING_SECONDS_MAX = 300,
	RECORDING_RATE = 100, /* the default */
	RECORDING_RATE_MAX = 1000,
	RECORDING_TICK_MS = 50, /* how often recording_run() is due */
};

/* Why a request is refused, for a problem document. */
struct recording_refusal {
	unsigned status;
	const char *field;
	const char *value; /* NULL: it is missing */
	const char *allowed;
};

/* Starts to sample the requested packets. NULL and the refusal on failure; NULL and status 0: no memory. */
struct recording *recording_new(const struct sources *from, struct MHD_Connection *connection, uint64_t now_ms,
				struct recording_refusal *refusal);

/* The stream as an answer. When the answer ends, recording_free is called and *owner is set to NULL. NULL: no memory.
 */
struct MHD_Response *recording_answer(struct recording *recording, struct recording **owner);

/* Gives the sampler its tokens and wakes the connection if there is something for it. */
void recording_run(struct recording *recording, uint64_t now_ms);

/* The server is about to stop: resumes the connection if it waits. */
void recording_end(struct recording *recording);

/* For a recording for which no answer could be created. */
void recording_free(struct recording *recording);

#endif
