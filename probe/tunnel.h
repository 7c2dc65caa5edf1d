/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way of probes to servers. Answers do not pass here: servers send them to the inner source, an address of this host.
 *
 *	socket bound to source:port --> rule: from source, look in TUNNEL_TABLE --> VIP dev flprobe --> here: wrapped,
 *	sent by a raw socket, outer source the mux's address --> server --> interface --> the same socket
 *
 * The table has routes to the VIPs of probed services alone, so the rule concerns nothing else that this host sends. The
 * device is not persistent: it and its routes vanish with the program; a rule that is left over then finds nothing.
 */
#ifndef FAIRLEAD_PROBE_TUNNEL_H
#define FAIRLEAD_PROBE_TUNNEL_H

#include "config/reason.h"
#include "wrap.h"

enum tunnel_numbers {
	TUNNEL_TABLE = 6082,    /* of routes */
	TUNNEL_PRIORITY = 6082, /* of the rules: before the main table's */
	TUNNEL_ROUTE_PROTOCOL = 199,
	TUNNEL_BATCH = 32,  /* packets read at once */
	TUNNEL_ROUNDS = 16, /* of batches in one call */
};

#define TUNNEL_DEVICE "flprobe"

/* Of packets that the kernel gave to the device. X(name, what the metric's help says) */
#define TUNNEL_COUNTERS(X)                                                                                             \
	X(sent, "sent to a server")                                                                                    \
	X(drop_other, "neither TCP nor UDP, or a fragment")                                                            \
	X(drop_no_probe, "of no probe that is under way")                                                              \
	X(drop_unroutable, "this host has no route to the server")                                                     \
	X(drop_send_failed, "the kernel did not take the packet")

struct tunnel_counters {
#define TUNNEL_COUNTER(name, help) uint64_t name;
	TUNNEL_COUNTERS(TUNNEL_COUNTER)
#undef TUNNEL_COUNTER
};

struct tunnel_events {
	/* The way of a packet; NULL: it is dropped. */
	const struct wrap *(*find)(void *context, const struct wrap_flow *flow);
	/* There is no route to the packet's server. */
	void (*unroutable)(void *context, const struct wrap_flow *flow);
};

struct tunnel;

/*
 * Creates device, rules and sockets. sources: the inner sources, fl_address_is_none for a family without one. Returns
 * NULL and why on failure; tunnel_close() undoes everything.
 */
struct tunnel *tunnel_open(const struct fl_address sources[2], const struct tunnel_events *events, void *context,
			   struct reason *why);
void tunnel_close(struct tunnel *tunnel);

/* Sets the VIPs that lead here. 0 or -errno: then some may be missing, and the call may be repeated. */
int tunnel_vips(struct tunnel *tunnel, const struct fl_address *vips, uint32_t count);

/* Readable when tunnel_receive() has something to do. */
int tunnel_fd(const struct tunnel *tunnel);
/* Wraps and sends what is there, at most TUNNEL_ROUNDS batches. False: another program has deleted the device. */
bool tunnel_receive(struct tunnel *tunnel);

const struct tunnel_counters *tunnel_counters(const struct tunnel *tunnel);

#endif
