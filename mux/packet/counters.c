/* SPDX-License-Identifier: Apache-2.0 */
#include "packet/counters.h"

#include <stdlib.h>
#include <string.h>

#define PLAIN_COUNTER(field, metric, help) {metric, help, offsetof(struct worker_counters, field)},

const struct plain_counter plain_counters[] = {PLAIN_COUNTERS(PLAIN_COUNTER)};
const unsigned plain_counters_count = sizeof(plain_counters) / sizeof(plain_counters[0]);

struct counters {
	unsigned workers;
	struct worker_counters *worker;
	struct service_counters base[REGISTRY_SERVICES_MAX]; /* a slot's counts when its service was added */
	uint64_t base_drops[REGISTRY_SERVICES_MAX][SERVICE_DROPS];
};

struct counters *counters_new(unsigned workers)
{
	struct counters *counters = calloc(1, sizeof(*counters));
	size_t bytes = workers * sizeof(struct worker_counters);

	if (!counters)
		return NULL;
	counters->workers = workers;
	counters->worker = aligned_alloc(_Alignof(struct worker_counters), bytes);
	if (!counters->worker) {
		free(counters);
		return NULL;
	}
	memset(counters->worker, 0, bytes);
	return counters;
}

void counters_free(struct counters *counters)
{
	if (!counters)
		return;
	free(counters->worker);
	free(counters);
}

struct worker_counters *counters_of(struct counters *counters, unsigned worker)
{
	return &counters->worker[worker];
}

/* Sums one counter over all workers, given its place in the first worker's. */
static uint64_t sum(const struct counters *counters, const uint64_t *first)
{
	size_t at = (size_t)((const char *)first - (const char *)counters->worker);
	uint64_t total = 0;

	for (unsigned i = 0; i < counters->workers; i++) {
		const char *base = (const char *)&counters->worker[i];

		total += __atomic_load_n((const uint64_t *)(const void *)(base + at), __ATOMIC_RELAXED);
	}
	return total;
}

uint64_t counters_packets(const struct counters *counters, enum verdict verdict)
{
	return sum(counters, &counters->worker->packets[verdict]);
}

uint64_t counters_plain(const struct counters *counters, const struct plain_counter *counter)
{
	return sum(counters, (const uint64_t *)(const void *)((const char *)counters->worker + counter->at));
}

uint64_t counters_samples(const struct counters *counters, enum sample_result result)
{
	return sum(counters, &counters->worker->samples[result]);
}

/* The count since the counter's base. */
static uint64_t since(const struct counters *counters, const uint64_t *first, const uint64_t *base)
{
	return sum(counters, first) - __atomic_load_n(base, __ATOMIC_RELAXED);
}

uint64_t counters_service_packets(const struct counters *counters, const struct service *service)
{
	return since(counters, &counters->worker->services[service->slot].packets,
		     &counters->base[service->slot].packets);
}

uint64_t counters_service_bytes(const struct counters *counters, const struct service *service)
{
	return since(counters, &counters->worker->services[service->slot].bytes, &counters->base[service->slot].bytes);
}

uint64_t counters_service_drops(const struct counters *counters, const struct service *service, enum verdict verdict)
{
	unsigned drop = verdict - SERVICE_DROP_FIRST;

	return since(counters, &counters->worker->service_drops[service->slot][drop],
		     &counters->base_drops[service->slot][drop]);
}

/* the counts so far become the base */
static void start(const struct counters *counters, const uint64_t *first, uint64_t *base)
{
	__atomic_store_n(base, sum(counters, first), __ATOMIC_RELAXED);
}

void counters_service_start(struct counters *counters, const struct service *service)
{
	const struct worker_counters *worker = counters->worker;
	uint16_t slot = service->slot;

	start(counters, &worker->services[slot].packets, &counters->base[slot].packets);
	start(counters, &worker->services[slot].bytes, &counters->base[slot].bytes);
	for (unsigned drop = 0; drop < SERVICE_DROPS; drop++)
		start(counters, &worker->service_drops[slot][drop], &counters->base_drops[slot][drop]);
}
