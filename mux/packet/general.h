/* SPDX-License-Identifier: Apache-2.0 */
/* The general path: what is right of all packets, by stages (packet/burst.h). Lanes call it for the packets that leave them. */
#ifndef FAIRLEAD_MUX_GENERAL_H
#define FAIRLEAD_MUX_GENERAL_H

#include <rte_prefetch.h>

#include "flow/burst.h"

/* The packet's first bytes, and the room in front where its outer header will be written. */
static inline void general_fetch(const struct rte_mbuf *mbuf)
{
	const uint8_t *data = rte_pktmbuf_mtod(mbuf, const uint8_t *);

	rte_prefetch0(data);
	rte_prefetch0(data - RTE_CACHE_LINE_SIZE);
}

/* All stages for all packets, and those behind classification. */
void general_steer(struct burst *burst);
void general_steer_classified(struct burst *burst);

/* One stage for packets first to end - 1, at most BURST_GROUP; the last one is headers_write(). */
void general_classify(struct burst *burst, uint32_t first, uint32_t end);
void general_hash(struct burst *burst, uint32_t first, uint32_t end);
void general_rows(struct burst *burst, uint32_t first, uint32_t end);

void general_classify_one(struct burst *burst, uint32_t i);

/* general_hash() of packets whose hash is not known; skip: a bit for each of the others. */
void general_hash_group(struct burst *burst, uint32_t first, uint32_t end, uint32_t skip);

/* Bucket and row of a packet whose ring and hash are known. */
void general_find_row(struct burst *burst, uint32_t i);

#endif
