/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The workers' counters. Each worker writes only its own cache lines, without atomic read-modify-write; readers add
 * them up. Every received packet counts once in packets[]: received = sum of packets[].
 */
#ifndef FAIRLEAD_MUX_COUNTERS_H
#define FAIRLEAD_MUX_COUNTERS_H

#include "flow/packet.h"
#include "service/registry.h"

/* What became of packets that match a recording's filters (sampler.h). */
enum sample_result {
	SAMPLE_TAKEN,
	SAMPLE_LIMITED, /* beyond the recording's rate */
	SAMPLE_FULL,    /* the control thread had not yet taken earlier samples */
	SAMPLE_RESULTS,
};

/* Packets that were steered. */
struct service_counters {
	uint64_t packets;
	uint64_t bytes; /* of the IP packets, as received */
};

/* Counters without labels. An entry makes the field of struct worker_counters and the metric fairlead_mux_<metric>. */
/* clang-format off */
#define PLAIN_COUNTERS(entry)                                                                                          \
	entry(bytes, "bytes_total", "Bytes of the frames that were steered, as received.")                             \
	entry(moved, "moved_packets_total", "Packets steered whose header names a former owner.")                      \
	entry(second, "second_bucket_packets_total", "Packets steered with a second bucket and its owner.")            \
	entry(second_first, "second_first_packets_total",                                                              \
	      "Packets whose second bucket was named first, since it is the less loaded one's.")                                         \
	entry(second_syns, "second_first_syns_total",                                                                  \
	      "SYNs that were sent to the second bucket's owner, the less loaded one.")               \
	entry(front, "pipeline_packets_total",                                                                         \
	      "Packets steered by the pipeline of a mux of kind p4.")                                                   \
	entry(checked, "path_checked_packets_total",                                                                   \
	      "Packets whose copies were processed by both paths, with --check-paths.")                                 \
	entry(differed, "path_differences_total", "Those of them with different results: a defect of the mux.")
/* clang-format on */

#define PLAIN_COUNTER_FIELD(field, metric, help) uint64_t field;

struct worker_counters {
	uint64_t packets[VERDICTS]; /* by verdict; VERDICT_SERVICE: encapsulated and handed to a port */
	PLAIN_COUNTERS(PLAIN_COUNTER_FIELD)
	uint64_t samples[SAMPLE_RESULTS];
	struct service_counters services[REGISTRY_SERVICES_MAX] __attribute__((aligned(64))); /* by service slot */
	uint64_t service_drops[REGISTRY_SERVICES_MAX][SERVICE_DROPS];                         /* and verdict */
} __attribute__((aligned(64)));

/* A plain counter's name and help in /metrics, and its place in struct worker_counters. */
struct plain_counter {
	const char *metric, *help;
	size_t at;
};

extern const struct plain_counter plain_counters[];
extern const unsigned plain_counters_count;

struct counters;

struct counters *counters_new(unsigned workers);
void counters_free(struct counters *counters);

/* One worker's counters. */
struct worker_counters *counters_of(struct counters *counters, unsigned worker);

/* Sums over all workers. Any thread may call these. */
uint64_t counters_packets(const struct counters *counters, enum verdict verdict);
uint64_t counters_plain(const struct counters *counters, const struct plain_counter *counter);
uint64_t counters_samples(const struct counters *counters, enum sample_result result);
uint64_t counters_service_packets(const struct counters *counters, const struct service *service);
uint64_t counters_service_bytes(const struct counters *counters, const struct service *service);
/* verdict: verdict_is_service_drop(). */
uint64_t counters_service_drops(const struct counters *counters, const struct service *service, enum verdict verdict);

/* Call it after adding a service: its counts then start at zero even if the slot is reused. One thread at a time. */
void counters_service_start(struct counters *counters, const struct service *service);

static inline void counter_add(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + n, __ATOMIC_RELAXED);
}

#endif
