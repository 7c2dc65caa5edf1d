/* SPDX-License-Identifier: Apache-2.0 */
#include "packet/burst.h"

#include <rte_branch_prediction.h>
#include <rte_prefetch.h>

#include "encap/gue.h"
#include "packet/classify.h"
#include "packet/flow_hash.h"
#include "packet/flow_hash_batch.h"
#include "packet/mss.h"
#include "ring/backend.h"
#include "steering/steering.h"

enum { AHEAD = 4 }; /* packets whose headers are fetched while earlier ones are classified */

_Static_assert((int)BURST_GROUP == (int)FLOW_HASH_BATCH_MAX, "a group's hashes are computed at once");

static inline const uint8_t *bytes_of(const struct rte_mbuf *mbuf)
{
	return rte_pktmbuf_mtod(mbuf, const uint8_t *);
}

/* The packet's first bytes, and the room in front where its outer header will be written. */
static inline void fetch(const struct rte_mbuf *mbuf)
{
	rte_prefetch0(bytes_of(mbuf));
	rte_prefetch0(bytes_of(mbuf) - RTE_CACHE_LINE_SIZE);
}

void burst_classify(struct burst *burst, uint32_t first, uint32_t end)
{
	if (!first)
		for (uint32_t i = 0; i < AHEAD && i < burst->count; i++)
			fetch(burst->mbufs[i]);
	for (uint32_t i = first; i < end; i++) {
		const struct rte_mbuf *mbuf = burst->mbufs[i];

		if (i + AHEAD < burst->count)
			fetch(burst->mbufs[i + AHEAD]);
		classify(burst->lookup, burst->mac, bytes_of(mbuf), mbuf->data_len, mbuf->pkt_len, &burst->packets[i]);
	}
}

static inline bool is_by_id(const struct packet *packet)
{
	return packet->flags & PACKET_BY_ID;
}

static inline enum verdict absent(const struct packet *packet)
{
	return is_by_id(packet) ? VERDICT_NO_BACKEND_ID : VERDICT_NO_BACKEND;
}

/*
 * Bucket and row of a packet whose hash is known: the bucket of the hash's low half, as most methods use it, unless the
 * method chooses later.
 */
static inline void find_row(struct burst *burst, uint32_t i)
{
	struct packet *packet = &burst->packets[i];

	if (is_by_id(packet))
		return;
	packet->bucket = (uint32_t)packet->hash & packet->ring->mask;
	rte_prefetch0(ring_backends(packet->ring));
	if (unlikely(packet->service->chooses)) {
		burst->choosing |= 1U << i;
		burst->methods |= 1U << packet->service->steering;
		return;
	}
	rte_prefetch0(&packet->ring->rows[packet->bucket]);
}

/* Copies each lane's hash to its packet: at[lane] is the packet's number. */
static inline void take_hashes(struct burst *burst, const struct flow_hash_batch *batch,
			       const uint8_t at[FLOW_HASH_BATCH_MAX])
{
	for (uint32_t i = 0; i < batch->count; i++) {
		burst->packets[at[i]].hash = batch->hash[i];
		find_row(burst, at[i]);
	}
}

void burst_hash(struct burst *burst, uint32_t first, uint32_t end)
{
	struct flow_hash_batch siphash, crc32;
	uint8_t siphash_at[FLOW_HASH_BATCH_MAX], crc32_at[FLOW_HASH_BATCH_MAX];

	siphash.count = crc32.count = 0;
	for (uint32_t i = first; i < end; i++) {
		struct packet *packet = &burst->packets[i];

		if (packet->verdict != VERDICT_SERVICE)
			continue;
		packet->ring = service_ring(packet->service);
		rte_prefetch0(packet->ring); /* its mask is needed once the hash is known */
		if (unlikely(!packet->ring)) {
			packet->verdict = VERDICT_NO_RING;
		} else if (unlikely(packet->flags & (PACKET_IPV6 | PACKET_HASHED))) {
			if (!(packet->flags & PACKET_HASHED))
				packet->hash = flow_hash_ipv6(packet->service, packet->addresses6, packet->key[1]);
			find_row(burst, i);
		} else if (packet->service->hash == FL_HASH_SIPHASH) {
			siphash_at[siphash.count] = (uint8_t)i;
			flow_hash_batch_add(&siphash, packet->service, packet->key);
		} else {
			crc32_at[crc32.count] = (uint8_t)i;
			flow_hash_batch_add(&crc32, packet->service, packet->key);
		}
	}
	if (siphash.count) {
		flow_hash_batch_siphash(&siphash);
		take_hashes(burst, &siphash, siphash_at);
	}
	if (crc32.count) {
		flow_hash_batch_crc32(&crc32);
		take_hashes(burst, &crc32, crc32_at);
	}
}

