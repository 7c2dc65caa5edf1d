/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's routes, neighbours and VLANs, over rtnetlink. */
#ifndef FAIRLEAD_MUX_NETLINK_H
#define FAIRLEAD_MUX_NETLINK_H

#include <fairlead/types.h>

#include "config/reason.h"

struct netlink;

struct netlink_route {
	unsigned ifindex;
	uint32_t mtu;              /* of the route, 0: that of the interface */
	struct fl_address gateway; /* or the destination itself, if it is on the link */
	struct fl_address source;  /* the kernel's preferred one */
};

/* An interface that is a VLAN (802.1Q) of another one; all 0: it is not a VLAN. */
struct netlink_vlan {
	unsigned parent;
	uint16_t id;
	uint32_t mtu; /* its own, which may be less than its parent's */
};

struct netlink_neighbour {
	unsigned ifindex;
	struct fl_address address;
	bool known; /* it has a MAC address that the kernel would send to */
	bool fresh; /* and the kernel has confirmed it recently */
	uint8_t mac[6];
};

/* Handlers of events; they may use the requests below. */
struct netlink_events {
	void *context;
	void (*neighbour)(void *context, const struct netlink_neighbour *neighbour);
	void (*link)(void *context, unsigned ifindex); /* an interface has changed */
	bool routes_changed;                           /* set if a route or an address has changed */
	bool lost;                                     /* set if events were lost: everything may have changed */
};

struct netlink *netlink_new(struct reason *why);
void netlink_free(struct netlink *netlink);

/* The descriptor to poll for reading; netlink_receive reads all events without waiting. */
int netlink_fd(const struct netlink *netlink);
void netlink_receive(struct netlink *netlink, struct netlink_events *events);

/* The route to an address. Errors include -ENETUNREACH; -ENOENT: not a route to another host. */
int netlink_route(struct netlink *netlink, const struct fl_address *address, struct netlink_route *out);

/* The interface that this one is a VLAN of. */
int netlink_vlan(struct netlink *netlink, unsigned ifindex, struct netlink_vlan *out);

/* Looks up ifindex and address in the kernel and fills in the rest; an unknown neighbour is not an error. */
int netlink_neighbour(struct netlink *netlink, struct netlink_neighbour *neighbour);

/* Has the kernel resolve or confirm a neighbour; the answer is an event. */
int netlink_resolve(struct netlink *netlink, unsigned ifindex, const struct fl_address *address);

#endif
