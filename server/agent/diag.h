/* SPDX-License-Identifier: Apache-2.0 */
/* The TCP sockets of this network namespace, as the kernel lists them (sock_diag). */
#ifndef FAIRLEAD_AGENT_DIAG_H
#define FAIRLEAD_AGENT_DIAG_H

#include "census.h"

enum diag_what {
	/* Every state from established until closed. TIME_WAIT is none, also where it stands in for FIN_WAIT2. */
	DIAG_CONNECTIONS,
	/* SYN_RECV, and sockets that listen. */
	DIAG_SWEEP,
};

struct diag;

/* NULL and errno. */
struct diag *diag_open(void);
void diag_close(struct diag *diag);

/* Begins to list sockets of both families; a list under way is given up. Returns 0 or a negative errno. */
int diag_begin(struct diag *diag, enum diag_what what);

/* Reads one message of many. Returns 1: more follow, 0: the end, or a negative errno: the list is incomplete. */
int diag_step(struct diag *diag, struct census *census);

/* Whether a connection exists: 1, 0, or a negative errno. Not while a list is under way. */
int diag_exists(struct diag *diag, const struct socket_name *name);

#endif
