/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Next hops from the kernel's routing and neighbour tables over netlink.
 *
 * For every address that somebody looked up, its route is asked for (interface, gateway, source address, MTU), then the
 * MAC address of the gateway or of the address itself; both are followed by subscription. What is missing is resolved
 * by the kernel at our request and asked for again every second. Packets of the mux do not pass the kernel, so a
 * neighbour that has become stale is confirmed the same way. A MAC address once known stays in use until the kernel
 * names another or the route goes: a host that does not answer ARP for a moment loses no connection by that.
 *
 * A route by a VLAN interface of a port leaves by that port, with the tag, and with no more than the VLAN's own MTU.
 *
 * All functions are called by the control thread, which polls the descriptor.
 */
#ifndef FAIRLEAD_MUX_NEIGHBOUR_H
#define FAIRLEAD_MUX_NEIGHBOUR_H

#include "ring/next_hop.h"
#include "host/port.h"

struct neighbours;

/*
 * ports must outlive it. source, source6: the mux's outer addresses; none (fl_address_is_none): the one that the kernel
 * prefers.
 */
struct neighbours *neighbours_new(struct ports *ports, const struct fl_address *source,
				  const struct fl_address *source6, struct why *why);
void neighbours_free(struct neighbours *neighbours);

/* For tables_new. */
struct next_hops neighbours_hops(struct neighbours *neighbours);

/* To be polled for reading. */
int neighbours_fd(const struct neighbours *neighbours);

/* When the descriptor is readable: reads what is there. True if a next hop changed: then call tables_refresh. */
bool neighbours_receive(struct neighbours *neighbours);

/* About once a second: asks again for what is missing or stale. True as above. */
bool neighbours_tick(struct neighbours *neighbours);

/* How many next hops are resolved and how many are not; any thread. */
void neighbours_count(const struct neighbours *neighbours, unsigned *resolved, unsigned *unresolved);

#endif
