/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command `fairlead-server mptcp`: has this host tell its MPTCP clients of a port of the VIP that names this
 * server, so that a connection's further subflows come here whatever mux they go by (protocol/README.md, 6).
 *
 *	add	an endpoint at VIP:FIRST+ID, where the kernel then listens for further subflows, and nothing else
 *		the limit of further subflows a connection
 *		net.mptcp.enabled = 1
 *		net.mptcp.allow_join_initial_addr_port = 0	or clients open them to the service's port, to any
 *		server
 *	remove	the endpoints at VIP; the subflows that came by them end, their connections go on
 *	show	all of that
 */
#ifndef FAIRLEAD_MPTCP_H
#define FAIRLEAD_MPTCP_H

extern const char mptcp_help[];

/* argv[0] is "mptcp". Returns the exit code of the program; a sentence has been printed if it is not 0. */
int mptcp_main(int argc, char **argv);

#endif
