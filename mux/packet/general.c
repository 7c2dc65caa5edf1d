/* SPDX-License-Identifier: Apache-2.0 */
#include "packet/general.h"

#include <rte_branch_prediction.h>
#include <rte_prefetch.h>

#include "headers/headers.h"
#include "packet/classify.h"
#include "flow/hash.h"
#include "ring/backend.h"
#include "flow/service.h"
#include "steering/methods/inline.h"
#include "steering/steering.h"

enum { AHEAD = 4 }; /* packets whose headers are fetched while earlier ones are classified */

void general_classify_one(struct burst *burst, uint32_t i)
{
	const struct rte_mbuf *mbuf = burst->mbufs[i];

	classify(burst->lookup, burst->mac, rte_pktmbuf_mtod(mbuf, const uint8_t *), mbuf->data_len, mbuf->pkt_len,
		 &burst->packets[i]);
}

void general_classify(struct burst *burst, uint32_t first, uint32_t end)
{
	if (!first)
		for (uint32_t i = 0; i < AHEAD && i < burst->count; i++)
			general_fetch(burst->mbufs[i]);
	for (uint32_t i = first; i < end; i++) {
		if (i + AHEAD < burst->count)
			general_fetch(burst->mbufs[i + AHEAD]);
		general_classify_one(burst, i);
	}
}

#define FETCH(name)                                                                                                    \
	case STEERING_##name:                                                                                          \
		name##_path.fetch(burst, i);                                                                           \
		break;

/*
 * Bucket and row of a packet whose hash is known: the bucket of the hash's low half, unless the method gives it another
 * one later. That may be by data which is published with generations, so the generation is loaded first (ring.h).
 */
static inline void find_row(struct burst *burst, uint32_t i)
{
	struct packet *packet = &burst->packets[i];
	const struct ring *ring = packet->ring;

	packet->generation = ring_generation(ring);
	if (unlikely(packet_is_by_id(packet)))
		return;
	packet->bucket = (uint32_t)packet->hash & ring->mask;
	rte_prefetch0(ring_backends(ring));
	switch (packet->service->steering) {
		STEERING_METHODS(FETCH)
	}
}

void general_find_row(struct burst *burst, uint32_t i)
{
	find_row(burst, i);
}

void general_hash_group(struct burst *burst, uint32_t first, uint32_t end, uint32_t skip)
{
	for (uint32_t i = first; i < end; i++) {
		struct packet *packet = &burst->packets[i];

		if (packet->verdict != VERDICT_SERVICE || skip >> (i - first) & 1)
			continue;
		packet->ring = service_ring(packet->service);
		rte_prefetch0(packet->ring); /* its mask is needed once the hash is known */
		if (unlikely(!packet->ring)) {
			packet->verdict = VERDICT_NO_RING;
			continue;
		}
		if (unlikely(packet->flags & PACKET_IPV6) && !(packet->flags & PACKET_HASHED))
			packet->hash = flow_hash_ipv6(packet->service, packet->addresses6, packet->key[1]);
		else if (likely(!(packet->flags & PACKET_HASHED)))
			packet->hash = flow_hash_ipv4(packet->service, packet->key);
		find_row(burst, i);
	}
}

void general_hash(struct burst *burst, uint32_t first, uint32_t end)
{
	general_hash_group(burst, first, end, 0);
}

/* The line of a packet's backend, or the verdict that says why it has none. */
static inline void find_backend(struct packet *packet)
{
	if (unlikely(!rows_have_backend(packet)) && !(packet->flags & PACKET_ELSE_BUCKET && steering_fall_back(packet)))
		packet->verdict = (uint8_t)rows_absent(packet);
	else
		rte_prefetch0(&packet->backends->rows[fl_row_current(packet->row)]);
}

#define ROWS(name)                                                                                                     \
	case STEERING_##name:                                                                                          \
		name##_path.rows(burst, i);                                                                            \
		find_backend(packet);                                                                                  \
		if (name##_path.count)                                                                                 \
			name##_path.count(burst, i);                                                                   \
		break;

void general_rows(struct burst *burst, uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++) {
		struct packet *packet = &burst->packets[i];

		if (packet->verdict != VERDICT_SERVICE)
			continue;
		switch (packet->service->steering) {
			STEERING_METHODS(ROWS)
		}
	}
}

static inline uint32_t end_of(const struct burst *burst, uint32_t first)
{
	return first + BURST_GROUP < burst->count ? first + BURST_GROUP : burst->count;
}

/* Reads a group's rows before the headers of the previous group are written. */
static inline void finish(struct burst *burst)
{
	general_rows(burst, 0, end_of(burst, 0));
	for (uint32_t first = 0; first < burst->count; first += BURST_GROUP) {
		uint32_t end = end_of(burst, first);

		if (end < burst->count)
			general_rows(burst, end, end_of(burst, end));
		headers_write(burst, first, end);
	}
}

void general_steer_classified(struct burst *burst)
{
	for (uint32_t first = 0; first < burst->count; first += BURST_GROUP)
		general_hash(burst, first, end_of(burst, first));
	finish(burst);
}

void general_steer(struct burst *burst)
{
	for (uint32_t first = 0; first < burst->count; first += BURST_GROUP) {
		general_classify(burst, first, end_of(burst, first));
		general_hash(burst, first, end_of(burst, first));
	}
	finish(burst);
}
