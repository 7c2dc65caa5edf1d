/* SPDX-License-Identifier: Apache-2.0 */
#include "burst.h"

#include <rte_prefetch.h>

#include "encap.h"
#include "hash.h"

enum { AHEAD = 4 }; /* packets whose headers are fetched while earlier ones are classified */

static inline const uint8_t *bytes_of(const struct rte_mbuf *mbuf)
{
	return rte_pktmbuf_mtod(mbuf, const uint8_t *);
}

void burst_classify(struct burst *burst)
{
	for (uint32_t i = 0; i < burst->count && i < AHEAD; i++)
		rte_prefetch0(bytes_of(burst->mbufs[i]));
	for (uint32_t i = 0; i < burst->count; i++) {
		const struct rte_mbuf *mbuf = burst->mbufs[i];

		if (i + AHEAD < burst->count)
			rte_prefetch0(bytes_of(burst->mbufs[i + AHEAD]));
		classify(burst->lookup, burst->mac, bytes_of(mbuf), mbuf->data_len, mbuf->pkt_len, &burst->packets[i]);
	}
}

static inline bool is_by_id(const struct packet *packet)
{
	return packet->bucket == FL_STEER_BUCKET_NONE;
}

static inline enum verdict absent(const struct packet *packet)
{
	return is_by_id(packet) ? VERDICT_NO_BACKEND_ID : VERDICT_NO_BACKEND;
}

void burst_hash(struct burst *burst)
{
	for (uint32_t i = 0; i < burst->count; i++) {
		struct packet *packet = &burst->packets[i];

		if (packet->verdict != VERDICT_SERVICE)
			continue;
		packet->ring = service_ring(packet->service);
		if (!packet->ring) {
			packet->verdict = VERDICT_NO_RING;
			continue;
		}
		packet->hash = hash_connection(packet->service, packet->key);
		if (is_by_id(packet))
			continue;
		packet->bucket = packet->hash & packet->ring->mask;
		rte_prefetch0(&packet->ring->rows[packet->bucket]);
	}
}

void burst_rows(struct burst *burst)
{
	for (uint32_t i = 0; i < burst->count; i++) {
		struct packet *packet = &burst->packets[i];
		const struct backends *backends;

		if (packet->verdict != VERDICT_SERVICE)
			continue;
		/* generation, row, backends: in this order (ring.h) */
		packet->generation = ring_generation(packet->ring);
		if (!is_by_id(packet))
			packet->row = ring_row(packet->ring, packet->bucket);
		backends = ring_backends(packet->ring);
		if (fl_row_current(packet->row) == FL_BACKEND_NONE || fl_row_current(packet->row) >= backends->size) {
			packet->verdict = absent(packet);
			continue;
		}
		packet->backends = backends;
		rte_prefetch0(&backends->rows[fl_row_current(packet->row)]);
	}
}

/* Whether servers are told of the bucket's last move, and if so of whom. */
static inline void fill_moved(const struct packet *packet, uint32_t now, struct encap_fields *fields)
{
	uint32_t window = __atomic_load_n(&packet->service->window, __ATOMIC_RELAXED);
	const struct backend *previous;

	fields->moved = false;
	if (!fl_row_is_moved(packet->row, now, window))
		return;
	previous = backends_get(packet->backends, fl_row_previous(packet->row));
	if (!previous)
		return;
	fields->moved = true;
	fields->since = fl_row_since(packet->row);
	memcpy(fields->previous, encap_destination(previous), 4);
}

/* Rewrites one packet, or says why not. */
static inline enum verdict encap(struct burst *burst, struct rte_mbuf *mbuf, struct packet *packet)
{
	const struct backend *backend = &packet->backends->rows[fl_row_current(packet->row)];
	struct encap_fields fields = {
	    .inner_len = packet->ip_len,
	    .tos = packet->tos,
	    .hash = packet->hash,
	    .bucket = packet->bucket,
	    .generation = packet->generation,
	};
	uint32_t frame_len = mbuf->pkt_len, prepend;

	if (backend->state == BACKEND_ABSENT || (backend->removed && is_by_id(packet)))
		return absent(packet);
	if (backend->state != BACKEND_READY)
		return VERDICT_NO_NEIGHBOUR;
	fill_moved(packet, burst->now, &fields);
	if (encap_too_big(backend, packet->ip_len, fields.moved))
		return VERDICT_TOO_BIG;
	prepend = encap_len(fields.moved) - ENCAP_AT_IP;
	if (rte_pktmbuf_headroom(mbuf) < prepend)
		return VERDICT_NO_HEADROOM;
	/* the frame may be longer than the IP packet: Ethernet pads to 60 bytes */
	mbuf->data_off = (uint16_t)(mbuf->data_off - prepend);
	mbuf->data_len = (uint16_t)(encap_len(fields.moved) + packet->ip_len);
	mbuf->pkt_len = mbuf->data_len;
	encap_write(rte_pktmbuf_mtod(mbuf, uint8_t *), backend, &fields);
	packet->port = backend->port;
	burst->moved += fields.moved;
	burst->bytes += frame_len;
	return VERDICT_SERVICE;
}

void burst_encap(struct burst *burst)
{
	burst->moved = 0;
	burst->bytes = 0;
	for (uint32_t i = 0; i < burst->count; i++) {
		struct packet *packet = &burst->packets[i];

		if (packet->verdict == VERDICT_SERVICE)
			packet->verdict = encap(burst, burst->mbufs[i], packet);
	}
}
