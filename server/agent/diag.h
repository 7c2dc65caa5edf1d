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
	DIAG_LISTENERS,
	/* Connections to which the client still listens, with what TCP knows of them. */
	DIAG_WORK,
};

enum diag_kind {
	DIAG_CONNECTION,
	DIAG_HALF_OPEN,
	DIAG_LISTENER,
};

struct tcp_info;

struct diag_socket {
	enum diag_kind kind;
	struct socket_name name;
	struct listener listener;    /* of a listener */
	const struct tcp_info *info; /* of DIAG_WORK; NULL: the kernel said nothing */
};

typedef void diag_take(void *context, const struct diag_socket *socket);

struct diag;

/* NULL and errno. */
struct diag *diag_open(void);
void diag_close(struct diag *diag);

/* Begins to list sockets of both families; a list under way is given up. Returns 0 or a negative errno. */
int diag_begin(struct diag *diag, enum diag_what what);

/* Reads one message of many, and gives its sockets. Returns 1: more follow, 0: the end, or a negative errno: the list
 * is incomplete. */
int diag_step(struct diag *diag, diag_take *take, void *context);

/* Whether a connection exists: 1, 0, or a negative errno. Not while a list is under way. */
int diag_exists(struct diag *diag, const struct socket_name *name);

#endif
