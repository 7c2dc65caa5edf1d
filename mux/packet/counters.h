/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What workers count. Each worker writes its own lines and nobody else's, without atomic read-modify-write; readers add
 * them up. Every packet that was received counts once in packets[]: received = sum of packets[].
 */
#ifndef FAIRLEAD_MUX_COUNTERS_H
#define FAIRLEAD_MUX_COUNTERS_H

#include "packet/packet.h"
#include "service/registry.h"

/* What is dropped after its service was found counts for the service, too: these verdicts, and no others. */
enum {
	SERVICE_DROP_FIRST = VERDICT_NO_RING,
	SERVICE_DROP_LAST = VERDICT_NO_HEADROOM,
	SERVICE_DROPS = SERVICE_DROP_LAST - SERVICE_DROP_FIRST + 1,
};

/* What became of packets that a recording asked for (sampler.h). */
enum sample_result {
	SAMPLE_TAKEN,
	SAMPLE_LIMITED, /* more came than its rate */
	SAMPLE_FULL,    /* the control thread had not taken those before it */
	SAMPLE_RESULTS,
};

/* What was steered. */
struct service_counters {
	uint64_t packets;
	uint64_t bytes; /* of the IP packets as they came */
};

struct worker_counters {
	uint64_t packets[VERDICTS]; /* by what became of them; VERDICT_SERVICE: encapsulated and given to a port */
	uint64_t bytes;             /* of frames received that were steered */
	uint64_t moved;             /* steered with MOVED */
	uint64_t samples[SAMPLE_RESULTS];
	struct service_counters services[REGISTRY_SERVICES_MAX] __attribute__((aligned(64))); /* by service slot */
	uint64_t service_drops[REGISTRY_SERVICES_MAX][SERVICE_DROPS];                         /* and verdict */
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
uint64_t counters_samples(const struct counters *counters, enum sample_result result);
uint64_t counters_service_packets(const struct counters *counters, const struct service *service);
uint64_t counters_service_bytes(const struct counters *counters, const struct service *service);
/* verdict: counters_is_service_drop(). */
uint64_t counters_service_drops(const struct counters *counters, const struct service *service, enum verdict verdict);

static inline bool counters_is_service_drop(unsigned verdict)
{
	return verdict >= SERVICE_DROP_FIRST && verdict <= SERVICE_DROP_LAST && verdict != VERDICT_ECHO_LIMIT;
}

/* Call it when a service was added: its counts start at zero, whoever had the slot before. One thread at a time. */
void counters_service_start(struct counters *counters, const struct service *service);

static inline void counter_add(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + n, __ATOMIC_RELAXED);
}

#endif
