/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether this host can run a mux. `fairlead-mux --check` runs all checks and nothing else. Each start runs them too:
 * it logs those that are not ok and stops if one failed, except for ZooKeeper, which may become reachable later.
 */
#ifndef FAIRLEAD_MUX_PREFLIGHT_H
#define FAIRLEAD_MUX_PREFLIGHT_H

#include <pthread.h>
#include <stdbool.h>

#include "config/options.h"

struct ports;

/* Runs all checks and prints them. Returns the exit code: 0 if none failed, else 1. */
int preflight_main(const struct options *options);

/* Runs the checks that come before DPDK starts. -EINVAL and why: one failed. */
int preflight_before_start(const struct options *options, struct reason *why);

/*
 * Checks ZooKeeper in a thread of its own, and logs the result: while it is down that takes seconds, and a mux that has
 * its state on disk serves by then. The options must outlive it.
 */
struct preflight_thread {
	const struct options *options;
	pthread_t id;
	bool runs;
};

void preflight_zookeeper_begin(struct preflight_thread *thread, const struct options *options);
/* Waits for it. All zero: there is none. */
void preflight_zookeeper_end(struct preflight_thread *thread);

/* Checks the devices that DPDK has opened. Errors as above. */
int preflight_opened(const struct options *options, const struct ports *ports, struct reason *why);

#endif
