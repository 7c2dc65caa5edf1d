/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pipelines of all workers, which hold the same, and the gate in front of them. While it is closed, workers leave
 * all packets to the usual path, and the control thread may change anything; no packet waits. Otherwise it may write
 * registers, in the order of p4/README.md.
 */
#ifndef FAIRLEAD_P4_CORES_H
#define FAIRLEAD_P4_CORES_H

#include "config/options.h"
#include "pipeline.h"
#include "service/tables.h"

struct cores {
	struct tables *tables;
	unsigned count;
	struct pipeline *pipeline[OPTIONS_WORKERS_MAX];
	bool closed; /* atomic */
	bool failed; /* the pipelines may differ from each other: the gate stays closed */
};

/* Makes a pipeline for each worker, with the gate open. On failure nothing is left. */
int cores_init(struct cores *cores, struct tables *tables, unsigned workers, unsigned ports, enum pipeline_mode mode,
	       struct reason *why);
void cores_clear(struct cores *cores);

/* Returns once no worker runs its pipeline. */
void cores_close(struct cores *cores);
void cores_open(struct cores *cores);

static inline bool cores_is_closed(const struct cores *cores)
{
	return __atomic_load_n(&cores->closed, __ATOMIC_ACQUIRE);
}

/* Logs why, once, and keeps the gate closed, at the latest when it is closed next. */
void cores_fail(struct cores *cores, const char *why);

/* Returns once no packet is in a pipeline that was there before. */
void cores_settle(struct cores *cores);

/* One register of all, after all that was written before. */
void cores_write(struct cores *cores, const char *name, uint32_t index, uint64_t value);

/* Likewise, a word of the line that the service in this slot has. */
void cores_write_line(struct cores *cores, uint32_t slot, uint32_t at, uint64_t word);

/* What all of them have there. */
uint64_t cores_read(const struct cores *cores, const char *name, uint32_t index);

/* While the gate is closed: an entry of all tables of this name, done by the commit. Fails as cores_fail(). */
void cores_entry(struct cores *cores, const char *table, const char *entry, bool is_added);
int cores_commit(struct cores *cores);

#endif
