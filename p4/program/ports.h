/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pipeline's ports at a worker: it receives and sends itself, so a port of the pipeline is a list of packets. A
 * packet that enters gets the arrival header of p4/README.md, which never leaves.
 *
 *	burst -> in port of its wire -> program -> out port of a wire: steered, in `out`
 *						-> exception port: left, with the bytes that it came with
 *						-> drop port: freed; no program drops, unless its registers say so
 */
#ifndef FAIRLEAD_P4_PORTS_H
#define FAIRLEAD_P4_PORTS_H

#include <rte_mbuf.h>

#include "ends.h"
#include "threads/front.h"

/* A burst on its way through a pipeline: the ports read from and write to it. */
struct ports_burst {
	struct rte_mbuf *in[BURST_MAX];
	uint32_t count; /* of in */
	uint32_t next;  /* of in: the first that has not entered */
	unsigned wire;  /* that they came by */
	uint32_t left;
	struct rte_mbuf *left_mbufs[BURST_MAX];
	uint32_t steered;
	struct rte_mbuf *out[BURST_MAX];
	uint8_t out_wire[BURST_MAX];
	uint32_t dropped;
};

static inline uint32_t ports_done(const struct ports_burst *burst)
{
	return burst->left + burst->steered + burst->dropped;
}

/* Whether a packet can enter: in one buffer, and the program never reads or writes beyond it. */
bool ports_may_enter(const struct rte_mbuf *mbuf);

/* The frame's length when it entered. */
static inline uint32_t ports_frame_len(const struct rte_mbuf *mbuf)
{
	return mbuf->hash.usr;
}

/* What a port's functions get; SWX copies it. */
struct ports_end {
	struct ports_burst *burst;
	unsigned number;
	uint64_t packets;
	uint64_t bytes;
	uint64_t empty;
};

/* All ports of a pipeline on a burst: needed until the pipeline is built. */
struct ports_ends {
	struct p4_ends ends;
	struct ports_end in[P4_PORT_WIRES], out[P4_PORTS_OUT];
};

/* wires: in ports, a power of two. */
void ports_make(struct ports_ends *ports, struct ports_burst *burst, unsigned wires);

#endif
