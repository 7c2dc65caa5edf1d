/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which VIPs this mux attracts. Each announced service has a TUN device `fl<service id>` that carries a host route to
 * each of its VIPs; FRR redistributes routes of that protocol number to the routers.
 *
 *	ring serves  ->  TUN fl1, up  ->  route 10.99.0.1/32 dev fl1 proto 199  ->  FRR  ->  BGP
 *
 * The device is not persistent: the kernel removes it and its routes when the last descriptor is closed, so a mux
 * withdraws its VIPs however it dies. Packets for a VIP that reach the kernel (a port without a service) are routed
 * into the device, where the mux reads, counts and drops them.
 */
#ifndef FAIRLEAD_MUX_ANNOUNCE_H
#define FAIRLEAD_MUX_ANNOUNCE_H

#include <sys/queue.h>

#include <fairlead/types.h>

#include "host/rtnetlink.h"

enum announce_numbers {
	ANNOUNCE_ROUTE_PROTOCOL = 199, /* FRR: `redistribute kernel` and a prefix list */
	ANNOUNCE_DRAIN_MAX = 64,       /* packets read from a device per call */
};

struct announced_device;

struct announcer {
	struct rtnetlink netlink;
	int epoll;        /* readable when announce_run() has something to do */
	uint64_t drained; /* packets that were read from devices and dropped */
	LIST_HEAD(, announced_device) devices;
};

/* Creates no device yet. NULL and errno on failure. */
struct announcer *announce_open(void);
/* Withdraws everything. */
void announce_close(struct announcer *announcer);

/*
 * Announces exactly these VIPs for the service; an empty set withdraws it. VIPs in both the old and the new set are not
 * touched. Returns 0 or -errno; after an error the service is announced as far as possible, and the call may be
 * repeated.
 */
int announce_service(struct announcer *announcer, uint32_t service, const struct fl_address *vips, unsigned count);

/* Reads and drops packets. True if another process deleted a device: its service must be announced again. */
bool announce_run(struct announcer *announcer);

#endif
