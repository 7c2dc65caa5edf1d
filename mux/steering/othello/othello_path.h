/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steering `othello` in the general path (methods/path.h): buckets by arrays of codes (pair.h), in two steps. Right after
 * hashing the cells are prefetched; codes are read where rows are, while other groups' packets were in between.
 */
#ifndef FAIRLEAD_MUX_OTHELLO_PATH_H
#define FAIRLEAD_MUX_OTHELLO_PATH_H

#include "steering/hunt/hunt_path.h"
#include "steering/othello/pair.h"

/* Prefetches the cells of a set, from these arrays of so many bytes each, and keeps their places. */
static inline void othello_path_fetch_set(const struct othello_set *set, const void *a, const void *b, size_t bytes,
					  uint64_t hash, uint32_t kept[2])
{
	struct othello_places at = othello_set_places(set, hash);

	rte_prefetch0((const uint8_t *)a + at.a * bytes);
	rte_prefetch0((const uint8_t *)b + at.b * bytes);
	kept[0] = at.a;
	kept[1] = at.b;
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
	if (pair->both_a) { /* ends the packet's key, as below */
		othello_path_fetch_set(&pair->first, pair->both_a, pair->both_b, sizeof(*pair->both_a), packet->hash,
				       packet->cells);
		return;
	}
	othello_path_fetch_set(&pair->first, pair->first.a, pair->first.b, sizeof(*pair->first.a), packet->hash,
			       packet->cells);
	if (pair->previous)
		othello_path_fetch_set(&pair->second, pair->second.a, pair->second.b, sizeof(*pair->second.a),
				       packet->hash, packet->cells + 2);
}

static inline void othello_path_choose(struct packet *packet)
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
