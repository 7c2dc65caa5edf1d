/* SPDX-License-Identifier: Apache-2.0 */
/* A P4 mux in a test: tables, and pipelines that follow them, without ports; and the C mux's path, to compare with. */
#ifndef FAIRLEAD_P4_WORLD_H
#define FAIRLEAD_P4_WORLD_H

#include "frame.h"
#include "image.h"
#include "packet/burst.h"
#include "pipelines.h"

enum { WORLD_NOW = 1700000100 };

struct world {
	struct options options;
	struct ports ports; /* wire 0 is DPDK's port 2, of image_hops, wire 1 is port 3 */
	struct tables *tables;
	struct counters *counters;
	struct mux mux;
	struct front *front;
};

/* Starts DPDK without huge pages and devices; once in a program. */
void world_environment(void);

void world_open(struct world *world, unsigned workers);
void world_close(struct world *world);

struct world_sent {
	enum verdict verdict; /* the C mux's */
	bool by_wire;         /* as it sends it: by a port that is a wire, without a VLAN tag */
	bool taken;           /* by the pipeline */
};

/* Sends a frame through both: fails unless the pipeline made the same of it, or left it as it was. */
struct world_sent world_send(struct world *world, const struct frame *frame);

#endif
