/* SPDX-License-Identifier: Apache-2.0 */
/* The packet path's last stage (burst.h): writes the outer headers. */
#include <rte_branch_prediction.h>
#include <rte_prefetch.h>

#include "encap/gue.h"
#include "packet/burst.h"
#include "packet/burst_lists.h"
#include "packet/mss.h"
#include "packet/room.h"
#include "ring/backend.h"
#include "service/service.h"
#include "steering/steering.h"

/* What a server may send on, with a second bucket over IPv4: the next one may have an IPv6 address. */
enum { SECOND_WIDEST = GUE_SECOND_LEN - ENCAP_AT_IP + ENCAP_IPV6_LEN - ENCAP_IPV4_LEN };

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
__attribute__((noinline)) enum verdict burst_too_big(const struct backends *backends, uint8_t flags,
						     struct packet *packet)
{
	if (steering_has_second(steerings[packet->service->steering]))
		flags |= FL_STEER_SECOND;
	packet->mtu = (uint16_t)backends_room_moved(backends, flags);
	return packet->flags & (PACKET_QUOTE | PACKET_LATER) ? VERDICT_TOO_BIG_SILENT : VERDICT_TOO_BIG;
}

/* A packet's second bucket, as far as its header tells of it. */
struct second {
	const struct backend *owner;    /* NULL: the packet has no second bucket, or no server can be asked there */
	const struct backend *previous; /* NULL: no move */
};

static inline struct second second_of(const struct burst *burst, uint32_t i, const struct backends *backends)
{
	const struct packet *packet = &burst->packets[i];
	struct second second = {NULL, NULL};

	if (!(burst->seconds >> i & 1))
		return second;
	second.owner = &backends->rows[fl_row_current(packet->second_row)];
	if (!burst_may_be_second(second.owner))
		second.owner = NULL;
	if (second.owner)
		second.previous = moved_from(packet->service, backends, packet->second_row, burst->now);
	return second;
}

