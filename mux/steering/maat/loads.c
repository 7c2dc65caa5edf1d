/* SPDX-License-Identifier: Apache-2.0 */
#include "steering/maat/loads.h"

#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>

struct maat_loads *maat_loads_new(uint32_t workers)
{
	struct maat_loads *loads = calloc(1, sizeof(*loads));
	uint32_t *memory;

	if (!loads)
		return NULL;
	loads->bytes = (4 + (uint64_t)workers) * MAAT_IDS * sizeof(uint32_t);
	memory = mmap(NULL, loads->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED) {
		free(loads);
		return NULL;
	}
	loads->memory = memory;
	loads->workers = workers;
	loads->references = 1;
	loads->scores = memory;
	loads->seen = memory + MAAT_IDS;
	loads->loads = (float *)(void *)(memory + 2 * MAAT_IDS);
	loads->reported = (float *)(void *)(memory + 3 * MAAT_IDS);
	loads->counts = memory + 4 * MAAT_IDS;
	return loads;
}

void maat_loads_free(struct maat_loads *loads)
{
	if (--loads->references)
		return;
	munmap(loads->memory, loads->bytes);
	free(loads);
}

static void store(uint32_t *bits, float value)
{
	uint32_t out;

	memcpy(&out, &value, sizeof(out));
	__atomic_store_n(bits, out, __ATOMIC_RELAXED);
}

/* What workers have counted since the last tick. */
static float counted(struct maat_loads *loads, uint16_t id)
{
	uint32_t sum = 0, since;

	for (uint32_t worker = 0; worker < loads->workers; worker++)
		sum += __atomic_load_n(&loads->counts[worker * (size_t)MAAT_IDS + id], __ATOMIC_RELAXED);
	since = sum - loads->seen[id];
	loads->seen[id] = sum;
	return (float)since;
}

/* The backend's load by the agents' last reports; negative: unknown. */
static float told(const struct maat_loads *loads, uint16_t id, uint64_t now_ms)
{
	return loads->reported_ms && now_ms - loads->reported_ms < MAAT_REPORTED_MS ? loads->reported[id] : -1;
}

void maat_loads_tick(struct maat_loads *loads, const struct maat_settings *settings, const struct backends *backends,
		     uint64_t now_ms)
{
	uint64_t passed = now_ms - loads->ticked_ms;
	float kept = (float)pow(0.5, (double)passed / settings->half_life), sum = 0;
	uint32_t known = 0;

	if (loads->ticked_ms && passed < MAAT_TICK_MS)
		return;
	loads->ticked_ms = now_ms;
	for (uint32_t i = 0; i < backends->count; i++) {
		const struct fl_delta_backend *backend = &backends->list[i];
		float load = loads->loads[backend->id] * kept + counted(loads, backend->id);

		loads->loads[backend->id] = load > 0 ? load : 0;
		load = settings->load == MAAT_AGENTS ? told(loads, backend->id, now_ms) : loads->loads[backend->id];
		if (backend->weight && load > 0)
			load /= backend->weight;
		if (!backend->weight || backend->flags & FL_BACKEND_REMOVED)
			load = -1;
		store(&loads->scores[backend->id], load);
		sum += load >= 0 ? load : 0;
		known += load >= 0;
	}
	store(&loads->least, known ? sum / (float)known * (float)settings->delta / 1000 : 0);
}

void maat_loads_report(struct maat_loads *loads, const float reported[MAAT_IDS], uint64_t now_ms)
{
	memcpy(loads->reported, reported, MAAT_IDS * sizeof(*reported));
	loads->reported_ms = now_ms;
}
