/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies a few of the packets that a mux handles, with their verdicts.
 *
 *	control		filter, tokens -->	worker: is a filter set? does the packet pass? a token left? copy it
 *	thread		<-- ring of samples, one for each worker; samples that find it full are counted and dropped
 *
 * Without a filter it costs a worker one load per burst. With one it neither waits nor allocates: tokens are taken by
 * compare-and-swap, a ring has one writer and one reader. At most one recording at a time (recording.h).
 */
#ifndef FAIRLEAD_MUX_SAMPLER_H
#define FAIRLEAD_MUX_SAMPLER_H

#include "packet/burst.h"
#include "packet/counters.h"
#include "service/tables.h"
#include "config/reason.h"

struct sampler;

enum sampler_limits {
	SAMPLER_CAPTURED_MAX = 256, /* bytes of a frame: outer and inner headers and some payload */
	SAMPLER_RING = 256,         /* samples of one worker queued for the control thread */
};

struct sample_filter {
	uint64_t verdicts;        /* bit n: verdict n */
	uint16_t service;         /* its id; 0: any or none */
	struct fl_address source; /* of the inner packet; none (all zero): any */
	uint32_t rate;            /* packets per second at most, of all workers together */
};

struct sample {
	uint64_t time_ns; /* since 1970 */
	uint32_t len;
	uint16_t captured;
	uint16_t service; /* id, 0: it was not found */
	uint8_t verdict;
	uint8_t worker;
	bool outbound;  /* captured as sent to a server or another mux; else as received */
	uint16_t port;  /* DPDK's id of the port that it was sent or received by */
	bool has_row;   /* false: the fields below are unknown */
	uint8_t former; /* how many former owners of the bucket packets name */
	uint16_t backend;
	uint32_t bucket; /* RING_BUCKET_NONE: the packet identified its backend */
	uint32_t second; /* another bucket of the connection; RING_BUCKET_NONE: there is none */
	uint16_t second_backend;
	uint32_t generation;
	uint8_t data[SAMPLER_CAPTURED_MAX];
};

/* Workers are numbered 0 .. workers - 1. NULL and why: no memory. */
struct sampler *sampler_new(unsigned workers, struct tables *tables, struct reason *why);

/* No worker may be running. NULL is allowed. */
void sampler_free(struct sampler *sampler);

/* Whether the sampler sees a verdict: not those decided later, by a full port or a limit on answers. */
bool sampler_sees(enum verdict verdict);

/* For the control thread. sampler_start: requires that no recording runs; discards samples of the previous one. */
void sampler_start(struct sampler *sampler, const struct sample_filter *filter, uint64_t now_ms);
void sampler_stop(struct sampler *sampler);

/* Adds tokens for the time that has passed, in total at most rate x seconds. */
void sampler_refill(struct sampler *sampler, uint64_t now_ms);

/* The next sample of any worker. False: there is none. */
bool sampler_take(struct sampler *sampler, struct sample *out);

/* For a worker: whether a recording is running. */
bool sampler_is_on(const struct sampler *sampler);

/*
 * For a worker: samples a burst whose packets have their verdicts, before any of them is sent or freed. came_by: DPDK's
 * id of the port that received the burst.
 */
void sampler_look(struct sampler *sampler, unsigned worker, const struct burst *burst, uint16_t came_by,
		  struct worker_counters *counters);

#endif