/* Without a tag, and over IPv4 alone: the second bucket's header in most pools. */
static inline enum verdict encap_second(struct burst *burst, struct rte_mbuf *mbuf, struct packet *packet,
					const struct backends *backends, const struct backend *backend,
					const struct backend *previous, const struct second *second)
{
	uint32_t len =
	    GUE_SECOND_LEN + (second->previous ? FL_STEER_MOVED4_LEN : 0U) + (previous ? FL_STEER_MOVED4_LEN : 0U);
	uint8_t flags = FL_STEER_SECOND, *out, *at;

	if (room_lacks_chained(backends, packet, len))
		return burst_too_big(backends, 0, packet);
	out = room_make(mbuf, packet, len);
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
	uint32_t overhead;
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
		return burst_too_big(backends, fields.flags, packet);
	out = room_make_long(mbuf, packet, vlan_len + ENCAP_AT_IP + overhead);
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
	bool is_plain = !burst->tag_key && backend->outer.plain == ENCAP_PLAIN_GUE && !is_ipv6(previous) &&
			!is_ipv6(second.previous);

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
	bool gone = state == BACKEND_ABSENT || (packet->flags & PACKET_BY_ID && backend_is_removed(*backend));

	if (gone && packet->flags & PACKET_ELSE_BUCKET && burst_fall_back(packet)) {
		*backend = &packet->backends->rows[fl_row_current(packet->row)];
		state = backend_state(*backend);
		gone = state == BACKEND_ABSENT;
	}
	if (gone)
		return burst_absent(packet);
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
static inline __attribute__((always_inline)) enum verdict encap(struct burst *burst, uint32_t i, bool is_special)
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
	backends = packet->backends;
	packet->port = backend->port; /* overwrites the table of backends (union) */
	if (unlikely(packet->flags & PACKET_SYN))
		clamp(mbuf, packet);
	if (packet->service->encap == &encap_gue_listed)
		return burst_encap_listed(burst, i, backends, backend);
	previous = moved_from(packet->service, backends, packet->row, burst->now);
	if (unlikely(is_special || backend->outer.plain != ENCAP_PLAIN_GUE || (previous && previous->outer.ipv6)))
		return encap_special(burst, i, backends, backend, previous);
	len = previous ? GUE_MOVED_LEN : GUE_PLAIN_LEN;
	if (unlikely(previous ? room_lacks_chained(backends, packet, GUE_MOVED_LEN)
			      : packet->ip_len + GUE_PLAIN_LEN - ENCAP_AT_IP > backend->mtu))
		return burst_too_big(backends, 0, packet);
	out = room_make(mbuf, packet, len);
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

/* Out of line, to keep the loop over steady packets short. */
static __attribute__((noinline)) enum verdict encap_unsteady(struct burst *burst, uint32_t i)
{
	return encap(burst, i, burst->seconds >> i & 1);
}

/* Whether the move of either row is news, or may be: a previous owner that the table lacks counts here. */
static inline bool may_be_moved(const struct packet *packet, uint32_t now)
{
	uint32_t seconds = __atomic_load_n(&packet->service->moved_seconds, __ATOMIC_RELAXED);

	return fl_row_previous(packet->row | packet->second_row) != FL_BACKEND_NONE &&
	       (fl_row_is_moved(packet->row, now, seconds) || fl_row_is_moved(packet->second_row, now, seconds));
}

/*
 * Whether a packet with a second bucket needs no more than the plain header and the other owner behind it: both have
 * IPv4 addresses, nothing has moved, and there is room whatever the servers do. Nearly all packets do.
 */
static inline bool is_steady(const struct burst *burst, const struct packet *packet, const struct backend *backend,
			     const struct backend *owner)
{
	return backend_is_steady(backend) && backend_is_steady_owner(owner) && !(packet->flags & PACKET_SYN) &&
	       packet->ip_len + SECOND_WIDEST <= (uint16_t)backends_narrowest(packet->backends) &&
	       !may_be_moved(packet, burst->now);
}

/*
 * Of packets some of which have a second bucket, without tags. Steady ones are written here, by constant lengths: with
 * their checks spread over the way of all others, a packet takes 3 ns more.
 */
static __attribute__((noinline)) void encap_seconds(struct burst *burst, uint32_t first, uint32_t end, uint32_t written)
{
	const uint32_t seconds = burst->seconds;
	uint32_t steady = 0;
	uint64_t bytes = 0;

	for (uint32_t i = first; i < end; i++) {
		struct packet *packet = &burst->packets[i];
		const struct backends *backends = packet->backends;
		const struct backend *backend, *owner;
		uint32_t frame_len = burst->mbufs[i]->pkt_len;
		uint8_t *out;

		if (packet->verdict != VERDICT_SERVICE || written >> (i - first) & 1)
			continue;
		backend = &backends->rows[fl_row_current(packet->row)];
		owner = &backends->rows[seconds >> i & 1 ? fl_row_current(packet->second_row) : FL_BACKEND_NONE];
		if (unlikely(!is_steady(burst, packet, backend, owner))) {
			packet->verdict = (uint8_t)encap_unsteady(burst, i);
			bytes += packet->verdict == VERDICT_SERVICE ? frame_len : 0;
			continue;
		}
		packet->port = backend->port; /* overwrites the table of backends (union) */
		out = room_make(burst->mbufs[i], packet, GUE_SECOND_LEN);
		if (unlikely(!out)) {
			packet->verdict = VERDICT_NO_HEADROOM;
			continue;
		}
		gue_write_plain(out, &backend->outer, GUE_SECOND_LEN, packet->ip_len, inner_protocol(packet),
				packet->tos, (uint32_t)packet->hash, packet->bucket, packet->generation);
		gue_write_owner(out + GUE_PLAIN_LEN, packet->second, &owner->outer);
		gue_set_flags(out, GUE_SECOND_LEN, FL_STEER_SECOND);
		steady++;
		bytes += frame_len;
	}
	burst->second += steady;
	burst->bytes += bytes;
}

void burst_encap_rest(struct burst *burst, uint32_t first, uint32_t end, uint32_t written)
{
	const uint32_t special = burst->tag_key ? ~0U : burst->seconds;

	if (burst->seconds >> first & GROUP_BITS && !burst->tag_key) {
		encap_seconds(burst, first, end, written);
		return;
	}
	for (uint32_t i = first; i < end; i++) {
		struct packet *packet = &burst->packets[i];
		uint32_t frame_len = burst->mbufs[i]->pkt_len;

		if (packet->verdict != VERDICT_SERVICE || written >> (i - first) & 1)
			continue;
		packet->verdict = (uint8_t)encap(burst, i, special >> i & 1);
		if (packet->verdict == VERDICT_SERVICE)
			burst->bytes += frame_len;
	}
}

void burst_encap(struct burst *burst, uint32_t first, uint32_t end)
{
	burst_encap_rest(burst, first, end, 0);
}
