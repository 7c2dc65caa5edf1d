/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stateless mux's work on packets, for threads that use flow tables beside it: classify, hash, row, encapsulate, by
 * the functions that a worker calls.
 */
#ifndef FAIRLEAD_BENCH_FLOW_WORK_H
#define FAIRLEAD_BENCH_FLOW_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { FLOW_WORK_BURST = 32 };

struct flow_work;

/* DPDK's environment with so many MB of memory, on transparent huge pages. false, and why, if it does not start. */
bool flow_work_start(uint32_t megabytes, char *why, size_t size);

void flow_work_end(void);

/* One thread's packets, and a service of so many buckets; never freed. NULL: no memory. */
struct flow_work *flow_work_new(uint32_t buckets);

/* Steers the next 32 of 2,048 packets, as a port would hand them over again. false: one was not steered. */
bool flow_work_burst(struct flow_work *work);

/* The processor's name, without quotes. */
void flow_work_cpu(char *out, size_t size);

#ifdef __cplusplus
}
#endif

#endif
