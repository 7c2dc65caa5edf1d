/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command `fairlead-server mptcp`: makes this host announce to its MPTCP clients a port of the VIP that names this
 * server. A connection's further subflows then come here through any mux (protocol/README.md, 6).
 *
 *	add	an endpoint at VIP:FIRST+ID, where the kernel then listens for further subflows only
 *		the limit of further subflows per connection
 *		net.mptcp.enabled = 1
 *		net.mptcp.allow_join_initial_addr_port = 0	or clients open them to the service's port,
 *		which leads to any server
 *	remove	removes the endpoints at VIP; their subflows end, the connections continue
 *	show	shows all of that
 */
#ifndef FAIRLEAD_MPTCP_H
#define FAIRLEAD_MPTCP_H

extern const char mptcp_help[];

/* argv[0] is "mptcp". Returns the exit code; a sentence has been printed if it is not 0. */
int mptcp_main(int argc, char **argv);

#endif
