/* SPDX-License-Identifier: Apache-2.0 */
#include "compiled.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_ring.h>

#include "library.h"

enum { IOSPEC_MAX = 1024 };

static const char nowhere[] = "fairlead_nowhere"; /* a ring that all pipelines' first ports name and none uses */

int compiled_check(struct reason *why)
{
	char id[BUILD_ID_MAX];

	build_id_read(id);
	if (!strcmp(id, compiled_for))
		return 0;
	return reason_set(why, -ENOEXEC,
			  "the compiled pipeline is for DPDK's pipeline library with build id %s, and that of this "
			  "machine has %s: build again",
			  compiled_for, id[0] ? id : "none");
}

/* A description of ports that lead nowhere, as many as there are. */
static FILE *describe(char text[IOSPEC_MAX], unsigned wires)
{
	size_t len = 0;

	for (unsigned i = 0; i < wires; i++)
		len += (size_t)snprintf(text + len, IOSPEC_MAX - len, "port in %u ring %s bsz 1\n", i, nowhere);
	for (unsigned i = 0; i < P4_PORTS_OUT; i++)
		len += (size_t)snprintf(text + len, IOSPEC_MAX - len, "port out %u sink file none\n", i);
	return fmemopen(text, len, "r");
}

int compiled_build(struct rte_swx_pipeline **out, const char *name, const struct p4_ends *ends, struct reason *why)
{
	char text[IOSPEC_MAX];
	FILE *ports;
	int error = compiled_check(why);

	if (error)
		return error;
	if (!rte_ring_lookup(nowhere) && !rte_ring_create(nowhere, 2, SOCKET_ID_ANY, 0))
		return reason_set(why, -rte_errno, "%s: no memory for a ring", name);
	ports = describe(text, ends->wires);
	if (!ports)
		return reason_set(why, -errno, "%s: the pipeline's ports can't be described", name);
	error = rte_swx_pipeline_build_from_lib(out, name, COMPILED_LIBRARY, ports, 0);
	fclose(ports);
	if (error)
		return reason_set(why, error, "%s: the compiled pipeline can't be made of %s: %s", name,
				  COMPILED_LIBRARY, strerror(-error));
	error = compiled_attach(*out, ends);
	if (!error)
		return 0;
	rte_swx_pipeline_free(*out);
	*out = NULL;
	return reason_set(why, error,
			  error == -ENOMEM ? "%s: no memory for the compiled pipeline's ports"
					   : "%s: the compiled pipeline has other structs than its code; build again",
			  name);
}
