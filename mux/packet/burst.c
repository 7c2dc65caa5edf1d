/* SPDX-License-Identifier: Apache-2.0 */
#include "packet/burst.h"

#include <rte_branch_prediction.h>

#include "packet/general.h"
#include "packet/lanes.h"

enum burst_path burst_path;
const char *const burst_path_names[] = {"reference", "scalar", "avx512"};

static __attribute__((constructor)) void choose_path(void)
{
	burst_path = lanes_has_cpu() ? BURST_LANES : BURST_SCALAR;
}

void burst_steer_classified(struct burst *burst)
{
	burst_begin(burst);
	general_steer_classified(burst);
}

void burst_steer_by(struct burst *burst, enum burst_path path)
{
	burst->path = path;
	burst_begin(burst);
#ifdef LANES_X86
	if (likely(path == BURST_LANES && burst->count >= LANES)) {
		lanes_steer(burst);
		return;
	}
#endif
	general_steer(burst);
}

void burst_steer(struct burst *burst)
{
	burst_steer_by(burst, burst_path);
}
