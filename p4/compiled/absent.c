/* SPDX-License-Identifier: Apache-2.0 */
/* For builds without -Dp4_compiled=true. */
#include "compiled.h"

#include <errno.h>
#include <stdlib.h>

int compiled_check(struct reason *why)
{
	return reason_set(why, -ENOTSUP, "this program was built without -Dp4_compiled=true");
}

int compiled_build(struct rte_swx_pipeline **out, const char *name, const struct p4_ends *ends, struct reason *why)
{
	(void)name;
	(void)ends;
	*out = NULL;
	return compiled_check(why);
}

/* compiled_build() makes no pipeline for it. */
void compiled_run(struct rte_swx_pipeline *pipeline)
{
	(void)pipeline;
	abort();
}
