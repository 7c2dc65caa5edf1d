/* SPDX-License-Identifier: Apache-2.0 */
/* The packet path's stage that reads rows (burst.h): which backend a packet goes to. */
#include <rte_branch_prediction.h>
#include <rte_prefetch.h>

#include "packet/burst.h"
#include "packet/codes.h"
#include "packet/order.h"
#include "ring/backend.h"
#include "service/service.h"
#include "steering/steering.h"

static inline bool is_by_id(const struct packet *packet)
{
	return packet->flags & PACKET_BY_ID;
}

enum verdict burst_absent(const struct packet *packet)
{
	return is_by_id(packet) ? VERDICT_NO_BACKEND_ID : VERDICT_NO_BACKEND;
}

/* Loads row and backends of the packet's ring, in this order (ring.h); its generation was loaded before. */
static inline void read_row(struct packet *packet)
{
	const struct ring *ring = packet->ring;

	if (packet->flags & (PACKET_BY_ID | PACKET_STATELESS)) {
		uint32_t id = is_by_id(packet) ? packet->bucket : fl_row_current(ring_row(ring, packet->bucket));

		packet->row = lists_row_plain((uint16_t)id);
		packet->bucket = RING_BUCKET_NONE;
	} else {
		packet->row = ring_row(ring, packet->bucket);
	}
	packet->backends = ring_backends(ring);
}

static inline bool has_backend(const struct packet *packet)
{
	return fl_row_current(packet->row) != FL_BACKEND_NONE && fl_row_current(packet->row) < packet->backends->size;
}

bool burst_fall_back(struct packet *packet)
{
	packet->ring = service_ring(packet->service);
	packet->flags &= (uint8_t) ~(PACKET_BY_ID | PACKET_ELSE_BUCKET);
	packet->generation = ring_generation(packet->ring);
	packet->bucket = steerings[packet->service->steering]->bucket(packet->service, packet->ring, packet->hash);
	read_row(packet);
	return has_backend(packet);
}

/* The same for both buckets of a packet. */
static inline void read_rows(struct packet *packet)
{
	/* one ring, and backends at least as new as either row */
	fl_row row = ring_row(packet->ring, packet->second);

	read_row(packet);
	packet->second_row = burst_known_row(row, packet->backends);
	rte_prefetch0(&packet->backends->rows[fl_row_current(packet->second_row)]);
}

/* The line of a packet's backend, or the verdict that says why it has none. */
static inline void find_backend(struct packet *packet)
{
	if (unlikely(!has_backend(packet)) && !(packet->flags & PACKET_ELSE_BUCKET && burst_fall_back(packet)))
		packet->verdict = (uint8_t)burst_absent(packet);
	else
		rte_prefetch0(&packet->backends->rows[fl_row_current(packet->row)]);
}

/* Rows of packets if some of them look up codes in othello's arrays. */
static inline void find_coded_rows(struct burst *burst, uint32_t first, uint32_t end)
{
	uint32_t seconds = burst->seconds;

	for (uint32_t i = first; i < end; i++) {
		struct packet *packet = &burst->packets[i];

		if (packet->verdict != VERDICT_SERVICE)
			continue;
		if (burst->coded >> i & 1 && codes_choose(packet))
			seconds |= 1U << i;
		if (seconds >> i & 1)
			read_rows(packet);
		else
			read_row(packet);
		find_backend(packet);
	}
	burst->seconds = seconds;
}

/* Rows of packets if some of them have a second bucket. */
static inline void find_rows(struct burst *burst, uint32_t first, uint32_t end)
{
	const uint32_t seconds = burst->seconds;

	for (uint32_t i = first; i < end; i++) {
		struct packet *packet = &burst->packets[i];

		if (packet->verdict != VERDICT_SERVICE)
			continue;
		if (likely(seconds >> i & 1))
			read_rows(packet);
		else
			read_row(packet);
		find_backend(packet);
	}
}

/*
 * The same for a group whose packets have two buckets of one ring: what they share is read once. maat: orders them and
 * counts for its loads; NULL: none does.
 */
static __attribute__((always_inline)) inline void find_alike_rows(struct burst *burst, uint32_t first,
								  const struct maat *maat)
{
	struct packet *packets = &burst->packets[first];
	const struct ring *ring = packets[0].ring;
	const struct backends *backends;
	uint32_t asked = 0;

	for (uint32_t i = 0; i < BURST_GROUP; i++) {
		struct packet *packet = &packets[i];

		if (maat) /* before the second row takes the place of the cell's address */
			asked |= (uint32_t)(order_may_be_noted(packet) || packet->flags & PACKET_SYN) << i;
		packet->row = ring_row(ring, packet->bucket);
		packet->second_row = ring_row(ring, packet->second);
	}
	backends = ring_backends(ring); /* at least as new as all rows */
	for (uint32_t i = 0; i < BURST_GROUP; i++) {
		struct packet *packet = &packets[i];

		packet->backends = backends;
		packet->second_row = burst_known_row(packet->second_row, backends);
		if (maat && unlikely(asked >> i & 1))
			order_rows(burst, first + i, packet);
		rte_prefetch0(&backends->rows[fl_row_current(packet->second_row)]);
		find_backend(packet);
		if (maat)
			order_count(burst, maat, packet);
	}
}

/* Sets the buckets of coded packets beside ordered ones. */
static __attribute__((noinline)) void choose_codes(struct burst *burst, uint32_t coded)
{
	for (; coded; coded &= coded - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(coded);

		burst->seconds |= (uint32_t)codes_choose(&burst->packets[i]) << i;
	}
}

/* Rows of packets if some of them belong to services that choose by load. */
static __attribute__((noinline)) void find_ordered_rows(struct burst *burst, uint32_t first, uint32_t end)
{
	const uint32_t coded = burst->coded & (uint32_t)GROUP_BITS << first, ordered = burst->ordered;
	uint32_t seconds;

	if (unlikely(coded))
		choose_codes(burst, coded);
	seconds = burst->seconds;
	for (uint32_t i = first; i < end && i < BURST_MAX; i++) { /* the second condition is for the compiler */
		struct packet *packet = &burst->packets[i];
		const bool is_ordered = ordered >> i & 1;
		bool may_be_noted;

		if (packet->verdict != VERDICT_SERVICE)
			continue;
		if (likely(seconds >> i & 1)) {
			may_be_noted = is_ordered && order_may_be_noted(packet);
			read_rows(packet);
			if (unlikely(may_be_noted || packet->flags & PACKET_SYN) && is_ordered)
				order_rows(burst, i, packet);
		} else {
			read_row(packet);
		}
		find_backend(packet);
		if (likely(is_ordered))
			order_count(burst, service_steering_data(packet->service), packet);
	}
}

void burst_rows(struct burst *burst, uint32_t first, uint32_t end)
{
	if (burst->alike >> first & 1) {
		const struct maat *maat = maat_of(burst->packets[first].service);

		if (maat)
			find_alike_rows(burst, first, maat);
		else
			find_alike_rows(burst, first, NULL);
		return;
	}
	if (unlikely(burst->ordered >> first & GROUP_BITS)) {
		find_ordered_rows(burst, first, end);
		return;
	}
	if (burst->coded >> first & GROUP_BITS) {
		find_coded_rows(burst, first, end);
		return;
	}
	if (burst->seconds >> first & GROUP_BITS) {
		find_rows(burst, first, end);
		return;
	}
	for (uint32_t i = first; i < end; i++) {
		struct packet *packet = &burst->packets[i];

		if (packet->verdict != VERDICT_SERVICE)
			continue;
		read_row(packet);
		find_backend(packet);
	}
}
