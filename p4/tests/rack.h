/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The P4 mux in a test: mux.spec in DPDK's software switch, with ports that are rings, filled from the C
 * mux's own tables.
 *
 *	rack_put -> wire 0, 1 -> pipeline -> wire 0, 1      -> rack_take
 *				          -> exception 0, 1 ->
 */
#ifndef FAIRLEAD_P4_TESTS_RACK_H
#define FAIRLEAD_P4_TESTS_RACK_H

#include <rte_mbuf.h>
#include <rte_swx_ctl.h>
#include <rte_swx_pipeline.h>

#include "layout.h"
#include "ring_ports.h"
#include "service/tables.h"

#define RACK_COMPILED "compiled" /* in place of a .spec: as C, by compiled.h */

enum {
	RACK_WIRES = 2,
	RACK_OUTS = 2 * RACK_WIRES, /* wires, then their exception ports */
	RACK_FIRST_PORT = 2,        /* DPDK port id of wire 0 in the tables' next hops */
	RACK_QUEUE = 1024,
	RACK_SLOTS = 16,     /* services of a test, fewer than that */
	RACK_PRIVATE = 2112, /* bytes of each buffer for the test */
	RACK_ENTRIES = 512,
	RACK_ENTRY_MAX = 200,
};

/* An entry of a table, as text. */
struct rack_entry {
	char table[16], text[RACK_ENTRY_MAX];
};

struct rack {
	struct rte_mempool *pool;
	struct rte_swx_pipeline *pipeline;
	bool is_compiled;
	struct rte_swx_ctl_pipeline *control;
	struct rte_ring *to[RACK_WIRES], *from[RACK_OUTS];
	struct p4_port_in_counts in[RACK_WIRES];
	struct p4_port_out_counts out[RACK_OUTS], dropped;
	uint64_t put;
	struct rack_entry entries[RACK_ENTRIES];
	unsigned entries_count;
	uint32_t words, places; /* of ring and templates that are in use */
	uint32_t noted;         /* cells of noted that were in use since it was opened */
	uint32_t cells;         /* words of cells */
	bool tagged;            /* the cluster has a key */
};

/* Starts DPDK without huge pages and devices; once in a program. */
void rack_environment(void);

/* Builds the pipeline, of a .spec or RACK_COMPILED; prints what is wrong with it and ends the test otherwise. */
void rack_open(struct rack *rack, const char *spec);
void rack_close(struct rack *rack);

/* Replaces all that registers and tables hold by what the tables have. selves: the mux's own addresses. */
void rack_fill(struct rack *rack, const struct tables *tables, const struct fl_address *selves, uint32_t selves_count);

/* Writes the scores of a service with steering maat, as its loads have them now. */
void rack_score(struct rack *rack, const struct service *service);

/* Sets the clock. */
void rack_now(struct rack *rack, uint32_t now);

uint64_t rack_read(const struct rack *rack, const char *name, uint32_t at);
void rack_write(struct rack *rack, const char *name, uint32_t at, uint64_t value);

/* Packets counted since the last rack_fill(). slot: rack_slot() of a service, or 0. */
uint64_t rack_count(const struct rack *rack, uint16_t slot, unsigned verdict);

/* A service's slot in registers. */
uint16_t rack_slot(const struct service *service);

void rack_put(struct rack *rack, unsigned wire, struct rte_mbuf *mbuf);

/* Runs until all that was put has been processed. */
void rack_run(struct rack *rack);

/* What left by a wire (0, 1) or exception port (2, 3); NULL: nothing. */
struct rte_mbuf *rack_take(struct rack *rack, unsigned out);

#endif
