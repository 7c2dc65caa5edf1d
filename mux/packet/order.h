/* SPDX-License-Identifier: Apache-2.0 */
/* Which of a packet's two buckets is first, with steering `maat`: inline in the packet path. */
#ifndef FAIRLEAD_MUX_ORDER_H
#define FAIRLEAD_MUX_ORDER_H

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>

#include "packet/burst.h"
#include "packet/transport.h"
#include "steering/maat/maat.h"

/* As soon as the packet's hash is known: prefetches the first cell, which for most packets says that it is not noted. */
static inline void order_fetch(const struct maat *maat, struct packet *packet)
{
	packet->noted = maat->cells + (maat_filter_place(packet->hash).at & maat->cells_mask);
	__builtin_prefetch(packet->noted);
}

/* Before its rows are read. */
static inline bool order_may_be_noted(const struct packet *packet)
{
	return __atomic_load_n(packet->noted, __ATOMIC_RELAXED) & MAAT_FILTER_COUNT_MAX;
}

static inline void order_exchange(struct packet *packet)
{
	uint64_t row = packet->row;
	uint32_t bucket = packet->bucket;

	packet->row = packet->second_row;
	packet->bucket = packet->second;
	packet->second_row = burst_known_row(row, packet->backends);
	packet->second = bucket;
}

/* Of a TCP segment; an ICMP error ends nothing. */
static inline bool order_has(const struct packet *packet, const struct rte_mbuf *mbuf, uint8_t flags)
{
	return !(packet->flags & PACKET_QUOTE) &&
	       packet->at_l4 + TRANSPORT_AT_TCP_FLAGS < packet->at_ip + packet->ip_len &&
	       rte_pktmbuf_mtod(mbuf, const uint8_t *)[packet->at_l4 + TRANSPORT_AT_TCP_FLAGS] & flags;
}

/* A new connection goes to the less loaded owner. True: to the second one's. */
static inline bool order_open(const struct maat *maat, const struct packet *packet)
{
	if (maat_filter_has(maat->filter, packet->hash)) /* its SYN was lost or is repeated */
		return true;
	if (!maat_loads_prefer_second(maat->loads, fl_row_current(packet->row), fl_row_current(packet->second_row)))
		return false;
	maat_filter_add(maat->filter, packet->hash);
	return true;
}

/* Of a SYN, or of a packet that may be noted, once both rows are read. */
static inline void order_rows(struct burst *burst, uint32_t i, struct packet *packet)
{
	const struct maat *maat = maat_of(packet->service);
	bool is_second;

	if (backend_state(&packet->backends->rows[fl_row_current(packet->second_row)]) != BACKEND_READY)
		return; /* the first one's owner may reach it */
	if (unlikely(packet->flags & PACKET_SYN)) {
		is_second = order_open(maat, packet);
		burst->second_syns += is_second;
	} else {
		is_second = maat_filter_has(maat->filter, packet->hash);
		if (unlikely(is_second && order_has(packet, burst->mbufs[i], TRANSPORT_TCP_FIN | TRANSPORT_TCP_RST)))
			maat_filter_remove(maat->filter, packet->hash);
	}
	if (is_second) {
		order_exchange(packet);
		burst->second_first++;
	}
}

/* What a packet adds to its backend's load, if that is not one. */
static inline uint32_t order_amount(const struct packet *packet, uint32_t load)
{
	return load == MAAT_BYTES ? packet->ip_len : !!(packet->flags & PACKET_SYN);
}

/* Adds a packet to its backend's load, in the service's unit. Without a backend it counts for FL_BACKEND_NONE. */
static inline void order_count(const struct burst *burst, const struct maat *maat, const struct packet *packet)
{
	uint32_t by = maat->settings.load == MAAT_PACKETS ? 1 : order_amount(packet, maat->settings.load);

	maat_loads_count(maat->counts, burst->worker, fl_row_current(packet->row), by);
}

#endif
