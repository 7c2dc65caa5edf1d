/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stateful mux like Ananta's and Maglev's, which the Beamer paper compares its own with (sections 2 and 6.1). It is
 * the mux itself, with a table of flows between the stages hash and rows of its packet path (burst.h). A flow's first
 * packet goes to its bucket's backend; the table remembers the backend and sends later packets there, even if the bucket
 * moves. Such a packet has no candidates, so no server sends it on.
 *
 *	flow_cuckoo.h	16 bytes (IPv6: 40) of the connection's key -> service u16, backend u16 | last packet u32
 *
 * Each worker has a table that only it reads and writes: nothing is shared, and a flow that moves to another worker or
 * mux is forgotten, which is this method's weakness. It exists for comparison: same packets, classification, hash (the
 * table's, too) and headers; the keys of a burst are looked up together.
 *
 * Bounds: `flows` entries of each family. If the table is full, a new flow is steered by its bucket. An entry expires
 * after FLOWTABLE_IDLE seconds without a packet; each burst checks a bucket of eight, and one more for each new flow.
 * ICMPv6 errors have a hash but no key and are steered by their bucket. Fragments use the table of the worker where
 * they meet. All services have steering `ring`.
 */
#ifndef FAIRLEAD_BENCH_FLOWTABLE_H
#define FAIRLEAD_BENCH_FLOWTABLE_H

#include "config/reason.h"
#include "packet/burst.h"

struct flow_cuckoo;

enum {
	FLOWTABLE_IDLE = 300, /* seconds */
	FLOWTABLE_FLOWS_MAX = 1 << 26,
};

/* A worker's. */
struct flowtable {
	struct flow_cuckoo *ipv4;
	struct flow_cuckoo *ipv6;
};

/* For so many flows of each family: of DPDK's memory, 28 bytes a slot (IPv6: 52). NULL: no memory. */
struct flowtable *flowtable_new(unsigned worker, uint32_t flows, struct reason *why);
void flowtable_free(struct flowtable *table);

/* The stage between hash and rows, for all packets at once: where a flow is known, its backend in place of a bucket. */
void flowtable_choose(struct flowtable *table, struct burst *burst);

/* In place of burst_steer() and burst_steer_classified(). */
void flowtable_steer(struct flowtable *table, struct burst *burst);
void flowtable_steer_classified(struct flowtable *table, struct burst *burst);

#endif
