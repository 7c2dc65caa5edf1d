/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which addresses this mux cannot do without. A VIP with one of them would be routed into the mux's own device
 * (announce.h), and so cut it off from ZooKeeper, from its BGP neighbours or from those that it sends to.
 *
 *	own		--address or the port's, and what the kernel sends from to the others
 *	zookeeper	the servers of --zookeeper, and where connections to their ports go
 *	bgp		the other ends of TCP connections with port 179, as the kernel lists them
 *	next_hop	gateways of the routes to these, to backends and to other muxes
 *
 * What is no longer seen stays for a while: a BGP neighbour is down while its router is replaced, and must not become a
 * VIP meanwhile. Control thread only.
 */
#ifndef FAIRLEAD_MUX_NEEDS_H
#define FAIRLEAD_MUX_NEEDS_H

#include <fairlead/types.h>

#include "config/reason.h"

enum needs_numbers {
	NEEDS_MAX = 1024,
	NEEDS_KEPT_SECONDS = 3600,   /* after it was last seen */
	NEEDS_HOP_KEPT_SECONDS = 60, /* of next hops and sources, which follow routes */
	NEEDS_BGP_PORT = 179,
};

enum need_kind {
	NEED_NONE,
	NEED_OWN,
	NEED_ZOOKEEPER,
	NEED_BGP,
	NEED_NEXT_HOP,
	NEED_KINDS,
};

struct need {
	struct fl_address address;
	enum need_kind kind;
	uint64_t seen; /* seconds of the monotonic clock */
};

struct needs;
struct neighbours;

/*
 * Looks the names of the servers up: waits for DNS if they are no addresses. own, own6: none is allowed. neighbours:
 * NULL: no routes are followed. NULL and why: no memory, no sockets, or a server has no HOST:PORT.
 */
struct needs *needs_new(const char *zookeeper, const struct fl_address *own, const struct fl_address *own6,
			struct neighbours *neighbours, struct reason *why);
/* NULL is allowed. */
void needs_free(struct needs *needs);

/* Looks again, about once a second. Whether an address was added, has another kind, or is gone. */
bool needs_refresh(struct needs *needs, uint64_t now_ms);

/* What the address is needed for; NEED_NONE: nothing. */
enum need_kind needs_of(const struct needs *needs, const struct fl_address *address);

/* All of them, in no particular order. */
const struct need *needs_list(const struct needs *needs, unsigned *count);

/* "own", "zookeeper", "bgp", "next_hop". */
const char *need_name(enum need_kind kind);

#endif
