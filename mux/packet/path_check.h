/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The debug mode of --check-paths: copies of a burst's packets take the path that packets take here, and the reference
 * (burst.h); both must end alike. The burst itself is not touched. Packets of methods that learn from packets are left
 * out, as a copy would count twice, and so are frames of more than PATH_CHECK_FRAME_MAX bytes.
 */
#ifndef FAIRLEAD_MUX_PATH_CHECK_H
#define FAIRLEAD_MUX_PATH_CHECK_H

#include "packet/burst.h"

enum { PATH_CHECK_FRAME_MAX = 2048 };

struct path_check;

/* One worker's. NULL: no memory. */
struct path_check *path_check_new(void);
void path_check_free(struct path_check *check);

struct path_check_result {
	uint32_t packets; /* that were compared */
	uint32_t differ;  /* of these; a change of the tables meanwhile is no difference */
};

/* Call it before the burst is steered, with all its inputs set. steer: burst_steer, but in tests. */
struct path_check_result path_check(struct path_check *check, const struct burst *burst,
				    void (*steer)(struct burst *burst));

#endif
