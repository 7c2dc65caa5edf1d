/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ports of SWX for the P4 mux, over ports of DPDK. SWX's own tell a program neither a frame's length nor keep its parser
 * within the frame. These put the length in front of each frame (README.md, arrival header), and let only buffers into
 * the pipeline that have room for all that it reads and writes.
 *
 * A port belongs to the thread that runs its pipeline.
 */
#ifndef FAIRLEAD_P4_PORT_H
#define FAIRLEAD_P4_PORT_H

#include <stdbool.h>
#include <stdint.h>

struct rte_swx_pipeline;

enum p4_port_numbers {
	P4_PORT_WIRES = 4,     /* output ports 0 to 3; input ports likewise */
	P4_PORT_EXCEPTION = 4, /* output port of what arrived by wire port 0; the others follow */
	P4_PORT_DROP = 8,
	P4_PORTS_OUT = 9,
	P4_PORT_NONE = 0xffff,

	P4_PORT_ARRIVAL_LEN = 8,
	P4_PORT_HEADROOM = 112, /* arrival header, and the longest outer header less Ethernet */
	P4_PORT_READABLE = 128, /* from the frame's start: all headers that the parser may read */
	P4_PORT_BURST = 32,
};

/* Names of the types, for rte_swx_pipeline_port_in_config() and its like. */
#define P4_PORT_IN      "fairlead_in"
#define P4_PORT_OUT     "fairlead_out"
#define P4_PORT_NOWHERE "fairlead_nowhere"

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
 * Registers the three types with a pipeline, before its ports are configured. Parameters of P4_PORT_IN and P4_PORT_OUT
 * are the structs above; P4_PORT_NOWHERE has none (a pointer to anything). 0 or a negative errno.
 */
int p4_ports_register(struct rte_swx_pipeline *pipeline);

#endif
