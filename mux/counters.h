/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What workers count. Each worker writes its own lines and nobody else's, without atomic read-modify-write; readers add
 * them up. Every packet that was received counts once in packets[]: received = sum of packets[].
 */
#ifndef FAIRLEAD_MUX_COUNTERS_H
#define FAIRLEAD_MUX_COUNTERS_H

#include "classify.h"
#include "tables.h"

struct worker_counters {
	uint64_t packets[VERDICTS]; /* by what became of them; VERDICT_SERVICE: encapsulated and given to a port */
	uint64_t bytes;             /* of frames received that were steered */
	uint64_t moved;             /* steered with MOVED */
	uint64_t polls;
	uint64_t empty_polls;
	uint64_t sleeps;
	uint64_t service_packets[TABLES_SERVICES_MAX] __attribute__((aligned(64))); /* by service slot */
} __attribute__((aligned(64)));

struct counters;

struct counters *counters_new(unsigned workers);
void counters_free(struct counters *counters);

/* A worker's own. */
struct worker_counters *counters_of(struct counters *counters, unsigned worker);

/* Sums over all workers; any thread. */
uint64_t counters_packets(const struct counters *counters, enum verdict verdict);
uint64_t counters_bytes(const struct counters *counters);
uint64_t counters_moved(const struct counters *counters);
uint64_t counters_service_packets(const struct counters *counters, const struct service *service);

/* Call it when a service was added: its count starts at zero, whoever had the slot before. One thread at a time. */
void counters_service_start(struct counters *counters, const struct service *service);

static inline void counter_add(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + n, __ATOMIC_RELAXED);
}

#endif
