/* SPDX-License-Identifier: Apache-2.0 */
/* fairlead-p4mux: the mux with a P4 pipeline in front of its own packet path. */
#include <errno.h>

#include "compiled/compiled.h"
#include "mirror.h"
#include "pipelines.h"
#include "port.h"
#include "threads/program.h"

/* Of --memory: registers and tables of a worker; packets of a worker and a port, with an exception port or without. */
enum { PIPELINE_MB = 133, PACKETS_MB = 40, PACKETS_ALONE_MB = 20 };

static int check(const struct options *options, struct reason *why)
{
	unsigned packets = options->ports_count * (options->no_exception ? PACKETS_ALONE_MB : PACKETS_MB);
	unsigned needed = options->workers * (PIPELINE_MB + packets);

	if (options->has_tag_key)
		return reason_set(why, -EINVAL,
				  "--tag-key is not allowed: a mux of kind p4 can't tag packets; allowed: a cluster "
				  "without a key, or fairlead-mux");
	if (options->ports_count > P4_PORT_WIRES)
		return reason_set(why, -EINVAL, "--port: %u are given; allowed with a mux of kind p4: at most %d",
				  options->ports_count, P4_PORT_WIRES);
	if (options->memory < needed)
		return reason_set(why, -EINVAL,
				  "--memory: %u MB with %u workers and %u ports; allowed with a mux of kind p4: at "
				  "least %u, of which a pipeline takes %d",
				  options->memory, options->workers, options->ports_count, needed, PIPELINE_MB);
	return options->pipeline == PIPELINE_COMPILED ? compiled_check(why) : 0;
}

int main(int argc, char **argv)
{
	static const struct mux_kind kind = {
	    .name = "p4",
	    .program = "fairlead-p4mux",
	    .about =
		"fairlead-p4mux steers by a P4 pipeline, and is fairlead-mux in all else: it takes the same options,\n"
		"but no --tag-key and at most four --port, and serves services with steering ring, hunt, maat or "
		"othello\n"
		"and encap gue or ipip.\n\n",
	    .serves = &mirror_serves,
	    .check = check,
	    .open = pipelines_open,
	    .close = pipelines_close,
	};

	return program_main(&kind, argc, argv);
}
