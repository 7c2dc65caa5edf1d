/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's beats, which tell others that it runs (hang.h): it alone writes them, a store in each turn of its loop. */
#ifndef FAIRLEAD_MUX_BEAT_H
#define FAIRLEAD_MUX_BEAT_H

#include <stdint.h>
#include <sys/types.h>

struct beat {
	uint64_t turns; /* of its loop, which sleeps for at most WORKER_SLEEP_MAX; atomic */
	pid_t thread;   /* the kernel's id; 0: it does not run yet, or no more; atomic */
} __attribute__((aligned(64)));

#endif
