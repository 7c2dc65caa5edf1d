/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop around the C of mux.spec (translate.py). SWX's own takes turns between 16 packets at each table, and keeps
 * what it knows of them in memory. Here a packet runs from its arrival to its port, with one stop:
 *
 *	all packets of a burst: arrive, and ask the memory for their first bytes
 *	                        run_begin(), and ask for their rows of the ring
 *	                        run_end()
 *
 * A packet that never reads the ring leaves from run_begin().
 */
#include "compiled.h"

enum { RUN_BURST = 32 };

void compiled_run(struct rte_swx_pipeline *pipeline)
{
	struct run run = {.tables = pipeline->table_state, .out = pipeline->out};
	struct run_state states[RUN_BURST];
	unsigned id = 0, count;

#define RUN_REGISTER(name, entries) run.name = pipeline->regarray_runtime[id++].regarray;
	RUN_REGISTERS(RUN_REGISTER)
#undef RUN_REGISTER
	for (uint32_t wire = 0; wire < pipeline->n_ports_in; wire++) {
		const struct port_in_runtime *port = &pipeline->in[wire];

		do {
			for (count = 0; count < RUN_BURST && port->pkt_rx(port->obj, &states[count].packet); count++)
				rte_prefetch0(states[count].packet.pkt + states[count].packet.offset);
			for (unsigned i = 0; i < count; i++)
				run_begin(&run, &states[i], wire);
			for (unsigned i = 0; i < count; i++)
				if (states[i].from)
					run_end(&run, &states[i]);
		} while (count == RUN_BURST);
	}
}
