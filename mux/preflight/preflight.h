/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether this host can run a mux. `fairlead-mux --check` runs all checks and nothing else. Each start runs them too:
 * it logs those that are not ok and stops if one failed, except for ZooKeeper, which may become reachable later.
 */
#ifndef FAIRLEAD_MUX_PREFLIGHT_H
#define FAIRLEAD_MUX_PREFLIGHT_H

#include "config/options.h"

struct ports;

/* Runs all checks and prints them. Returns the exit code: 0 if none failed, else 1. */
int preflight_main(const struct options *options);

/* Runs the checks that come before DPDK starts. -EINVAL and why: one failed. */
int preflight_before_start(const struct options *options, struct reason *why);

/* Checks the devices that DPDK has opened. Errors as above. */
int preflight_opened(const struct options *options, const struct ports *ports, struct reason *why);

#endif
