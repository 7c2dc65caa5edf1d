/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --watchdog on: a process beside the mux that kills it while it is stopped. A signal that stops a process stops all of
 * its threads: nothing forwards, the mux can't withdraw, and the kernel keeps its TUN devices. When it is killed, the
 * kernel closes them and so withdraws the VIPs, and systemd starts it again.
 *
 * Only the state T counts, which nothing but such a signal makes: not a process that starves, and not one that a debugger
 * has stopped. A timer of systemd (WatchdogSec=) would also kill muxes that starve for as long as it runs.
 */
#ifndef FAIRLEAD_MUX_WATCHDOG_H
#define FAIRLEAD_MUX_WATCHDOG_H

#include "config/reason.h"

enum watchdog_numbers {
	WATCHDOG_LOOK_MS = 50,
	WATCHDOG_LOOKS = 5, /* in which it is stopped */
};

/*
 * Starts the process, which ends with this one. Call it by the main thread, before others and before files are open.
 * -EPERM: this one is the first of its PID namespace, which the kernel protects from signals of the others.
 */
int watchdog_start(struct reason *why);

#endif
