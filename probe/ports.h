/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source ports of probes. A packet in the tunnel shows nothing of its backend but its source port, so a port is one
 * probe's at a time, and rests before the next one gets it: what a backend sends late must not reach another's probe.
 * The port that has rested longest is next. Both families have the same ports.
 *
 * A port keeps its way to the last probe's backend while it rests: what the kernel sends late, such as the reset of a
 * closed connection, belongs there.
 */
#ifndef FAIRLEAD_PROBE_PORTS_H
#define FAIRLEAD_PROBE_PORTS_H

#include "wrap.h"

enum {
	PORTS_REST_MS = 2000,
	PORTS_REST_UDP_MS = 5000, /* nothing but the port tells a datagram's probe */
};

struct ports;

/* Where packets with a source port go. A copy: the backend may be gone by then. */
struct port_path {
	struct fl_address vip;
	uint16_t port;
	uint8_t protocol; /* 0: nowhere yet */
	struct fl_siphash_key key;
	struct wrap wrap; /* its key is the one above */
};

/* Ports first .. last, host order. NULL: no memory. */
struct ports *ports_new(uint16_t first, uint16_t last);
void ports_free(struct ports *ports);

/* A port for owner; 0: none is free now. */
uint16_t ports_take(struct ports *ports, void *owner, uint64_t now_ms);
/* Returns it, to rest for so long. */
void ports_give(struct ports *ports, uint16_t port, uint64_t now_ms, uint32_t rest_ms);
/* Whose a port is; NULL: it has no owner. */
void *ports_owner(const struct ports *ports, uint16_t port);
/* The way of a port; NULL: it is none of these. Filled in by its owner. */
struct port_path *ports_path(struct ports *ports, uint16_t port);
/* How many are taken. */
uint32_t ports_taken(const struct ports *ports);

#endif
