/* SPDX-License-Identifier: Apache-2.0 */
#include "cores.h"

#include <errno.h>

#include <rte_atomic.h>

#include "layout.h"

int cores_init(struct cores *cores, struct tables *tables, unsigned workers, unsigned ports, enum pipeline_mode mode,
	       struct reason *why)
{
	*cores = (struct cores){.tables = tables};
	while (cores->count < workers) {
		struct pipeline *pipeline = pipeline_new(cores->count, ports, mode, why);

		if (!pipeline) {
			cores_clear(cores);
			return -ENOMEM;
		}
		cores->pipeline[cores->count++] = pipeline;
	}
	return 0;
}

void cores_clear(struct cores *cores)
{
	while (cores->count)
		pipeline_free(cores->pipeline[--cores->count]);
}

void cores_close(struct cores *cores)
{
	__atomic_store_n(&cores->closed, true, __ATOMIC_SEQ_CST);
	cores_settle(cores);
}

void cores_open(struct cores *cores)
{
	if (!cores->failed)
		__atomic_store_n(&cores->closed, false, __ATOMIC_RELEASE);
}

void cores_settle(struct cores *cores)
{
	publication_synchronize(cores->tables->publication);
}

void cores_fail(struct cores *cores, const char *why)
{
	if (!cores->failed)
		fprintf(stderr, "mux event=pipeline_off why=\"%s\"\n", why);
	cores->failed = true;
}

void cores_write(struct cores *cores, const char *name, uint32_t index, uint64_t value)
{
	rte_smp_wmb();
	for (unsigned i = 0; i < cores->count; i++)
		pipeline_write(cores->pipeline[i], name, index, value);
}

void cores_write_line(struct cores *cores, uint32_t slot, uint32_t at, uint64_t word)
{
	cores_write(cores, "services", slot * P4_LINE_WORDS + at, word);
}

uint64_t cores_read(const struct cores *cores, const char *name, uint32_t index)
{
	return pipeline_read(cores->pipeline[0], name, index);
}

void cores_entry(struct cores *cores, const char *table, const char *entry, bool is_added)
{
	for (unsigned i = 0; i < cores->count; i++) {
		struct pipeline *pipeline = cores->pipeline[i];

		if (is_added ? pipeline_entry_add(pipeline, table, entry)
			     : pipeline_entry_delete(pipeline, table, entry))
			cores_fail(cores, "a table does not take an entry");
	}
}

int cores_commit(struct cores *cores)
{
	for (unsigned i = 0; i < cores->count && !cores->failed; i++)
		if (pipeline_commit(cores->pipeline[i]))
			cores_fail(cores, "a table has no memory left");
	return cores->failed ? -ENOMEM : 0;
}
