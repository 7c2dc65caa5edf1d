/* SPDX-License-Identifier: Apache-2.0 */
#include "counters.h"

#include <stdlib.h>
#include <string.h>

struct counters {
	unsigned workers;
	struct worker_counters *worker;
	uint64_t base[TABLES_SERVICES_MAX]; /* of a slot when its service was added */
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

/* One counter over all workers, given its place in the first worker's. */
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

uint64_t counters_bytes(const struct counters *counters)
{
	return sum(counters, &counters->worker->bytes);
}

uint64_t counters_moved(const struct counters *counters)
{
	return sum(counters, &counters->worker->moved);
}

uint64_t counters_service_packets(const struct counters *counters, const struct service *service)
{
	return sum(counters, &counters->worker->service_packets[service->slot]) -
	       __atomic_load_n(&counters->base[service->slot], __ATOMIC_RELAXED);
}

void counters_service_start(struct counters *counters, const struct service *service)
{
	__atomic_store_n(&counters->base[service->slot],
			 sum(counters, &counters->worker->service_packets[service->slot]), __ATOMIC_RELAXED);
}