/* Those of some packets that use this method. */
static uint32_t of_method(const struct burst *burst, uint32_t some, unsigned number)
{
	uint32_t which = 0;

	for (uint32_t left = some; left; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(left);

		which |= (uint32_t)(burst->packets[i].service->steering == number) << i;
	}
	return which;
}

/* Calls each method once; a burst with a single method needs no search. */
void burst_choose(struct burst *burst)
{
	uint32_t left = burst->choosing;

	for (uint32_t methods = burst->methods; methods; methods &= methods - 1) {
		unsigned number = (unsigned)__builtin_ctz(methods);
		uint32_t which = methods & (methods - 1) ? of_method(burst, left, number) : left;

		left &= ~which;
		steerings[number]->choose(burst->steering->state[number], burst->packets, which, burst->now);
	}
}

/* Loads generation, row and backends of the packet's ring, in this order (ring.h). */
static inline void read_row(struct packet *packet)
{
	const struct ring *ring = packet->ring;

	packet->generation = ring_generation(ring);
	if (packet->flags & (PACKET_BY_ID | PACKET_STATELESS)) {
		uint32_t id = is_by_id(packet) ? packet->bucket : fl_row_current(ring_row(ring, packet->bucket));

		packet->row = fl_row_make((uint16_t)id, FL_BACKEND_NONE, 0);
		packet->bucket = FL_STEER_BUCKET_NONE;
	} else {
		packet->row = ring_row(ring, packet->bucket);
	}
	packet->backends = ring_backends(ring);
}

static inline bool has_backend(const struct packet *packet)
{
	return fl_row_current(packet->row) != FL_BACKEND_NONE && fl_row_current(packet->row) < packet->backends->size;
}

/*
 * Steers a packet whose backend id is unknown by its bucket, if that is allowed. The ring may be newer than the one
 * read before, so everything is read again. False: the bucket has no backend.
 */
static __attribute__((noinline)) bool fall_back(struct packet *packet)
{
	packet->ring = service_ring(packet->service);
	packet->flags &= (uint8_t) ~(PACKET_BY_ID | PACKET_ELSE_BUCKET);
	packet->bucket = steerings[packet->service->steering]->bucket(packet->ring, packet->hash);
	read_row(packet);
	return has_backend(packet);
}

void burst_rows(struct burst *burst, uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++) {
		struct packet *packet = &burst->packets[i];

		if (packet->verdict != VERDICT_SERVICE)
			continue;
		read_row(packet);
		if (unlikely(!has_backend(packet)) && !(packet->flags & PACKET_ELSE_BUCKET && fall_back(packet))) {
			packet->verdict = (uint8_t)absent(packet);
			continue;
		}
		rte_prefetch0(&packet->backends->rows[fl_row_current(packet->row)]);
	}
}

/* The previous owner to put in MOVED; NULL if the row names none, or without a hold its window is over. */
static inline const struct backend *moved_from(const struct packet *packet, uint32_t now)
{
	uint32_t seconds = __atomic_load_n(&packet->service->moved_seconds, __ATOMIC_RELAXED);

	if (likely(!fl_row_is_moved(packet->row, now, seconds)))
		return NULL;
	return backends_get(packet->backends, fl_row_previous(packet->row));
}

static inline uint8_t inner_protocol(const struct packet *packet)
{
	return packet->flags & PACKET_IPV6 ? FL_GUE_PROTO_IPV6 : FL_GUE_PROTO_IPV4;
}

/*
 * Handles a packet that is too big. The MTU reported to the sender leaves room for the worst chain that a move can lead
 * to in this pool, even if there is no move now, so that one report is enough. Errors and later fragments are not
 * reported.
 */
