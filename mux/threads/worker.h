/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker: a thread that owns queue i of every port and moves packets in bursts of 32.
 *
 *	receive -> front (front.h), if there is one -> steer (burst.h) -> sample (sampler.h) -> act -> send
 *
 * Idle back-off: after --spin microseconds without a packet the worker sleeps, briefly at first and for at most
 * WORKER_SLEEP_MAX; one packet resets the back-off. An idle mux takes about one per cent of a core, and a busy one
 * never sleeps. The wait is measured in time, not in polls: a sleep delays a packet by some 60 us, and with a port
 * whose polls return at once, a count of polls let a worker sleep between packets at 400,000 a second.
 */
#ifndef FAIRLEAD_MUX_WORKER_H
#define FAIRLEAD_MUX_WORKER_H

#include "packet/counters.h"
#include "threads/beat.h"
#include "host/port.h"
#include "service/tables.h"

enum worker_numbers {
	WORKER_BURST = 32,
	WORKER_SLEEP_MIN = 20 * 1000, /* nanoseconds */
	WORKER_SLEEP_MAX = 1000 * 1000,
};

struct front;
struct options;
struct rte_ring;
struct sampler;
struct worker;

/* What all workers of a mux share; it must outlive them. */
struct worker_place {
	struct tables *tables;
	const struct ports *ports;
	struct counters *counters;
	const struct fl_siphash_key *tag_key; /* the cluster's; NULL: packets are not tagged */
	unsigned workers;
	const struct options *options;
	struct rte_ring **rings; /* from worker_rings() */
	struct sampler *sampler; /* NULL: none */
	struct front *front;     /* NULL: none */
	struct beat *beats;      /* of each worker */
};

/* Makes each worker's ring, through which others hand it fragments; never freed while the process runs. */
int worker_rings(struct rte_ring **rings, unsigned workers, struct reason *why);

/* Starts a worker's thread, which is reader `index` of the tables and polls queue `index` of each port. */
int worker_start(struct worker **out, unsigned index, const struct worker_place *place, struct reason *why);

/* Stops the thread, waits for it to end, and frees the worker. False: it did not end in time, so it hangs. */
bool worker_stop(struct worker *worker);

#endif
