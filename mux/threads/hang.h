/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a worker hangs, seen from another thread that looks at it every HANG_LOOK_MS. Time alone does not tell: on a
 * crowded host the kernel keeps a thread that could run waiting for hundreds of milliseconds, and an idle one sleeps.
 * What tells them apart is the thread's own clock of processor time and its state, while its turns do not rise:
 *
 *	state	its clock	since its last turn
 *	R	stands		it waits for a processor: starved, never a hang
 *	R	runs		it loops, once it has used HANG_LOOPS_MS of processor time: a turn takes microseconds
 *	other	stands		it is blocked, stopped or gone, once that was so for HANG_BLOCKED_MS: it sleeps for 1 ms
 *				at most, and a thread whose sleep is over is in state R, however long it must wait
 *
 * If the watcher is late itself, so perhaps is everything: a look counts for at most twice its interval. So neither a
 * stopped process that goes on, nor a paused machine, nor a crowded one is a hang.
 */
#ifndef FAIRLEAD_MUX_HANG_H
#define FAIRLEAD_MUX_HANG_H

#include <stdbool.h>

#include "threads/beat.h"

enum hang_numbers {
	HANG_LOOK_MS = 50,
	HANG_BLOCKED_MS = 250,
	HANG_LOOPS_MS = 300,
};

enum hang_kind {
	HANG_NONE,
	HANG_LOOPS,
	HANG_BLOCKED,
};

/* What is seen of a thread. */
struct hang_look {
	uint64_t now_ms;
	uint64_t turns;
	uint64_t cpu_ns;  /* it has used since it was started */
	bool is_runnable; /* state R */
};

/* What is remembered of it; all zero: it was never looked at. */
struct hang {
	bool is_known;
	uint64_t turns;
	uint64_t turned_cpu_ns; /* of its clock when turns was seen first */
	struct hang_look last;
	uint64_t blocked_ms;
};

/* Takes a look into account; pure. */
enum hang_kind hang_judge(struct hang *hang, const struct hang_look *look);

/* Looks at a worker's thread now, and judges; HANG_NONE while it does not run. */
enum hang_kind hang_look(struct hang *hang, const struct beat *beat, uint64_t now_ms);

/* "loops", "blocked". */
const char *hang_name(enum hang_kind kind);

#endif
