/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How loaded the backends of a service are, as this mux sees it. Each worker counts in lines of its own; the control
 * thread adds them up every MAAT_TICK_MS, lets loads decay, and writes what workers compare: load over weight. Or the
 * servers' agents say how loaded they are (protocol/README.md, 4): then workers' counts are not read.
 *
 * Memory: 256 KB for each worker and 1 MB more, by backend id; only touched pages are resident.
 */
#ifndef FAIRLEAD_MUX_MAAT_LOADS_H
#define FAIRLEAD_MUX_MAAT_LOADS_H

#include <string.h>

#include "config/service_config.h"
#include "ring/backend.h"

enum maat_loads_numbers {
	MAAT_TICK_MS = 10,
	MAAT_REPORTED_MS = 10000, /* reports that are older count as unknown */
	MAAT_IDS = FL_BACKEND_MAX + 1,
};

struct maat_loads {
	uint32_t *scores;     /* by id: bits of a float, load over weight, negative: unknown; atomic */
	uint32_t least;       /* bits of a float: a difference that counts; atomic */
	uint32_t *counts;     /* by worker and id, modulo 2^32; atomic, one writer each */
	uint32_t workers;     /* from here on: control thread */
	uint32_t *seen;       /* by id: the sum of counts at the last tick */
	float *loads;         /* by id */
	float *reported;      /* by id, negative: not reported */
	uint64_t reported_ms; /* 0: never */
	uint64_t ticked_ms;
	uint32_t references;
	uint64_t bytes;
	void *memory;
};

/* NULL: no memory. One reference. */
struct maat_loads *maat_loads_new(uint32_t workers);
/* One reference less; frees it with the last one. No reader may hold it then. */
void maat_loads_free(struct maat_loads *loads);

/* Once MAAT_TICK_MS have passed: adds up and decays. Control thread. */
void maat_loads_tick(struct maat_loads *loads, const struct maat_settings *settings, const struct backends *backends,
		     uint64_t now_ms);

/* What agents reported, by id, negative: nothing. Control thread. */
void maat_loads_report(struct maat_loads *loads, const float reported[MAAT_IDS], uint64_t now_ms);

static inline float maat_loads_float(const uint32_t *bits)
{
	uint32_t value = __atomic_load_n(bits, __ATOMIC_RELAXED);
	float out;

	memcpy(&out, &value, sizeof(out));
	return out;
}

/* A worker's count of a backend. */
static inline void maat_loads_count(uint32_t *counts, uint32_t worker, uint16_t id, uint32_t by)
{
	uint32_t *count = &counts[worker * (size_t)MAAT_IDS + id];

	__atomic_store_n(count, __atomic_load_n(count, __ATOMIC_RELAXED) + by, __ATOMIC_RELAXED);
}

/* Whether a new connection goes to the second of both backends: it is less loaded, by a difference that counts. */
static inline bool maat_loads_prefer_second(const struct maat_loads *loads, uint16_t first, uint16_t second)
{
	float one = maat_loads_float(&loads->scores[first]), other = maat_loads_float(&loads->scores[second]);

	return other >= 0 && one > other && one - other >= maat_loads_float(&loads->least);
}

#endif