static __attribute__((noinline)) enum verdict too_big(const struct backends *backends, uint8_t flags,
						      struct packet *packet)
{
	packet->mtu = (uint16_t)backends_room_moved(backends, flags);
	return packet->flags & (PACKET_QUOTE | PACKET_LATER) ? VERDICT_TOO_BIG_SILENT : VERDICT_TOO_BIG;
}

/* Makes room for a header of len bytes in front of the IP packet and returns its start; NULL without headroom. */
static inline uint8_t *make_room(struct rte_mbuf *mbuf, const struct packet *packet, uint32_t len)
{
	uint32_t prepend = len - packet->at_ip;

	if (unlikely(rte_pktmbuf_headroom(mbuf) < prepend))
		return NULL;
	/* the frame may be longer than the IP packet: Ethernet pads to 60 bytes */
	mbuf->data_off = (uint16_t)(mbuf->data_off - prepend);
	mbuf->data_len = (uint16_t)(len + packet->ip_len);
	mbuf->pkt_len = mbuf->data_len;
	return rte_pktmbuf_mtod(mbuf, uint8_t *);
}

/* All headers except the one that is written inline; out of line, to keep that path short. */
static __attribute__((noinline)) enum verdict encap_other(struct burst *burst, struct rte_mbuf *mbuf,
							  struct packet *packet, const struct backends *backends,
							  const struct backend *backend, const struct backend *previous)
{
	struct encap_fields fields = {
	    .inner_len = packet->ip_len,
	    .inner_protocol = inner_protocol(packet),
	    .tos = packet->tos,
	    .flags = burst->tag_key ? FL_STEER_TAG : 0,
	    .hash = (uint32_t)packet->hash,
	    .bucket = packet->bucket,
	    .generation = packet->generation,
	    .tag_key = burst->tag_key,
	};
	uint32_t vlan_len = backend->vlan ? ENCAP_VLAN_LEN : 0;
	const struct encap *encap = packet->service->encap;
	uint32_t overhead;
	uint8_t *out;

	if (previous) {
		fields.flags |= previous->outer.ipv6 ? FL_STEER_MOVED | FL_STEER_PREVIOUS6 : FL_STEER_MOVED;
		fields.since = fl_row_since(packet->row);
		fields.previous = encap_destination(&previous->outer);
	}
	overhead = encap->overhead(&backend->outer, fields.flags);
	if (packet->ip_len + overhead > backend->mtu ||
	    (previous && packet->ip_len > backends_room(backends, fields.flags)))
		return too_big(backends, fields.flags, packet);
	out = make_room(mbuf, packet, vlan_len + ENCAP_AT_IP + overhead);
	if (!out)
		return VERDICT_NO_HEADROOM;
	encap->write(out + vlan_len, &backend->outer, &fields);
	if (vlan_len)
		encap_write_vlan(out, backend->vlan);
	burst->moved += !!previous;
	return VERDICT_SERVICE;
}

/*
 * Why a packet can't go to its backend; VERDICT_SERVICE if it can. A removed backend still gets packets of buckets that
 * name it. A QUIC packet may be given another backend here.
 */
static __attribute__((noinline)) enum verdict refuse(struct packet *packet, const struct backend **backend)
{
	enum backend_state state = backend_state(*backend);
	bool gone = state == BACKEND_ABSENT || (is_by_id(packet) && backend_is_removed(*backend));

	if (gone && packet->flags & PACKET_ELSE_BUCKET && fall_back(packet)) {
		*backend = &packet->backends->rows[fl_row_current(packet->row)];
		state = backend_state(*backend);
		gone = state == BACKEND_ABSENT;
	}
	if (gone)
		return absent(packet);
	if (state == BACKEND_LOOP)
		return VERDICT_BACKEND_LOOP;
	return state == BACKEND_READY ? VERDICT_SERVICE : VERDICT_NO_NEIGHBOUR;
}

static __attribute__((noinline)) void clamp(struct rte_mbuf *mbuf, const struct packet *packet)
{
	uint16_t mss = __atomic_load_n(&packet->service->mss, __ATOMIC_RELAXED);

	if (mss && !(packet->flags & PACKET_QUOTE))
		mss_clamp(rte_pktmbuf_mtod(mbuf, uint8_t *) + packet->at_l4, mss);
}

