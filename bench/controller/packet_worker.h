/* SPDX-License-Identifier: Apache-2.0 */
/* A worker without ports for mux_reader: a thread of its own steers packets by the tables that the reader keeps. */
#ifndef FAIRLEAD_BENCH_PACKET_WORKER_H
#define FAIRLEAD_BENCH_PACKET_WORKER_H

#include <stdbool.h>
#include <stdint.h>

struct packet_worker;
struct tables;

struct packet_worker_options {
	int core;       /* where its thread runs */
	int priority;   /* of SCHED_FIFO while it steers, 0: as other threads */
	uint32_t flows; /* how many there are, in random order */
	uint64_t seed;
};

/* Reader 0 of the tables, which must outlive it; it lasts as long as the process. NULL: why is in errno. */
struct packet_worker *packet_worker_new(struct tables *tables, const struct packet_worker_options *options);

/*
 * Steers packets for so long, and then prints a line: how many, the processor time and the time by the clock that
 * steering them took, how many of them were not sent to a server, and the thread's processor time with all that is not
 * measured. Does not wait. One order at a time.
 *
 *	steered PACKETS PROCESSOR-NS CLOCK-NS OTHERS THREAD-NS
 */
void packet_worker_steer(struct packet_worker *worker, uint32_t ms);

#endif
