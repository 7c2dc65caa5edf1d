/* SPDX-License-Identifier: Apache-2.0 */
#include "build.h"

#include <string.h>

#include "siphash.h"
#include "spec.h"

static int config_ends(struct rte_swx_pipeline *pipeline, const struct p4_ends *ends)
{
	char type[RTE_SWX_NAME_SIZE];
	int error = 0;

	for (unsigned i = 0; !error && i < ends->wires; i++) {
		snprintf(type, sizeof(type), "in%u", i);
		error = rte_swx_pipeline_port_in_type_register(pipeline, type, ends->in[i].ops);
		if (!error)
			error = rte_swx_pipeline_port_in_config(pipeline, i, type, ends->in[i].args);
	}
	for (unsigned i = 0; !error && i < P4_PORTS_OUT; i++) {
		snprintf(type, sizeof(type), "out%u", i);
		error = rte_swx_pipeline_port_out_type_register(pipeline, type, ends->out[i].ops);
		if (!error)
			error = rte_swx_pipeline_port_out_config(pipeline, i, type, ends->out[i].args);
	}
	return error;
}

int p4_build_interpreted(struct rte_swx_pipeline **out, const char *name, const struct p4_ends *ends, FILE *spec,
			 struct reason *why)
{
	struct rte_swx_pipeline *pipeline = NULL;
	int error = rte_swx_pipeline_config(&pipeline, name, 0);

	if (!error)
		error = config_ends(pipeline, ends);
	if (!error)
		error = p4_siphash_register(pipeline);
	if (error)
		reason_set(why, error, "%s: the pipeline can't be made: %s", name, strerror(-error));
	else
		error = spec_build(pipeline, spec, why);
	if (error && pipeline)
		rte_swx_pipeline_free(pipeline);
	*out = error ? NULL : pipeline;
	return error;
}
