/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buckets of packets by the arrays of steering `othello` (steering/othello/othello.h), in two steps: right after hashing
 * the cells are prefetched, and a group's codes are read where its rows are, while other groups' packets were in
 * between. Inline in the packet path: by calls for each group and their loops a packet took 3 ns more.
 */
#ifndef FAIRLEAD_MUX_CODES_H
#define FAIRLEAD_MUX_CODES_H

#include <rte_branch_prediction.h>

#include "packet/packet.h"
#include "steering/othello/pair.h"

/* Prefetches the cells of one set and keeps their places. */
static inline void codes_fetch_set(const struct othello_set *set, uint64_t hash, uint32_t kept[2])
{
	struct othello_places at = othello_set_places(set, hash);

	__builtin_prefetch(&set->a[at.a]);
	__builtin_prefetch(&set->b[at.b]);
	kept[0] = at.a;
	kept[1] = at.b;
}

/* Prefetches a packet's cells and keeps their places; false: its service has no arrays yet. */
static inline bool codes_fetch(struct packet *packet)
{
	const struct othello_pair *pair = othello_pair_of(packet->service);

	if (unlikely(!pair))
		return false;
	packet->codes = pair;
	if (pair->both_a) {
		struct othello_places at = othello_set_places(&pair->first, packet->hash);

		__builtin_prefetch(&pair->both_a[at.a]);
		__builtin_prefetch(&pair->both_b[at.b]);
		packet->cells[0] = at.a;
		packet->cells[1] = at.b;
		return true;
	}
	codes_fetch_set(&pair->first, packet->hash, packet->cells);
	if (pair->previous)
		codes_fetch_set(&pair->second, packet->hash, packet->cells + 2);
	return true;
}

/*
 * Sets the bucket of a packet whose cells were fetched; true: a second one, too. Not of a SYN: the second one's owner would
 * open a connection where only the arrays before lead, which is lost as they are dropped.
 */
static inline bool codes_choose(struct packet *packet)
{
	const struct othello_pair *pair = packet->codes;
	uint32_t first, second;

	if (pair->both_a) {
		uint32_t both = pair->both_a[packet->cells[0]] ^ pair->both_b[packet->cells[1]];

		first = both & 0xffff;
		second = both >> 16;
	} else {
		first = second = pair->first.a[packet->cells[0]] ^ pair->first.b[packet->cells[1]];
		if (pair->previous)
			second = pair->second.a[packet->cells[2]] ^ pair->second.b[packet->cells[3]];
		else if (unlikely(pair->low_bits))
			second = packet->bucket;
	}
	packet->bucket = first;
	packet->second = second;
	return second != first && !(packet->flags & PACKET_SYN);
}

#endif
