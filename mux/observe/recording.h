/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /sample?seconds=&rate=&service=&verdict=&source=: the sampler's packets, as a pcapng stream that ends after the
 * given seconds. Each has a comment: verdict, service, bucket, backend, generation. Packets are private to their
 * senders: only clients of a Unix socket are served, and of this host those with a token, unless --http-samples is on.
 * One recording at a time.
 */
#ifndef FAIRLEAD_MUX_RECORDING_H
#define FAIRLEAD_MUX_RECORDING_H

#include "observe/listener.h"
#include "observe/sources.h"

struct recording;

enum recording_limits {
	RECORDING_SECONDS = 5, /* the default */
	RECORDING_SECONDS_MAX = 300,
	RECORDING_RATE = 100, /* the default */
	RECORDING_RATE_MAX = 1000,
	RECORDING_TICK_MS = 50, /* how often recording_run() is due */
};

/*
 * Starts to sample the requested packets, and fills in the response with their stream, or with a refusal, or with
 * nothing if there is no memory. *owner is the recording until the stream ends, then NULL.
 */
void recording_start(const struct sources *from, const struct request *request, uint64_t now_ms,
		     struct recording **owner, struct response *response);

/* Gives the sampler its tokens, and the stream the time. */
void recording_run(struct recording *recording, uint64_t now_ms);

#endif
