/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that opens the load maps of an attached XDP program for another one. The kernel opens a program's maps by
 * their ids for CAP_SYS_ADMIN alone, with which a process may do almost all that root may. The agent reads what comes
 * from the network, so it hands the capability to this process, which reads one byte at a time and answers with the two
 * maps of load.h. It ends with the agent.
 */
#ifndef FAIRLEAD_OPENER_H
#define FAIRLEAD_OPENER_H

struct opener;

/* Starts it for an interface of this network namespace. Before any thread of this process. NULL and errno. */
struct opener *opener_start(const char *interface);

/*
 * Opens the load maps of the attached program. Returns 0; or, with none, a negative errno: -ENOENT if nothing is attached,
 * -EPIPE if the opener has ended, others after it has printed a sentence.
 */
int opener_maps(struct opener *opener, int *settings, int *states);

/* Whether a server is attached: 1 or 0, or a negative errno if that cannot be told. Prints nothing. */
int opener_is_attached(struct opener *opener);

/* Gives up the capability that only the opener needs: this process has it no more, nor threads that it starts. */
int opener_shed(void);

void opener_stop(struct opener *opener);

#endif
