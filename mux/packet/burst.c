/* SPDX-License-Identifier: Apache-2.0 */
#include "packet/burst.h"

#include <rte_branch_prediction.h>
#include <rte_prefetch.h>

#include "encap/gue.h"
#include "packet/classify.h"
#include "packet/codes.h"
#include "packet/flow_hash.h"
#include "packet/flow_hash_batch.h"
#include "packet/mss.h"
#include "ring/backend.h"
#include "service/service.h"
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
 * Bucket and row of a packet whose hash is known: the bucket of the hash's low half, as most methods use it, unless
 * codes or the method give another one later. That may be by data which is published with generations, so the generation
 * is loaded first (ring.h).
 */
static inline void find_row(struct burst *burst, uint32_t i)
{
	struct packet *packet = &burst->packets[i];

	packet->generation = ring_generation(packet->ring);
	if (is_by_id(packet))
		return;
	packet->bucket = (uint32_t)packet->hash & packet->ring->mask;
	rte_prefetch0(ring_backends(packet->ring));
	if (unlikely(!packet->service->low_bits)) {
		if (unlikely(!packet->service->coded)) {
			burst->choosing |= 1U << i;
			burst->methods |= 1U << packet->service->steering;
			return;
		}
		if (likely(codes_fetch(packet))) {
			burst->coded |= 1U << i;
			return;
		}
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

/* Those of the packets that choose whose method has this number. A single method needs no search. */
static uint32_t of_method(const struct burst *burst, unsigned number)
{
	uint32_t which = 0;

	if (likely(!(burst->methods & (burst->methods - 1))))
		return burst->choosing;
	for (uint32_t left = burst->choosing; left; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(left);

		which |= (uint32_t)(burst->packets[i].service->steering == number) << i;
	}
	return which;
}

/* Calls each method once. */
void burst_choose(struct burst *burst)
{
	for (uint32_t methods = burst->methods; methods; methods &= methods - 1) {
		unsigned number = (unsigned)__builtin_ctz(methods);

		steerings[number]->choose(burst->steering->state[number], burst->packets, of_method(burst, number),
					  burst->now);
	}
}

/* Loads row and backends of the packet's ring, in this order (ring.h); its generation was loaded before. */
static inline void read_row(struct packet *packet)
{
	const struct ring *ring = packet->ring;

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
	packet->generation = ring_generation(packet->ring);
	packet->bucket = steerings[packet->service->steering]->bucket(packet->service, packet->ring, packet->hash);
	read_row(packet);
	return has_backend(packet);
}

/* The same for both buckets of a packet: one ring, and backends at least as new as either row. */
static inline void read_rows(struct packet *packet)
{
	packet->second_row = ring_row(packet->ring, packet->second);
	read_row(packet);
	if (fl_row_current(packet->second_row) < packet->backends->size)
		rte_prefetch0(&packet->backends->rows[fl_row_current(packet->second_row)]);
}

void burst_rows(struct burst *burst, uint32_t first, uint32_t end)
{
	const uint32_t coded = burst->coded;
	uint32_t seconds = 0;

	for (uint32_t i = first; i < end; i++) {
		struct packet *packet = &burst->packets[i];

		if (packet->verdict != VERDICT_SERVICE)
			continue;
		if (unlikely(coded >> i & 1) && codes_choose(packet)) {
			seconds |= 1U << i;
			read_rows(packet);
		} else {
			read_row(packet);
		}
		if (unlikely(!has_backend(packet)) && !(packet->flags & PACKET_ELSE_BUCKET && fall_back(packet))) {
			packet->verdict = (uint8_t)absent(packet);
			continue;
		}
		rte_prefetch0(&packet->backends->rows[fl_row_current(packet->row)]);
	}
	burst->seconds |= seconds;
}

/* The previous owner to put in MOVED; NULL if the row names none, or without a hold its window is over. */
static inline const struct backend *moved_from(const struct service *service, const struct backends *backends,
					       fl_row row, uint32_t now)
{
	uint32_t seconds = __atomic_load_n(&service->moved_seconds, __ATOMIC_RELAXED);

	if (likely(!fl_row_is_moved(row, now, seconds)))
		return NULL;
	return backends_get(backends, fl_row_previous(row));
}

static inline uint8_t inner_protocol(const struct packet *packet)
{
	return packet->flags & PACKET_IPV6 ? FL_GUE_PROTO_IPV6 : FL_GUE_PROTO_IPV4;
}

/*
 * Handles a packet that is too big. The MTU reported to the sender leaves room for the worst chain that a move can lead
 * to in this pool, and for a second bucket if the method gives any, even if there is neither now, so that one report is
 * enough. Errors and later fragments are not reported.
 */
static __attribute__((noinline)) enum verdict too_big(const struct backends *backends, uint8_t flags,
						      struct packet *packet)
{
	if (steerings[packet->service->steering]->has_second)
		flags |= FL_STEER_SECOND;
	packet->mtu = (uint16_t)backends_room_moved(backends, flags);
	return packet->flags & (PACKET_QUOTE | PACKET_LATER) ? VERDICT_TOO_BIG_SILENT : VERDICT_TOO_BIG;
}

/*
 * Whether a packet with a header of len bytes over IPv4 is larger than a chain may get through, as backends_room() says:
 * a server that sends it on keeps the header's length, and nothing tells the sender if it does not fit there.
 */
static inline bool is_too_big_chained(const struct backends *backends, const struct packet *packet, uint32_t len)
{
	uint32_t narrowest = backends_narrowest(backends);
	uint32_t wider = narrowest & BACKENDS_IPV6 ? ENCAP_IPV6_LEN - ENCAP_IPV4_LEN : 0;

	return packet->ip_len + len - ENCAP_AT_IP + wider > (uint16_t)narrowest;
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

/* A packet's second bucket, as far as its header tells of it. */
struct second {
	const struct backend *owner;    /* NULL: the packet has no second bucket, or no server can be asked there */
	const struct backend *previous; /* NULL: no move */
};

/* A server whose packets would come back to a mux is left out, as is an owner that this mux does not know. */
static inline struct second second_of(const struct burst *burst, uint32_t i, const struct backends *backends)
{
	const struct packet *packet = &burst->packets[i];
	struct second second = {NULL, NULL};

	if (!(burst->seconds >> i & 1))
		return second;
	second.owner = backends_get(backends, fl_row_current(packet->second_row));
	if (second.owner && backend_state(second.owner) == BACKEND_LOOP)
		second.owner = NULL;
	if (second.owner)
		second.previous = moved_from(packet->service, backends, packet->second_row, burst->now);
	return second;
}

/*
 * Moves the IP packet towards the end of its buffer, if the header is longer than the headroom of new buffers: three
 * moves to IPv6 addresses and a tag over IPv6 are.
 */
static bool shift(struct rte_mbuf *mbuf, const struct packet *packet, uint32_t prepend)
{
	uint32_t by = prepend - RTE_PKTMBUF_HEADROOM;
	uint8_t *ip = rte_pktmbuf_mtod(mbuf, uint8_t *) + packet->at_ip;

	if (rte_pktmbuf_tailroom(mbuf) < by)
		return false;
	memmove(ip + by, ip, packet->ip_len);
	mbuf->data_off = (uint16_t)(mbuf->data_off + by);
	return true;
}

/* Without a tag, and over IPv4 alone: the second bucket's header in most pools. */
static inline enum verdict encap_second(struct burst *burst, struct rte_mbuf *mbuf, struct packet *packet,
					const struct backends *backends, const struct backend *backend,
					const struct backend *previous, const struct second *second)
{
	uint32_t len =
	    GUE_SECOND_LEN + (second->previous ? FL_STEER_MOVED4_LEN : 0U) + (previous ? FL_STEER_MOVED4_LEN : 0U);
	uint8_t flags = FL_STEER_SECOND, *out, *at;

	if (is_too_big_chained(backends, packet, len))
		return too_big(backends, 0, packet);
	out = make_room(mbuf, packet, len);
	if (!out)
		return VERDICT_NO_HEADROOM;
	gue_write_plain(out, &backend->outer, len, packet->ip_len, inner_protocol(packet), packet->tos,
			(uint32_t)packet->hash, packet->bucket, packet->generation);
	at = gue_write_owner(out + GUE_PLAIN_LEN, packet->second, &second->owner->outer);
	if (second->previous) {
		flags |= FL_STEER_MOVED2;
		at = gue_write_owner(at, fl_row_since(packet->second_row), &second->previous->outer);
	}
	if (previous) {
		flags |= FL_STEER_MOVED;
		gue_write_owner(at, fl_row_since(packet->row), &previous->outer);
	}
	gue_set_flags(out, len, flags);
	burst->second++;
	burst->moved += !!previous;
	return VERDICT_SERVICE;
}

static inline bool is_ipv6(const struct backend *backend)
{
	return backend && backend->outer.ipv6;
}

/* The second bucket's part of the header. */
static void set_second(struct encap_fields *fields, const struct packet *packet, const struct second *second)
{
	fields->flags |= is_ipv6(second->owner) ? FL_STEER_SECOND | FL_STEER_SECOND6 : FL_STEER_SECOND;
	fields->second.bucket = packet->second;
	fields->second.owner = encap_destination(&second->owner->outer);
	if (!second->previous)
		return;
	fields->flags |= is_ipv6(second->previous) ? FL_STEER_MOVED2 | FL_STEER_PREVIOUS2_6 : FL_STEER_MOVED2;
	fields->second.since = fl_row_since(packet->second_row);
	fields->second.previous = encap_destination(&second->previous->outer);
}

/* All headers except those that have a function of their own. */
static __attribute__((noinline)) enum verdict encap_other(struct burst *burst, struct rte_mbuf *mbuf,
							  struct packet *packet, const struct backends *backends,
							  const struct backend *backend, const struct backend *previous,
							  const struct second *second)
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
	uint32_t overhead, prepend;
	uint8_t *out;

	if (second->owner)
		set_second(&fields, packet, second);
	if (previous) {
		fields.flags |= previous->outer.ipv6 ? FL_STEER_MOVED | FL_STEER_PREVIOUS6 : FL_STEER_MOVED;
		fields.since = fl_row_since(packet->row);
		fields.previous = encap_destination(&previous->outer);
	}
	overhead = encap->overhead(&backend->outer, fields.flags);
	if (packet->ip_len + overhead > backend->mtu ||
	    ((previous || second->owner) && packet->ip_len > backends_room(backends, fields.flags)))
		return too_big(backends, fields.flags, packet);
	prepend = vlan_len + ENCAP_AT_IP + overhead - packet->at_ip;
	if (prepend > RTE_PKTMBUF_HEADROOM && !shift(mbuf, packet, prepend))
		return VERDICT_NO_HEADROOM;
	out = make_room(mbuf, packet, vlan_len + ENCAP_AT_IP + overhead);
	if (!out)
		return VERDICT_NO_HEADROOM;
	encap->write(out + vlan_len, &backend->outer, &fields);
	if (vlan_len)
		encap_write_vlan(out, backend->vlan);
	burst->moved += !!previous;
	burst->second += !!second->owner;
	return VERDICT_SERVICE;
}

/* All headers except the one that is written inline; out of line, to keep that path short. */
static inline enum verdict encap_special(struct burst *burst, uint32_t i, const struct backends *backends,
					 const struct backend *backend, const struct backend *previous)
{
	const struct second second = second_of(burst, i, backends);
	bool is_plain = !burst->tag_key && backend->outer.plain && !is_ipv6(previous) && !is_ipv6(second.previous);

	if (is_plain && second.owner && !second.owner->outer.ipv6)
		return encap_second(burst, burst->mbufs[i], &burst->packets[i], backends, backend, previous, &second);
	return encap_other(burst, burst->mbufs[i], &burst->packets[i], backends, backend, previous, &second);
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

/* Rewrites one packet, or sets the verdict that says why not. is_special: it may need more than the inline header. */
static inline enum verdict encap(struct burst *burst, uint32_t i, bool is_special)
{
	struct rte_mbuf *mbuf = burst->mbufs[i];
	struct packet *packet = &burst->packets[i];
	const struct backend *backend = &packet->backends->rows[fl_row_current(packet->row)], *previous;
	const struct backends *backends;
	uint8_t *out;
	uint32_t len;

	if (unlikely(backend_state(backend) != BACKEND_READY || backend_is_removed(backend))) {
		enum verdict verdict = refuse(packet, &backend);

		if (verdict != VERDICT_SERVICE)
			return verdict;
	}
	previous = moved_from(packet->service, packet->backends, packet->row, burst->now);
	backends = packet->backends;
	packet->port = backend->port; /* overwrites the table of backends (union) */
	if (unlikely(packet->flags & PACKET_SYN))
		clamp(mbuf, packet);
	if (unlikely(is_special || !backend->outer.plain || (previous && previous->outer.ipv6)))
		return encap_special(burst, i, backends, backend, previous);
	len = previous ? GUE_MOVED_LEN : GUE_PLAIN_LEN;
	if (unlikely(previous ? is_too_big_chained(backends, packet, GUE_MOVED_LEN)
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
	const uint32_t special = burst->tag_key ? ~0U : burst->seconds;

	for (uint32_t i = first; i < end; i++) {
		struct packet *packet = &burst->packets[i];
		uint32_t frame_len = burst->mbufs[i]->pkt_len;

		if (packet->verdict != VERDICT_SERVICE)
			continue;
		packet->verdict = (uint8_t)encap(burst, i, special >> i & 1);
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
	burst->moved = burst->second = 0;
	burst->bytes = 0;
	burst->seconds = 0;
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
	burst->coded = burst->choosing = burst->methods = 0;
	for (uint32_t first = 0; first < burst->count; first += BURST_GROUP)
		burst_hash(burst, first, end_of(burst, first));
	finish(burst);
}

void burst_steer(struct burst *burst)
{
	burst->coded = burst->choosing = burst->methods = 0;
	for (uint32_t first = 0; first < burst->count; first += BURST_GROUP) {
		burst_classify(burst, first, end_of(burst, first));
		burst_hash(burst, first, end_of(burst, first));
	}
	finish(burst);
}
