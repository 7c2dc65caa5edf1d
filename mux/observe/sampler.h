/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies a few of the packets that a mux handles, with what became of them.
 *
 *	control		filter, tokens -->	worker: has it a filter? does the packet pass? a token left? copy it
 *	thread		<-- ring of samples, one for each worker; what finds it full is counted and not kept
 *
 * Without a filter it costs a worker one load for a burst. With one it neither waits nor allocates: tokens are taken by
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
	SAMPLER_CAPTURED_MAX = 256, /* bytes of a frame: outer and inner headers, and some more */
	SAMPLER_RING = 256,         /* samples of one worker that wait for the control thread */
};

struct sample_filter {
	uint64_t verdicts;        /* bit n: verdict n */
	uint16_t service;         /* its id; 0: any, also packets of none */
	struct fl_address source; /* of the inner packet; none (all zero): any */
	uint32_t rate;            /* at most so many a second, of all workers */
};

struct sample {
	uint64_t time_ns; /* since 1970 */
	uint32_t len;
	uint16_t captured;
	uint16_t service; /* id, 0: it was not found */
	uint8_t verdict;
	uint8_t worker;
	bool outbound; /* it goes on to a server or another mux: as it is sent; else as it came */
	uint16_t port; /* DPDK's id of the one that it leaves by, or came by */
	bool has_row;  /* else nothing is known from here on */
	bool moved;    /* since and previous are told */
	uint16_t backend;
	uint16_t previous;
	uint32_t bucket; /* FL_STEER_BUCKET_NONE: the packet named its backend */
	uint32_t generation;
	uint32_t since;
	uint8_t data[SAMPLER_CAPTURED_MAX];
};

/* Workers are numbered 0 .. workers - 1. NULL and why: no memory. */
struct sampler *sampler_new(unsigned workers, struct tables *tables, struct reason *why);

/* No worker may be there. NULL is allowed. */
void sampler_free(struct sampler *sampler);

/* Whether the sampler can see a verdict at all: not if it comes of what a port takes, or of a limit on answers. */
bool sampler_sees(enum verdict verdict);

/* The control thread's. sampler_start: none runs, and what is left of the last one is forgotten. */
void sampler_start(struct sampler *sampler, const struct sample_filter *filter, uint64_t now_ms);
void sampler_stop(struct sampler *sampler);

/* Gives the tokens of the time that has passed, so that in all there are at most rate x seconds of them. */
void sampler_refill(struct sampler *sampler, uint64_t now_ms);

/* The next sample of any worker. False: there is none. */
bool sampler_take(struct sampler *sampler, struct sample *out);

/* A worker's: it has a recording to look for. */
bool sampler_is_on(const struct sampler *sampler);

/*
 * A worker's: a burst whose packets have their verdicts, before anything of it is sent or freed. came_by: DPDK's id of
 * the burst's port.
 */
void sampler_look(struct sampler *sampler, unsigned worker, const struct burst *burst, uint16_t came_by,
		  struct worker_counters *counters);

#endif
