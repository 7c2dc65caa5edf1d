/* SPDX-License-Identifier: Apache-2.0 */
/* fairlead-mux. */
#include <errno.h>

#include "threads/program.h"

static int check(const struct options *options, struct reason *why)
{
	if (options->pipeline == PIPELINE_AUTO)
		return 0;
	return reason_set(
	    why, -EINVAL,
	    "--pipeline is not allowed: a mux of kind c has no pipeline; allowed: auto, or fairlead-p4mux");
}

int main(int argc, char **argv)
{
	static const struct mux_kind kind = {.name = "c", .program = "fairlead-mux", .about = "", .check = check};

	return program_main(&kind, argc, argv);
}
