/* SPDX-License-Identifier: Apache-2.0 */
/* Where packets to an address go: resolved by neighbour.h, put into templates by backend.h. */
#ifndef FAIRLEAD_MUX_NEXT_HOP_H
#define FAIRLEAD_MUX_NEXT_HOP_H

#include <fairlead/types.h>

struct next_hop {
	bool resolved; /* else the rest is zero */
	bool loop;     /* the address is a VIP or a mux: never send there; not resolved */
	uint8_t port;  /* DPDK port id */
	uint16_t mtu;  /* of that port and the route, without the Ethernet header */
	uint16_t vlan; /* VLAN tag of frames sent there; 0: none */
	uint8_t source_mac[6];
	uint8_t mac[6];
	struct fl_address source; /* outer source address, of the destination's family */
};

/* Looks next hops up; lookup may start a resolution, whose result arrives later (tables_refresh). */
struct next_hops {
	void *context;
	void (*lookup)(void *context, const struct fl_address *address, struct next_hop *out);
};

#endif
