/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts ports and SipHash into a pipeline that rte_swx_pipeline_build_from_lib() has built. Part of the library of
 * compiled code, which depends on the layout of DPDK's structs anyway. Afterwards the pipeline is as if the ports had
 * been configured: its statistics are theirs, and it frees them.
 */
#include <errno.h>
#include <stdlib.h>

#include "rte_swx_pipeline_internal.h"

#include "library.h"
#include "siphash.h"

static int attach_in(struct rte_swx_pipeline *pipeline, unsigned id, const struct p4_end_in *end)
{
	struct port_in_type *type = calloc(1, sizeof(*type));
	struct port_in *port;

	if (!type)
		return -ENOMEM;
	type->ops = *end->ops;
	TAILQ_INSERT_TAIL(&pipeline->port_in_types, type, node);
	TAILQ_FOREACH(port, &pipeline->ports_in, node)
	if (port->id == id) {
		void *object = type->ops.create(end->args);

		if (!object)
			return -ENOMEM;
		port->type->ops.free(port->obj);
		port->type = type;
		port->obj = object;
		pipeline->in[id] = (struct port_in_runtime){.pkt_rx = type->ops.pkt_rx, .obj = object};
	}
	return 0;
}

static int attach_out(struct rte_swx_pipeline *pipeline, unsigned id, const struct p4_end_out *end)
{
	struct port_out_type *type = calloc(1, sizeof(*type));
	struct port_out *port;

	if (!type)
		return -ENOMEM;
	type->ops = *end->ops;
	TAILQ_INSERT_TAIL(&pipeline->port_out_types, type, node);
	TAILQ_FOREACH(port, &pipeline->ports_out, node)
	if (port->id == id) {
		void *object = type->ops.create(end->args);

		if (!object)
			return -ENOMEM;
		port->type->ops.free(port->obj);
		port->type = type;
		port->obj = object;
		pipeline->out[id] = (struct port_out_runtime){.pkt_tx = type->ops.pkt_tx,
							      .pkt_fast_clone_tx = type->ops.pkt_fast_clone_tx,
							      .pkt_clone_tx = type->ops.pkt_clone_tx,
							      .flush = type->ops.flush,
							      .obj = object};
	}
	return 0;
}

int compiled_attach(struct rte_swx_pipeline *pipeline, const struct p4_ends *ends)
{
	struct hash_func *function;
	int error = 0;

	if (pipeline->n_structs != compiled_structs || pipeline->metadata_struct_id != compiled_structs - 1 ||
	    (pipeline->metadata_st->n_bits + 7) / 8 != compiled_metadata_bytes)
		return -EINVAL;
	for (unsigned i = 0; !error && i < ends->wires; i++)
		error = attach_in(pipeline, i, &ends->in[i]);
	for (unsigned i = 0; !error && i < P4_PORTS_OUT; i++)
		error = attach_out(pipeline, i, &ends->out[i]);
	TAILQ_FOREACH(function, &pipeline->hash_funcs, node)
	if (!strcmp(function->name, COMPILED_STANDIN))
		pipeline->hash_func_runtime[function->id].func = p4_siphash;
	return error;
}
