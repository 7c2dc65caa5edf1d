/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steering `othello` in the general path (methods/inline.h): buckets by arrays of codes (pair.h), in two steps. Right after
 * hashing the cells are prefetched; codes are read where rows are, while other groups' packets were in between.
 */
#ifndef FAIRLEAD_MUX_OTHELLO_PATH_H
#define FAIRLEAD_MUX_OTHELLO_PATH_H

#include "steering/hunt/hunt_path.h"
#include "steering/othello/pair.h"

/* Prefetches the cells of a hash, and keeps their places. */
static inline void othello_path_fetch_cells(const struct othello_arrays *arrays, uint64_t hash, uint32_t kept[2])
{
	struct othello_places at = othello_arrays_places(arrays, hash);
	const uint64_t bits = arrays->bits;

	rte_prefetch0(arrays->cells + at.a * bits / 8);
	rte_prefetch0(arrays->cells + at.b * bits / 8);
	kept[0] = at.a;
	kept[1] = at.b;
}

static inline uint32_t othello_path_code(const struct othello_arrays *arrays, const uint32_t kept[2])
{
	return othello_arrays_code(arrays, (struct othello_places){kept[0], kept[1]});
}

/*
 * A SYN has no second bucket: its owner would open a connection where only the arrays before lead, which is lost as they
 * are dropped.
 */
static inline void othello_path_fetch(struct burst *burst, uint32_t i)
{
	struct packet *packet = &burst->packets[i];
	const struct othello_pair *pair = othello_pair_of(packet->service);

	packet->codes = pair;
	if (unlikely(!pair)) { /* as long as there are no arrays, the bucket is that of the hash's low half */
		ring_path_fetch(burst, i);
		return;
	}
	burst->seconds |= (uint32_t)(hunt_may_pass(packet) && !(packet->flags & PACKET_SYN)) << i;
	othello_path_fetch_cells(pair->newest, packet->hash, packet->cells); /* ends the packet's key */
	if (pair->previous)
		othello_path_fetch_cells(pair->previous, packet->hash, packet->cells + 2);
}

static inline void othello_path_choose(struct packet *packet)
{
	const struct othello_pair *pair = packet->codes;
	uint32_t first = othello_path_code(pair->newest, packet->cells), second = first;

	if (pair->previous)
		second = othello_path_code(pair->previous, packet->cells + 2);
	else if (unlikely(pair->low_bits))
		second = packet->bucket;
	packet->bucket = first;
	packet->second = second;
}

static inline void othello_path_rows(struct burst *burst, uint32_t i)
{
	struct packet *packet = &burst->packets[i];

	if (likely(!packet_is_by_id(packet) && packet->codes)) {
		othello_path_choose(packet);
		burst->seconds &= ~((uint32_t)(packet->second == packet->bucket) << i);
	}
	rows_read_both(packet, burst->seconds >> i & 1);
}

static const struct path_method othello_path = {.fetch = othello_path_fetch, .rows = othello_path_rows};

#endif
