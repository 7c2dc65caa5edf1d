/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the control thread sees of the mux's own health: whether its workers run, and its ports take packets. It looks
 * every HANG_LOOK_MS, and tells what withdraws the VIPs (sick_withdrawal.h).
 *
 * Changes of the tables wait for workers, so a worker that hangs stops the control thread, too, with the next change.
 * Only the looks and the withdrawal go on. Nothing but a new start heals such a mux, so it ends after
 * HEALTH_WAIT_MAX_MS, and systemd starts it again. A change reaches all muxes at once, and perhaps all have such a
 * worker: those that had to stay end later, when those that could withdraw have started again.
 */
#ifndef FAIRLEAD_MUX_HEALTH_H
#define FAIRLEAD_MUX_HEALTH_H

#include "config/options.h"
#include "control/withdrawal/sick_withdrawal.h"
#include "host/port.h"
#include "threads/hang.h"
#include "threads/stuck.h"

enum health_numbers {
	HEALTH_WAIT_MAX_MS = 10000,
	HEALTH_WAIT_ANNOUNCED_MS = 30000, /* with VIPs that are announced */
};

struct health {
	const struct beat *beats; /* NULL: no workers */
	unsigned workers;
	const struct ports *ports;
	struct hang hangs[OPTIONS_WORKERS_MAX];
	struct stuck stucks[OPTIONS_WORKERS_MAX][OPTIONS_PORTS_MAX];
	uint64_t look_at;
};

void health_begin(struct health *health, const struct beat *beats, unsigned workers, const struct ports *ports);

/* When health_run() is due. */
uint64_t health_deadline(const struct health *health);

/* Looks if it is due. */
void health_run(struct health *health, struct sick_withdrawal *withdrawal, uint64_t now_ms);

/* Whether to end; waited_ms: a change waits for workers since then. Pure. */
bool health_must_end(enum ailment ailment, bool announces, uint64_t waited_ms);

/* Logs why, and ends the process at once: with a worker that hangs, nothing can be stopped in order. */
_Noreturn void health_end(const char *why);

#endif
