/* SPDX-License-Identifier: Apache-2.0 */
/* At build time: writes C with the build id of the DPDK library that this build is for. */
#include <rte_swx_pipeline.h>

#include <stdio.h>

#include "build_id.h"

int main(void)
{
	struct rte_swx_pipeline *pipeline = NULL;
	char id[BUILD_ID_MAX];

	rte_swx_pipeline_free(pipeline); /* so that the library is loaded */
	build_id_read(id);
	if (!id[0]) {
		fprintf(stderr, "DPDK's pipeline library has no build id, by which the program could know it again\n");
		return 1;
	}
	printf("extern const char run_built_for[];\nconst char run_built_for[] = \"%s\";\n", id);
	return 0;
}
