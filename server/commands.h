/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands of `fairlead-server` that neither attach, detach nor show a form. The two with argv, where argv[0] is the
 * command's name, return the exit code. A sentence has been printed if what a function returns is not 0.
 */
#ifndef FAIRLEAD_COMMANDS_H
#define FAIRLEAD_COMMANDS_H

#include "arguments.h"

enum exit_code {
	EXIT_DONE = 0,
	EXIT_REFUSED = 1, /* or failed */
	EXIT_USAGE = 2,
};

extern const char agent_help[], mptcp_help[];

/*
 * agent: counts the connections of the services that this server serves and reports them to the controllers
 * (protocol/README.md, 11), until SIGTERM or SIGINT.
 */
int agent_main(int argc, char **argv);

/*
 * mptcp: makes this host announce to its MPTCP clients a port of the VIP that names this server. A connection's further
 * subflows then come here through any mux (protocol/README.md, 6).
 *
 *	add	an endpoint at VIP:FIRST+ID, where the kernel then listens for further subflows only
 *		the limit of further subflows per connection
 *		net.mptcp.enabled = 1
 *		net.mptcp.allow_join_initial_addr_port = 0	or clients open them to the service's port,
 *		which leads to any server
 *	remove	removes the endpoints at VIP; their subflows end, the connections continue
 *	show	shows all of that
 */
int mptcp_main(int argc, char **argv);

/* keys: prints the file with the keys of one server, from the cluster's. Returns 0 or a negative errno. */
int derive_print(const struct arguments *arguments);

#endif
