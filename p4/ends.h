/* SPDX-License-Identifier: Apache-2.0 */
/* The ports of a pipeline as its user defines them: numbered as in port.h, each with functions and their argument. */
#ifndef FAIRLEAD_P4_ENDS_H
#define FAIRLEAD_P4_ENDS_H

#include <rte_swx_port.h>

#include "port.h"

struct p4_end_in {
	struct rte_swx_port_in_ops *ops;
	void *args; /* of ops->create */
};

struct p4_end_out {
	struct rte_swx_port_out_ops *ops;
	void *args;
};

struct p4_ends {
	unsigned wires; /* input ports, a power of two */
	struct p4_end_in in[P4_PORT_WIRES];
	struct p4_end_out out[P4_PORTS_OUT];
};

#endif
