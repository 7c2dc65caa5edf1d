/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's MPTCP path manager of this network namespace: endpoints and limits, by generic netlink. */
#ifndef FAIRLEAD_ENDPOINT_H
#define FAIRLEAD_ENDPOINT_H

#include <netinet/in.h>

#include "genetlink.h"

enum endpoint_numbers {
	ENDPOINTS_MAX = 256, /* the kernel's ids are 8 bits wide */
};

/* An address and port that the kernel announces to clients and listens on. */
struct endpoint {
	unsigned char id; /* the kernel's */
	struct in_addr address;
	in_port_t port; /* host order */
	fl_u32 flags;   /* as the kernel has them */
};

struct endpoints {
	unsigned int count;
	struct endpoint list[ENDPOINTS_MAX];
	unsigned int subflows; /* limit of further subflows per connection */
	unsigned int accepted; /* limit of addresses that this host accepts from peers */
};

/* Each returns 0 or a negative errno, the kernel's own included. */

/* The link is to be closed in every case. -ENOENT: the kernel has no MPTCP. */
int endpoint_open(struct genetlink *link);

/* The IPv4 endpoints that are announced with a port, and the limits. */
int endpoint_read(struct genetlink *link, struct endpoints *out);
int endpoint_add(struct genetlink *link, struct in_addr address, in_port_t port);
int endpoint_remove(struct genetlink *link, const struct endpoint *endpoint);
int endpoint_limit(struct genetlink *link, unsigned int subflows, unsigned int accepted);

#endif
