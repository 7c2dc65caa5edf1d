/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real connections of a client on lo to a listener on lo, and the client's last segment: where its sequence and its
 * acknowledgement are is read from the wire, since a socket of MPTCP tells neither.
 */
#ifndef FAIRLEAD_TESTS_CONNECTION_H
#define FAIRLEAD_TESTS_CONNECTION_H

#include "packet.h"

struct connection_ends {
	struct fl_address client, vip;
	fl_u16 port;
	int client_protocol; /* 0, or IPPROTO_MPTCP: what the client speaks, if the listener does */
	int listener;
};

/* Both ends stay open. */
struct packet_tcp connection_establish(const struct connection_ends *ends);

/* Closed by the server first, which therefore keeps the TIME-WAIT, for a minute. */
struct packet_tcp connection_time_wait(const struct connection_ends *ends);

#endif
