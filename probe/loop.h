/* SPDX-License-Identifier: Apache-2.0 */
/* fairlead-probe from its start to its end: one thread, besides those of ZooKeeper's client. */
#ifndef FAIRLEAD_PROBE_LOOP_H
#define FAIRLEAD_PROBE_LOOP_H

#include "config/reason.h"
#include "options.h"

/* Probes until SIGTERM or SIGINT. 0, or a negative errno and why. */
int loop_run(const struct probe_options *options, struct reason *why);

#endif
