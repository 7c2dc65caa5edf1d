/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What this host knows of a connection. Local state is any TCP socket other than a listener (half-open connections are
 * request sockets; TIME-WAIT counts too), and a UDP socket that is connected to exactly this remote end. A TCP socket is
 * no local state for a segment that is not where its connection is (place.h).
 */
#ifndef FAIRLEAD_SOCKETS_H
#define FAIRLEAD_SOCKETS_H

#include <net/net_namespace.h>

#include <fairlead/decide.h>

#include "wire.h"

/* Called under rcu_read_lock(). Holds no reference to a socket afterwards. */
enum fl_packet_class fl_sockets_classify(struct net *net, const struct fl_flow *flow,
					 const struct fl_flow_headers *headers, int ifindex);

/* The socket that has the flow's two ends. */
enum fl_socket_state {
	FL_SOCKET_NONE, /* none, or one that accepts packets from any sender */
	FL_SOCKET_HALF_OPEN,
	FL_SOCKET_TIME_WAIT,
	FL_SOCKET_OPEN, /* any other TCP socket, a connected UDP socket */
};

/* Called under rcu_read_lock(). */
enum fl_socket_state fl_sockets_state(struct net *net, const struct fl_flow *flow, int ifindex);

/* Whether any socket would take a SYN of this flow, a listener or the connection's own. Called under rcu_read_lock(). */
bool fl_sockets_has_any(struct net *net, const struct fl_flow *flow, int ifindex);

/* Whether the kernel would forward the packet instead of delivering it: the VIP is no address of this host. */
bool fl_sockets_is_foreign(struct net *net, const struct fl_flow *flow);

#endif
