/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ports of SWX over ports of DPDK, for tests that let frames of every form into the pipeline, those in two buffers too.
 * They put the arrival header in front of each frame, and send what has no room for it by the exception port.
 *
 * A port belongs to the thread that runs its pipeline.
 */
#ifndef FAIRLEAD_P4_TESTS_RING_PORTS_H
#define FAIRLEAD_P4_TESTS_RING_PORTS_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_swx_port.h>

#include "port.h"

enum ring_port_numbers {
	P4_PORT_NONE = 0xffff,
	P4_PORT_BURST = 32,
};

/* Frames that came in, and those of them that could not enter the pipeline. */
struct p4_port_in_counts {
	uint64_t packets;
	uint64_t refused;      /* sent through the exception port, as they came */
	uint64_t refused_full; /* the same, but that port did not accept them */
};

struct p4_port_in_params {
	uint16_t port, queue;                     /* of DPDK; port P4_PORT_NONE: nothing ever arrives */
	uint16_t exception_port, exception_queue; /* port P4_PORT_NONE: refused frames are freed */
	struct p4_port_in_counts *counts;         /* written by the pipeline's thread; must outlive the pipeline */
};

struct p4_port_out_counts {
	uint64_t packets;
	uint64_t full; /* the port did not accept them */
};

struct p4_port_out_params {
	uint16_t port, queue;
	bool trim; /* cut off what is behind the IP packet; for wire ports */
	struct p4_port_out_counts *counts;
};

/*
 * The functions of the three kinds. Arguments of p4_port_in and p4_port_out are the structs above; of p4_port_nowhere,
 * which drops, its counts.
 */
extern struct rte_swx_port_in_ops p4_port_in;
extern struct rte_swx_port_out_ops p4_port_out, p4_port_nowhere;

#endif
