/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server that mangles, with real clients: its application listens on its own addresses, and knows no VIP.
 *
 *	this namespace: client and mux in one				namespace of the server
 *	client 10.2.1.2, 2001:db8:2::2 (lo)				eth0 10.1.0.21, 2001:db8:1::21
 *	VIPs 10.99.0.1, 10.99.0.2, 2001:db8:99::1 -> tun0 -> mux thread	echo on TCP and UDP 80, the module
 *	mux 10.1.0.11 (lo)			to-server ----------------'
 *
 * The mux takes packets with offloads, as large as TCP makes them and with sums still to be completed, and hands them
 * on like that: the server gets what GRO or a virtual machine's interface would give it.
 */
#ifndef FAIRLEAD_MODULE_TESTS_SITE_H
#define FAIRLEAD_MODULE_TESTS_SITE_H

#include <netinet/in.h>

#include "client.h"
#include "packet.h"

#define SITE_SELF    "10.1.0.21"
#define SITE_SELF6   "2001:db8:1::21"
#define SITE_CLIENT  "10.2.1.2"
#define SITE_CLIENT6 "2001:db8:2::2"

enum site_numbers {
	SITE_PORT = 80,
	SITE_SECONDS = 30, /* that anything may take on a busy host */
};

/* An address with a port, of either family. */
struct site_end {
	union {
		struct sockaddr any;
		struct sockaddr_in ipv4;
		struct sockaddr_in6 ipv6;
	} address;
	socklen_t len;
};

/* Makes all of it; ends the program with a sentence if the machine can't. */
void site_open(void);

struct genetlink *site_module(void);

/* The server's last accepted socket. */
int site_accepted(void);

/* Runs a command line in the server's namespace; ends the program if it fails. */
void site_server_command(const char *command);

/* Checksum offload of the server's interface; without it the kernel completes all sums, and TSO ends. */
void site_server_offload(bool on);

/* Whether the mux gets large packets and sums to be completed. */
void site_mux_offload(bool on);

/* Sends an inner packet as the mux does. */
void site_mux_send(const struct packet *inner);

struct site_end site_end(const char *address, fl_u16 port);

/* A bound socket whose calls end after SITE_SECONDS; ends the program if there can be none. */
int site_socket(int type, const char *address, fl_u16 port);

#endif
