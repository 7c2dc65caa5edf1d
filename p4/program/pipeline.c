/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_swx_ctl.h>

#include "compiled/build.h"
#include "compiled/compiled.h"
#include "crc.h"
#include "layout.h"
#include "port.h"
#include "ports.h"

enum { RUN_INSTRUCTIONS = 256 }; /* between two looks at whether a burst is through: about as many as a packet takes */

struct pipeline {
	struct rte_swx_pipeline *swx;
	struct rte_swx_ctl_pipeline *ctl;
	bool is_compiled;
	struct ports_burst burst;
};

/* Whether the program has a register array of at least this size. */
static int check_register(struct rte_swx_pipeline *swx, const char *name, uint32_t size, struct reason *why)
{
	struct rte_swx_ctl_regarray_info found;

	for (uint32_t i = 0; !rte_swx_ctl_regarray_info_get(swx, i, &found); i++)
		if (!strcmp(found.name, name) && found.size >= size)
			return 0;
	return reason_set(why, -EINVAL, "the pipeline's .spec has no register array %s of %u", name, size);
}

static int check_registers(struct rte_swx_pipeline *swx, struct reason *why)
{
	static const struct {
		const char *name;
		uint32_t size;
	} registers[] = {{"macs", P4_PORT_WIRES},
			 {"clock", 1},
			 {"services", P4_SLOTS * P4_LINE_WORDS},
			 {"ring", P4_RING_WORDS},
			 {"lists", P4_LISTS_WORDS},
			 {"cells", P4_CELLS_WORDS},
			 {"templates", P4_PLACES * P4_LINE_WORDS},
			 {"tails", P4_PLACES},
			 {"noted", P4_NOTED},
			 {"moved", 1},
			 {"second", 1},
			 {"second_first", 1},
			 {"second_syns", 1}};
	char name[16];
	int error = 0;

	for (unsigned i = 0; !error && i < RTE_DIM(registers); i++)
		error = check_register(swx, registers[i].name, registers[i].size, why);
	for (unsigned at = 0; !error && at < P4_CRC_SOURCES + P4_CRC_PORTS; at++)
		error = check_register(swx, pipeline_crc_name(at, name), P4_CRC_ENTRIES, why);
	return error;
}

const char *pipeline_crc_name(unsigned at, char out[16])
{
	if (at < P4_CRC_SOURCES)
		snprintf(out, 16, "crc_s%u", at);
	else
		snprintf(out, 16, "crc_p%u", at - P4_CRC_SOURCES);
	return out;
}

static int build_interpreted(struct pipeline *pipeline, const char *name, const struct p4_ends *ends,
			     struct reason *why)
{
	FILE *spec = fmemopen((void *)(uintptr_t)spec_text, spec_text_len, "r");
	int error;

	if (!spec)
		return reason_set(why, -errno, "%s: the pipeline's .spec can't be read: %s", name, strerror(errno));
	error = p4_build_interpreted(&pipeline->swx, name, ends, spec, why);
	fclose(spec);
	return error;
}

static int build(struct pipeline *pipeline, unsigned worker, unsigned ports, enum pipeline_mode mode,
		 struct reason *why)
{
	struct ports_ends ends;
	unsigned wires = 1;
	char name[16];
	int error;

	while (wires < ports)
		wires *= 2;
	snprintf(name, sizeof(name), "worker %u", worker);
	ports_make(&ends, &pipeline->burst, wires);
	pipeline->is_compiled = mode == PIPELINE_COMPILED;
	error = pipeline->is_compiled ? compiled_build(&pipeline->swx, name, &ends.ends, why)
				      : build_interpreted(pipeline, name, &ends.ends, why);
	if (!error)
		error = check_registers(pipeline->swx, why);
	if (error)
		return error;
	pipeline->ctl = rte_swx_ctl_pipeline_create(pipeline->swx);
	return pipeline->ctl ? 0 : reason_set(why, -ENOMEM, "%s: no memory for the pipeline's tables", name);
}

struct pipeline *pipeline_new(unsigned worker, unsigned ports, enum pipeline_mode mode, struct reason *why)
{
	struct pipeline *pipeline = calloc(1, sizeof(*pipeline));

	if (!pipeline) {
		reason_set(why, -ENOMEM, "worker %u: no memory for the pipeline", worker);
		return NULL;
	}
	if (!build(pipeline, worker, ports, mode, why))
		return pipeline;
	pipeline_free(pipeline);
	return NULL;
}

void pipeline_free(struct pipeline *pipeline)
{
	if (!pipeline)
		return;
	if (pipeline->ctl)
		rte_swx_ctl_pipeline_free(pipeline->ctl);
	if (pipeline->swx)
		rte_swx_pipeline_free(pipeline->swx);
	free(pipeline);
}

uint32_t pipeline_run(struct pipeline *pipeline, unsigned wire, struct rte_mbuf **mbufs, uint32_t count,
		      struct pipeline_out *out)
{
	struct ports_burst *burst = &pipeline->burst;

	burst->wire = wire;
	burst->count = burst->next = burst->left = burst->steered = burst->dropped = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (ports_may_enter(mbufs[i]))
			burst->in[burst->count++] = mbufs[i];
		else
			burst->left_mbufs[burst->left++] = mbufs[i];
	}
	while (ports_done(burst) < count) {
		if (pipeline->is_compiled)
			compiled_run(pipeline->swx);
		else
			rte_swx_pipeline_run(pipeline->swx, RUN_INSTRUCTIONS);
	}
	*out = (struct pipeline_out){.count = burst->steered, .mbufs = burst->out, .wires = burst->out_wire};
	memcpy(mbufs, burst->left_mbufs, burst->left * sizeof(*mbufs));
	return burst->left;
}

/* build() has checked that all registers are there and as large as this program takes them to be. */
void pipeline_write(struct pipeline *pipeline, const char *name, uint32_t index, uint64_t value)
{
	rte_swx_ctl_pipeline_regarray_write(pipeline->swx, name, index, value);
}

uint64_t pipeline_read(const struct pipeline *pipeline, const char *name, uint32_t index)
{
	uint64_t value = 0;

	rte_swx_ctl_pipeline_regarray_read(pipeline->swx, name, index, &value);
	return value;
}

static void entry_free(struct rte_swx_table_entry *entry)
{
	if (!entry)
		return;
	free(entry->key);
	free(entry->key_mask);
	free(entry->action_data);
	free(entry);
}

int pipeline_entry_add(struct pipeline *pipeline, const char *table, const char *text)
{
	int is_blank, error = -EINVAL;
	struct rte_swx_table_entry *entry =
	    rte_swx_ctl_pipeline_table_entry_read(pipeline->ctl, table, text, &is_blank);

	if (entry)
		error = rte_swx_ctl_pipeline_table_entry_add(pipeline->ctl, table, entry);
	entry_free(entry);
	return error;
}

int pipeline_entry_delete(struct pipeline *pipeline, const char *table, const char *text)
{
	int is_blank, error = -EINVAL;
	struct rte_swx_table_entry *entry =
	    rte_swx_ctl_pipeline_table_entry_read(pipeline->ctl, table, text, &is_blank);

	if (entry)
		error = rte_swx_ctl_pipeline_table_entry_delete(pipeline->ctl, table, entry);
	entry_free(entry);
	return error;
}

int pipeline_commit(struct pipeline *pipeline)
{
	return rte_swx_ctl_pipeline_commit(pipeline->ctl, 1);
}
