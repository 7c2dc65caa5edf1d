/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of all backends, as the probe's node in ZooKeeper has it (protocol/README.md, 13). */
#ifndef FAIRLEAD_PROBE_RESULTS_H
#define FAIRLEAD_PROBE_RESULTS_H

#include "pool.h"

enum {
	RESULTS_MAX = 900000, /* bytes of the node: services that do not fit are named alone */
};

/* JSON to be freed; NULL: no memory. id: the mux's. metrics: the URL of the probe's, empty: others can't read them. */
char *results_print(const struct pool *pool, const char *id, const char *metrics);

#endif
