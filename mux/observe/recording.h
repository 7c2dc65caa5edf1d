/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /sample?seconds=&rate=&service=&verdict=&source=: packets that the sampler took, as a pcapng stream that ends
 * after the seconds. Each has a comment: verdict, service, bucket, backend, generation. Only clients on this host may
 * ask, since packets are private to their senders; one recording at a time.
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

/* Why there is none: for a problem document. */
struct recording_refusal {
	unsigned status;
	const char *field;
	const char *value; /* NULL: it is missing */
	const char *allowed;
};

/* Begins to sample what the request asks for. NULL and the refusal; NULL and status 0: no memory. */
struct recording *recording_new(const struct sources *from, struct MHD_Connection *connection, uint64_t now_ms,
				struct recording_refusal *refusal);

/* The stream as an answer. With it ends the recording: recording_free is called, and *owner is NULL then. NULL: no
 * memory. */
struct MHD_Response *recording_answer(struct recording *recording, struct recording **owner);

/* Gives the sampler its tokens and wakes the connection if there is something for it. */
void recording_run(struct recording *recording, uint64_t now_ms);

/* The server is about to stop: the connection must not wait any more. */
void recording_end(struct recording *recording);

/* For a recording whose answer could not be made. */
void recording_free(struct recording *recording);

#endif
