/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of steering othello for mux_packet: random cells, as many as the controller's for so many connections. */
#ifndef FAIRLEAD_BENCH_RANDOM_PAIR_H
#define FAIRLEAD_BENCH_RANDOM_PAIR_H

#include <fairlead/types.h>

struct othello_pair;

/*
 * count: 0, NULL; 1, the newest alone; 2, also those before: one in `news` cells differs, or with 0 the seeds do, and so
 * nearly each packet has a second bucket.
 */
struct othello_pair *random_pair_new(uint32_t count, uint32_t news, uint32_t connections, uint32_t buckets,
				     uint64_t seed);

#endif
