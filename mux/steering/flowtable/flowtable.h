/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steering `flowtable`: a stateful mux like Ananta's and Maglev's, which the Beamer paper compares its own with
 * (sections 2 and 6.1). A flow's first packet goes to its bucket's backend; the mux remembers the backend and sends
 * later packets there, even if the bucket moves. Such a packet has no candidates, so no server sends it on.
 *
 *	flow_cuckoo.h	16 bytes (IPv6: 40) of the connection's key -> service u16, backend u16 | last packet u32
 *
 * Each worker has a table that only it reads and writes: nothing is shared, and a flow that moves to another worker or
 * mux is forgotten, which is this method's weakness. It exists for comparison: same packets, classification, hash (the
 * table's, too) and headers; the keys of a burst are looked up together.
 *
 * Bounds: `flows` entries of each family. If the table is full, a new flow is steered by its bucket, as with steering
 * `ring`. An entry expires after FLOWTABLE_IDLE seconds without a packet; each burst checks a bucket of eight, and one
 * more for each new flow. ICMPv6 errors have a hash but no key and are steered by their bucket. Fragments use the table of the
 * worker where they meet.
 */
#ifndef FAIRLEAD_MUX_FLOWTABLE_H
#define FAIRLEAD_MUX_FLOWTABLE_H

#include "steering/steering.h"

enum { FLOWTABLE_IDLE = 300 }; /* seconds */

/* `start` makes a table for --flows flows of each family: of DPDK's memory, 28 bytes a slot (IPv6: 52). */
extern const struct steering steering_flowtable;

/* The number of flows in a worker's table. */
uint32_t flowtable_count(const void *state);

#endif
