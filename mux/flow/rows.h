/* SPDX-License-Identifier: Apache-2.0 */
/* How the general path reads a packet's rows (packet/burst.h): inline in the stage and in steering methods. */
#ifndef FAIRLEAD_MUX_FLOW_ROWS_H
#define FAIRLEAD_MUX_FLOW_ROWS_H

#include <rte_prefetch.h>

#include "flow/packet.h"
#include "ring/backend.h"
#include "ring/lists.h"
#include "ring/ring.h"

static inline bool packet_is_by_id(const struct packet *packet)
{
	return packet->flags & PACKET_BY_ID;
}

/* A row without an owner that the table does not have. */
static inline uint64_t rows_known(uint64_t row, const struct backends *backends)
{
	return fl_row_current(row) < backends->size ? row : row & ~(uint64_t)UINT16_MAX;
}

/* Loads row and backends of the packet's ring, in this order (ring.h); its generation was loaded before. */
static inline void rows_read(struct packet *packet)
{
	const struct ring *ring = packet->ring;

	if (packet->flags & (PACKET_BY_ID | PACKET_STATELESS)) {
		uint32_t id = packet_is_by_id(packet) ? packet->bucket : fl_row_current(ring_row(ring, packet->bucket));

		packet->row = lists_row_plain((uint16_t)id);
		packet->bucket = RING_BUCKET_NONE;
	} else {
		packet->row = ring_row(ring, packet->bucket);
	}
	packet->backends = ring_backends(ring);
}

/* The same for both buckets of a packet, if it has two. */
static inline void rows_read_both(struct packet *packet, bool has_second)
{
	fl_row row;

	if (!has_second) {
		rows_read(packet);
		return;
	}
	row = ring_row(packet->ring, packet->second); /* one ring, and backends at least as new as either row */
	rows_read(packet);
	packet->second_row = rows_known(row, packet->backends);
	rte_prefetch0(&packet->backends->rows[fl_row_current(packet->second_row)]);
}

/* Whether a packet whose rows are read has a backend. */
static inline bool rows_have_backend(const struct packet *packet)
{
	return fl_row_current(packet->row) != FL_BACKEND_NONE && fl_row_current(packet->row) < packet->backends->size;
}

/* The verdict of one that has none. */
static inline enum verdict rows_absent(const struct packet *packet)
{
	return packet_is_by_id(packet) ? VERDICT_NO_BACKEND_ID : VERDICT_NO_BACKEND;
}

/* Whether a packet's header has what its row says beside the owner. */
static inline bool packet_is_moved(const struct packet *packet)
{
	return packet->row >> 16 && !(packet->flags & PACKET_SYN);
}

#endif
