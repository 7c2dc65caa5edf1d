/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a worker tells of itself, and alone writes: that it runs (hang.h), a store in each turn of its loop, and what
 * ports refused (stuck.h).
 */
#ifndef FAIRLEAD_MUX_BEAT_H
#define FAIRLEAD_MUX_BEAT_H

#include <stdint.h>
#include <sys/types.h>

#include <rte_config.h>

struct beat {
	uint64_t turns;                     /* of its loop, which sleeps for at most WORKER_SLEEP_MAX; atomic */
	pid_t thread;                       /* the kernel's id; 0: it does not run yet, or no more; atomic */
	uint64_t refused[RTE_MAX_ETHPORTS]; /* packets, by DPDK's id of the port; atomic */
} __attribute__((aligned(64)));

#endif
