/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A front takes a worker's received packets before the packet path (burst.h) does: the P4 mux has its pipeline there.
 * What it does not take goes the usual way, so a front may leave any packet at any time: that costs speed, never a
 * packet. While packets are sampled (sampler.h) a front gets none, since only the usual way can be looked into.
 *
 *	receive -> front -> steered: send
 *			 -> left: steer (burst.h) -> sample -> act -> send
 */
#ifndef FAIRLEAD_MUX_FRONT_H
#define FAIRLEAD_MUX_FRONT_H

#include "packet/counters.h"

struct rte_mbuf;

/* A worker's packets of one port, and what a front makes of them. */
struct front_burst {
	unsigned worker;
	unsigned port; /* ports[port] received them */
	uint32_t now;  /* Unix seconds */
	uint32_t count;
	struct rte_mbuf **mbufs; /* on return, the first `count` ones are left */
	uint32_t steered;        /* 0 before; of these: to be sent as they are, and counted by the worker */
	struct rte_mbuf *out[BURST_MAX];
	uint16_t leave_by[BURST_MAX];     /* DPDK's ids of ports */
	struct worker_counters *counters; /* the front counts by service, and bytes and moved; not verdicts */
};

struct front {
	/* Called by the worker's thread, between two of its quiescent states (publication.h). */
	void (*take)(struct front *front, struct front_burst *burst);

	const char *mode; /* for the log and metrics: how it runs */
};

#endif
