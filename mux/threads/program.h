/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mux's program: connects the parts and waits for a signal. Kinds of muxes differ in what takes received packets
 * first (front.h); everything else is the same code.
 */
#ifndef FAIRLEAD_MUX_PROGRAM_H
#define FAIRLEAD_MUX_PROGRAM_H

#include "control/member/serves.h"
#include "threads/control_thread.h"
#include "threads/front.h"

struct mux_kind {
	const char *name;                /* the word in the mux's node in ZooKeeper */
	const char *program;             /* the program's name, for messages */
	const char *about;               /* what --help says before the options */
	const struct mux_serves *serves; /* for its node; NULL: all services */

	/* Whether it can run with these options; NULL: with all. */
	int (*check)(const struct options *options, struct reason *why);

	/*
	 * Makes the front of the workers, before any starts, and lets it follow the tables; NULL: none. The parts of
	 * the mux outlive it. close: once no thread runs.
	 */
	int (*open)(struct front **front, const struct mux *mux, struct reason *why);
	void (*close)(struct front *front);
};

/* What main returns. */
int program_main(const struct mux_kind *kind, int argc, char **argv);

#endif
