/* SPDX-License-Identifier: Apache-2.0 */
/* Routes and neighbours as the kernel's rtnetlink tells them; addresses are IPv4 in network order. */
#ifndef FAIRLEAD_MUX_NETLINK_H
#define FAIRLEAD_MUX_NETLINK_H

#include <stdbool.h>
#include <stdint.h>

#include "why.h"

struct netlink;

struct netlink_route {
	unsigned ifindex;
	uint32_t gateway; /* or the destination itself, if it is on the link */
	uint32_t source;  /* the kernel's preferred one */
};

struct netlink_neighbour {
	unsigned ifindex;
	uint32_t address;
	bool known; /* it has a MAC address that the kernel would send to */
	bool fresh; /* and the kernel has confirmed it lately */
	uint8_t mac[6];
};

/* What has happened; a handler may use the requests below. */
struct netlink_events {
	void *context;
	void (*neighbour)(void *context, const struct netlink_neighbour *neighbour);
	void (*routes)(void *context);                 /* a route or an address has changed */
	void (*link)(void *context, unsigned ifindex); /* an interface has changed */
	void (*lost)(void *context);                   /* events were lost: everything may have changed */
};

struct netlink *netlink_new(struct why *why);
void netlink_free(struct netlink *netlink);

/* To be polled for reading; netlink_receive reads what is there without waiting. */
int netlink_fd(const struct netlink *netlink);
void netlink_receive(struct netlink *netlink, const struct netlink_events *events);

/* The route to an address. -ENETUNREACH and the like; -ENOENT: not a route to another host. */
int netlink_route(struct netlink *netlink, uint32_t address, struct netlink_route *out);

/* What the kernel knows of a neighbour: ifindex and address are asked for, the rest is filled; unknown is no error. */
int netlink_neighbour(struct netlink *netlink, struct netlink_neighbour *neighbour);

/* Has the kernel resolve or confirm a neighbour; the answer is an event. */
int netlink_resolve(struct netlink *netlink, unsigned ifindex, uint32_t address);

#endif
