/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Next hops from the kernel's routing and neighbour tables over netlink.
 *
 * A lookup queries the address's route (interface, gateway, source address, MTU), then the MAC address of the gateway
 * or of the address itself; both are then followed by subscription. The kernel resolves missing MAC addresses at our
 * request, repeated every second. The mux's packets bypass the kernel, so stale neighbours are confirmed the same way.
 * A known MAC address stays in use until the kernel reports another one or the route disappears: a host that briefly
 * does not answer ARP loses no connection.
 *
 * A route through a VLAN interface of a port uses that port, with the tag and at most the VLAN's own MTU.
 *
 * All functions are called by the control thread, which polls the descriptor.
 */
#ifndef FAIRLEAD_MUX_NEIGHBOUR_H
#define FAIRLEAD_MUX_NEIGHBOUR_H

#include "host/next_hop.h"
#include "host/port.h"

struct neighbours;
struct netlink_route;

/*
 * ports must outlive it. source, source6: the mux's outer addresses; fl_address_is_none: the kernel's preferred address
 * is used.
 */
struct neighbours *neighbours_new(struct ports *ports, const struct fl_address *source,
				  const struct fl_address *source6, struct reason *why);
void neighbours_free(struct neighbours *neighbours);

/* For tables_new. */
struct next_hops neighbours_hops(struct neighbours *neighbours);

/* The descriptor to poll for reading. */
int neighbours_fd(const struct neighbours *neighbours);

/* Call when the descriptor is readable: reads all events. True if a next hop changed: then call tables_refresh. */
bool neighbours_receive(struct neighbours *neighbours);

/* Call about once a second: requests missing and stale neighbours again. True as above. */
bool neighbours_tick(struct neighbours *neighbours);

/* The kernel's route to an address, through whichever interface. 0 or -errno. */
int neighbours_route(struct neighbours *neighbours, const struct fl_address *address, struct netlink_route *out);

/* Calls back with each address that was looked up and has a route. */
void neighbours_each(const struct neighbours *neighbours,
		     void (*found)(void *context, const struct fl_address *address, const struct netlink_route *route),
		     void *context);

/* How many next hops are resolved and how many are not; any thread. */
void neighbours_count(const struct neighbours *neighbours, unsigned *resolved, unsigned *unresolved);

#endif
