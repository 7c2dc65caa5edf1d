/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks and unpacks arrays in a thread of its own: those of 10 million connections take 0.2 to 0.7 s, for which the
 * control thread would send no hello. One thread for each job; there is one job of a service at a time, and arrays are
 * rare. The control thread polls.
 */
#ifndef FAIRLEAD_MUX_ARRAYS_JOB_H
#define FAIRLEAD_MUX_ARRAYS_JOB_H

#include "steering/steering.h"

enum arrays_job_numbers {
	ARRAYS_JOB_BYTES = 256 * 1024, /* fewer take 3 ms at most: less than to ask for the result */
	ARRAYS_JOB_POLL_MS = 10,
};

struct arrays_job;

/* Copies the bytes and keeps base. NULL: no memory, or no thread. */
struct arrays_job *arrays_job_start(const struct steering_arrays *method,
				    const struct steering_arrays_expected *expected, void *base, const uint8_t *data,
				    size_t len);
/*
 * Whether the job has ended: then it is freed, *error is 0 and *out a reference of the caller's, or *error is that of
 * method->parse and *why says why.
 */
bool arrays_job_take(struct arrays_job *job, unsigned *error, void **out, struct reason *why);
/* The result is not wanted any more; does not wait. */
void arrays_job_abandon(struct arrays_job *job);

#endif
