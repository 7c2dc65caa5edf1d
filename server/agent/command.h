/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command that runs as long as the agent and prints how busy the server is, a number a line. No shell starts it, it
 * has no arguments, and none of the agent's files and of its unit's capabilities. If it ends it is started again, after 1 s
 * to 30 s. When the agent stops it is killed, with all that it has started and that has left its process group as it was.
 * If the agent is killed, systemd kills all of them with the unit; without systemd, SIGPIPE ends each at its next line.
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
