/* SPDX-License-Identifier: Apache-2.0 */
/* Steering `maat` in the general path (methods/inline.h): the buckets of `hunt`, in the order of loads and filter. */
#ifndef FAIRLEAD_MUX_MAAT_PATH_H
#define FAIRLEAD_MUX_MAAT_PATH_H

#include <rte_mbuf.h>

#include "flow/transport.h"
#include "steering/hunt/hunt_path.h"
#include "steering/maat/maat.h"

/* Prefetches the filter's first cell, which for most packets says that they are not noted. */
static inline void maat_path_fetch(struct burst *burst, uint32_t i)
{
	struct packet *packet = &burst->packets[i];
	const struct maat *maat = maat_of(packet->service);

	hunt_path_fetch(burst, i);
	if (unlikely(!(burst->seconds >> i & 1)))
		return;
	packet->noted = maat->cells + (maat_filter_place(packet->hash).at & maat->cells_mask);
	rte_prefetch0(packet->noted);
}

static inline void maat_exchange(struct packet *packet)
{
	uint64_t row = packet->row;
	uint32_t bucket = packet->bucket;

	packet->row = packet->second_row;
	packet->bucket = packet->second;
	packet->second_row = rows_known(row, packet->backends);
	packet->second = bucket;
}

/* Of a TCP segment; an ICMP error ends nothing. */
static inline bool maat_has(const struct packet *packet, const struct rte_mbuf *mbuf, uint8_t flags)
{
	return !(packet->flags & PACKET_QUOTE) &&
	       packet->at_l4 + TRANSPORT_AT_TCP_FLAGS < packet->at_ip + packet->ip_len &&
	       rte_pktmbuf_mtod(mbuf, const uint8_t *)[packet->at_l4 + TRANSPORT_AT_TCP_FLAGS] & flags;
}

/* A new connection goes to the less loaded owner. True: to the second one's. */
static inline bool maat_open(const struct maat *maat, const struct packet *packet)
{
	if (maat_filter_has(maat->filter, packet->hash)) /* its SYN was lost or is repeated */
		return true;
	if (!maat_loads_prefer_second(maat->loads, fl_row_current(packet->row), fl_row_current(packet->second_row)))
		return false;
	maat_filter_add(maat->filter, packet->hash);
	return true;
}

/* Of a SYN, or of a packet that may be noted, once both rows are read: whether its second bucket comes first. */
static inline bool maat_is_second(struct burst *burst, uint32_t i, const struct maat *maat, const struct packet *packet)
{
	bool is_second;

	if (backend_state(&packet->backends->rows[fl_row_current(packet->second_row)]) != BACKEND_READY)
		return false; /* the first one's owner may reach it */
	if (unlikely(packet->flags & PACKET_SYN)) {
		is_second = maat_open(maat, packet);
		burst->second_syns += is_second;
	} else {
		is_second = maat_filter_has(maat->filter, packet->hash);
		if (unlikely(is_second && maat_has(packet, burst->mbufs[i], TRANSPORT_TCP_FIN | TRANSPORT_TCP_RST)))
			maat_filter_remove(maat->filter, packet->hash);
	}
	burst->second_first += is_second;
	return is_second;
}

static inline void maat_path_rows(struct burst *burst, uint32_t i)
{
	struct packet *packet = &burst->packets[i];
	const bool has_second = burst->seconds >> i & 1;
	bool is_asked = has_second && packet->flags & PACKET_SYN;

	if (likely(has_second)) /* its cell's address ends with the second row */
		is_asked |= __atomic_load_n(packet->noted, __ATOMIC_RELAXED) & MAAT_FILTER_COUNT_MAX;
	rows_read_both(packet, has_second);
	if (unlikely(is_asked) && maat_is_second(burst, i, maat_of(packet->service), packet))
		maat_exchange(packet);
}

/* What a packet adds to its backend's load. */
static inline uint32_t maat_amount(enum maat_load load, uint16_t ip_len, bool is_syn)
{
	if (load == MAAT_PACKETS)
		return 1;
	return load == MAAT_BYTES ? ip_len : is_syn;
}

/* Adds a packet to its backend's load, in the service's unit. Without a backend it counts for FL_BACKEND_NONE. */
static inline void maat_path_count(const struct burst *burst, uint32_t i)
{
	const struct packet *packet = &burst->packets[i];
	const struct maat *maat = maat_of(packet->service);

	maat_loads_count(maat->counts, burst->worker, fl_row_current(packet->row),
			 maat_amount(maat->settings.load, packet->ip_len, packet->flags & PACKET_SYN));
}

static const struct path_method maat_path = {
    .fetch = maat_path_fetch, .rows = maat_path_rows, .count = maat_path_count};

#endif
