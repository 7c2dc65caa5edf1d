/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command that runs as long as the agent and prints how busy the server is, a number a line. No shell starts it, it
 * has no arguments, and none of the agent's files and of its unit's capabilities. If it ends it is started again, after 1 s
 * to 30 s. It is killed when the agent stops, and ends at its next line if the agent was killed.
 */
#ifndef FAIRLEAD_AGENT_COMMAND_H
#define FAIRLEAD_AGENT_COMMAND_H

#include "figures.h"

enum {
	COMMAND_COUNTS_MS = 2000, /* a number that it has printed */
};

struct command;

/* Starts nothing yet. NULL: no memory. */
struct command *command_open(const char *path);
void command_close(struct command *command);

/* The last number that it has printed; waits for one if that is older than COMMAND_COUNTS_MS. False: none, and why. */
bool command_read(struct command *command, fl_u64 now_ns, int deadline_ms, fl_u32 *busy, char why[FIGURES_WHY_MAX]);

#endif
