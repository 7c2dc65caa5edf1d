/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steering `flowtable`: the mux that Beamer's is compared with (sections 2 and 6.1), as Ananta's and Maglev's are. A
 * flow's first packet takes its bucket's backend; the backend is remembered, and later packets go there whatever
 * becomes of the bucket. Such a packet carries no bucket, so servers neither learn from it nor chain it.
 *
 *	rte_hash, cuckoo	16 bytes (IPv6: 40) of the connection's key -> position
 *	entries[position] 8	backend u16 | service u16 | last packet u32
 *
 * One table for each worker, which alone reads and writes it: nothing is shared, and a flow that moves to another
 * worker or mux is forgotten, which is what this steering is bad at. It is there to compare with: same packets, same
 * classify, hash (which the table takes as its signature) and headers, keys of a burst looked up at once.
 *
 * Bounds: `flows` of each family. With a full table a new flow goes by its bucket, as with steering `ring`. An entry
 * goes after FLOWTABLE_IDLE seconds without a packet; each burst looks at one, and one more for each flow that is new.
 * ICMPv6 errors have a hash but no key, and go by their bucket. Fragments go by the table of the worker where they meet.
 */
#ifndef FAIRLEAD_MUX_FLOWTABLE_H
#define FAIRLEAD_MUX_FLOWTABLE_H

#include "steering/steering.h"

enum { FLOWTABLE_IDLE = 300 }; /* seconds */

/* `start` makes a table for --flows flows of each family: some 50 bytes each for IPv4, 70 for IPv6, of DPDK's memory. */
extern const struct steering steering_flowtable;

/* Flows that a worker's state remembers. */
uint32_t flowtable_count(const void *state);

#endif
