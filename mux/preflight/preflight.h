/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether this host can run a mux. `fairlead-mux --check` makes all checks and nothing else. Each start makes them too:
 * it logs those that are not ok and stops at one that failed, except for ZooKeeper, which may become reachable later.
 */
#ifndef FAIRLEAD_MUX_PREFLIGHT_H
#define FAIRLEAD_MUX_PREFLIGHT_H

#include "config/options.h"

struct ports;

/* All checks, on standard output. The exit code: 0 if none failed, else 1. */
int preflight_main(const struct options *options);

/* The checks of a start, before DPDK runs. -EINVAL and why: one of them forbids it. */
int preflight_before_start(const struct options *options, struct reason *why);

/* Those of the devices that DPDK has opened. Errors as above. */
int preflight_opened(const struct options *options, const struct ports *ports, struct reason *why);

#endif