/*
 * Whether a packet of GUE_MOVED_LEN is larger than a chain may get through, as backends_room() says: a server that
 * chains it keeps the header's length, and nothing tells the sender if it does not fit there.
 */
static inline bool is_too_big_moved(const struct backends *backends, const struct packet *packet)
{
	uint32_t narrowest = backends_narrowest(backends);
	uint32_t wider = narrowest & BACKENDS_IPV6 ? ENCAP_IPV6_LEN - ENCAP_IPV4_LEN : 0;

	return packet->ip_len + GUE_MOVED_LEN - ENCAP_AT_IP + wider > (uint16_t)narrowest;
}

/* Rewrites one packet, or sets the verdict that says why not. */
static inline enum verdict encap(struct burst *burst, struct rte_mbuf *mbuf, struct packet *packet)
{
	const struct backend *backend = &packet->backends->rows[fl_row_current(packet->row)], *previous;
	const struct backends *backends;
	uint8_t *out;
	uint32_t len;

	if (unlikely(backend_state(backend) != BACKEND_READY || backend_is_removed(backend))) {
		enum verdict verdict = refuse(packet, &backend);

		if (verdict != VERDICT_SERVICE)
			return verdict;
	}
	previous = moved_from(packet, burst->now);
	backends = packet->backends;
	packet->port = backend->port; /* overwrites the table of backends (union) */
	if (unlikely(packet->flags & PACKET_SYN))
		clamp(mbuf, packet);
	if (unlikely(burst->tag_key || !backend->outer.plain || (previous && previous->outer.ipv6)))
		return encap_other(burst, mbuf, packet, backends, backend, previous);
	len = previous ? GUE_MOVED_LEN : GUE_PLAIN_LEN;
	if (unlikely(previous ? is_too_big_moved(backends, packet)
			      : packet->ip_len + GUE_PLAIN_LEN - ENCAP_AT_IP > backend->mtu))
		return too_big(backends, 0, packet);
	out = make_room(mbuf, packet, len);
	if (unlikely(!out))
		return VERDICT_NO_HEADROOM;
	gue_write_plain(out, &backend->outer, len, packet->ip_len, inner_protocol(packet), packet->tos,
			(uint32_t)packet->hash, packet->bucket, packet->generation);
	if (previous) {
		gue_write_moved(out, &previous->outer, fl_row_since(packet->row));
		burst->moved++;
	}
	return VERDICT_SERVICE;
}

void burst_encap(struct burst *burst, uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++) {
		struct packet *packet = &burst->packets[i];
		uint32_t frame_len = burst->mbufs[i]->pkt_len;

		if (packet->verdict != VERDICT_SERVICE)
			continue;
		packet->verdict = (uint8_t)encap(burst, burst->mbufs[i], packet);
		if (packet->verdict == VERDICT_SERVICE)
			burst->bytes += frame_len;
	}
}

static inline uint32_t end_of(const struct burst *burst, uint32_t first)
{
	return first + BURST_GROUP < burst->count ? first + BURST_GROUP : burst->count;
}

/* Reads a group's rows before the headers of the previous group are written. */
static inline void finish(struct burst *burst)
{
	burst->moved = 0;
	burst->bytes = 0;
	if (unlikely(burst->choosing))
		burst_choose(burst);
	burst_rows(burst, 0, end_of(burst, 0));
	for (uint32_t first = 0; first < burst->count; first += BURST_GROUP) {
		uint32_t end = end_of(burst, first);

		if (end < burst->count)
			burst_rows(burst, end, end_of(burst, end));
		burst_encap(burst, first, end);
	}
}

void burst_steer_classified(struct burst *burst)
{
	burst->choosing = burst->methods = 0;
	for (uint32_t first = 0; first < burst->count; first += BURST_GROUP)
		burst_hash(burst, first, end_of(burst, first));
	finish(burst);
}

void burst_steer(struct burst *burst)
{
	burst->choosing = burst->methods = 0;
	for (uint32_t first = 0; first < burst->count; first += BURST_GROUP) {
		burst_classify(burst, first, end_of(burst, first));
		burst_hash(burst, first, end_of(burst, first));
	}
	finish(burst);
}
