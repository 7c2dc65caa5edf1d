/* SPDX-License-Identifier: Apache-2.0 */
#include "compiled.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_swx_ctl.h>

#include "build.h"
#include "build_id.h"
#include "run_names.h"

/* Made by the build. */
extern const char run_built_for[];

int compiled_check(struct reason *why)
{
	char id[BUILD_ID_MAX];

	build_id_read(id);
	if (!strcmp(id, run_built_for))
		return 0;
	return reason_set(why, -ENOEXEC,
			  "the compiled pipeline is for DPDK's pipeline library with build id %s, and that of this "
			  "machine has %s: build again",
			  run_built_for, id[0] ? id : "none");
}

/* The code knows registers, tables and actions by their numbers. */
static int check_numbers(struct rte_swx_pipeline *pipeline, struct reason *why)
{
	struct rte_swx_ctl_pipeline_info whole;
	struct rte_swx_ctl_regarray_info array;
	struct rte_swx_ctl_table_info table;
	struct rte_swx_ctl_action_info action;
	uint32_t i;

	if (rte_swx_ctl_pipeline_info_get(pipeline, &whole))
		return reason_set(why, -EINVAL, "the pipeline can't be looked at");
	for (i = 0; run_registers[i].name; i++)
		if (rte_swx_ctl_regarray_info_get(pipeline, i, &array) || strcmp(array.name, run_registers[i].name) ||
		    array.size != run_registers[i].entries)
			return reason_set(why, -EINVAL, "the pipeline's register array %u is not %s of %u", i,
					  run_registers[i].name, run_registers[i].entries);
	for (i = 0; run_tables[i]; i++)
		if (rte_swx_ctl_table_info_get(pipeline, i, &table) || strcmp(table.name, run_tables[i]))
			return reason_set(why, -EINVAL, "the pipeline's table %u is not %s", i, run_tables[i]);
	for (i = 0; run_actions[i]; i++)
		if (rte_swx_ctl_action_info_get(pipeline, i, &action) || strcmp(action.name, run_actions[i]))
			return reason_set(why, -EINVAL, "the pipeline's action %u is not %s", i, run_actions[i]);
	return 0;
}

int compiled_build(struct rte_swx_pipeline **out, const char *name, const struct p4_ends *ends, struct reason *why)
{
	FILE *spec = NULL;
	int error = compiled_check(why);

	*out = NULL;
	if (error)
		return error;
	spec = fmemopen((void *)(uintptr_t)spec_text, spec_text_len, "r");
	if (!spec)
		return reason_set(why, -errno, "%s: the pipeline's .spec can't be read: %s", name, strerror(errno));
	error = p4_build_interpreted(out, name, ends, spec, why);
	fclose(spec);
	if (error)
		return error;
	error = check_numbers(*out, why);
	if (error) {
		rte_swx_pipeline_free(*out);
		*out = NULL;
	}
	return error;
}
