/* SPDX-License-Identifier: Apache-2.0 */
#include "siphash.h"

#include <stdlib.h>

#include <rte_swx_pipeline.h>

#include <fairlead/types.h>

#include "cells.h"

/* flow_h of headers.p4: in network byte order. */
struct siphash_input {
	uint8_t k0[8], k1[8]; /* two numbers, of which the packet knows nothing */
	uint8_t source_high[8], source_low[8];
	uint8_t destination_high[8], destination_low[8];
	uint8_t source_port[2], destination_port[2];
	uint8_t protocol;
	uint8_t kind;
};

_Static_assert(sizeof(struct siphash_input) == 54, "flow_h");

uint32_t p4_siphash(const void *input, uint32_t length, uint32_t seed)
{
	const struct siphash_input *in = input;

	(void)seed;
	if (length == P4_CELLS_LEN)
		return p4_cells(input);
	if (length != sizeof(*in))
		abort(); /* mux.spec is of other sources */
	return p4_siphash_fields(fl_load_be64(in->k0), fl_load_be64(in->k1), fl_load_be64(in->source_high),
				 fl_load_be64(in->source_low), fl_load_be64(in->destination_high),
				 fl_load_be64(in->destination_low), fl_load_be16(in->source_port),
				 fl_load_be16(in->destination_port), in->protocol, in->kind);
}

int p4_siphash_register(struct rte_swx_pipeline *pipeline)
{
	return rte_swx_pipeline_hash_func_register(pipeline, "siphash", p4_siphash);
}
