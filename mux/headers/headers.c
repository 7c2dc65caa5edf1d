/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A packet names its bucket's former owners as its row has them, newest first. With a second bucket it names that one's
 * owner before them, and its former owners behind them, each server once. What does not fit is left out from the end, and
 * LATE says so. A SYN names present owners alone, with arrays the first bucket's; a datagram and a later fragment, the
 * former owners of their first bucket.
 *
 * A foreign end-point passes nothing on: packets to it name none, and in others it is the last.
 */
#include <rte_branch_prediction.h>
#include <rte_prefetch.h>

#include "encap/gue.h"
#include "flow/rows.h"
#include "headers/headers.h"
#include "headers/mss.h"
#include "headers/room.h"
#include "ring/backend.h"
#include "ring/lists.h"
#include "service/lookup.h"
#include "flow/service.h"
#include "steering/steering.h"

static inline uint8_t inner_protocol(const struct packet *packet)
{
	return packet->flags & PACKET_IPV6 ? FL_LIST_GUE_IPV6 : FL_LIST_GUE_IPV4;
}

/*
 * Handles a packet that is too big. The MTU reported to the sender leaves room for the longest list in this pool, so that
 * one report is enough. Errors and later fragments are not reported.
 */
static __attribute__((noinline)) enum verdict too_big(const struct burst *burst, const struct backends *backends,
						      struct packet *packet)
{
	packet->mtu = (uint16_t)backends_room_longest(backends, burst->tag_flags);
	return packet->flags & (PACKET_QUOTE | PACKET_LATER) ? VERDICT_TOO_BIG_SILENT : VERDICT_TOO_BIG;
}

/*
 * Whether a second bucket's owner may be named: a server whose packets would come back to a mux is left out, as is one
 * that this mux does not know.
 */
static inline bool may_be_named(const struct backend *owner)
{
	enum backend_state state = backend_state(owner);

	return state == BACKEND_READY || state == BACKEND_NO_NEIGHBOUR;
}

/* What a packet's buckets say of its list. Of a SYN, rows have no lists. */
struct named {
	uint64_t row, second_row;    /* second_row 0: it has no second bucket, or a list of its first one's alone */
	const struct backend *owner; /* of the second bucket; NULL: none can be asked there */
};

static inline struct named named_by(const struct burst *burst, uint32_t i, const struct backends *backends)
{
	const struct packet *packet = &burst->packets[i];
	const uint64_t kept = packet->flags & PACKET_SYN ? UINT16_MAX : UINT64_MAX;
	struct named named = {packet->row & kept, 0, NULL};

	if (!(burst->seconds >> i & 1))
		return named;
	named.second_row = packet->second_row & kept;
	named.owner = &backends->rows[fl_row_current(named.second_row)];
	if (!may_be_named(named.owner))
		named.owner = NULL;
	return named;
}

/* A list of IPv4 addresses, as headers have them. */
struct short_list {
	uint32_t first; /* the packet's destination */
	uint32_t count;
	uint8_t flags;
	uint32_t address[FL_LIST_SHORT_BYTES / LISTS_IPV4_LEN];
};

static inline uint32_t ipv4_of(const struct backend *backend)
{
	uint32_t address;

	memcpy(&address, backend->outer.head + ENCAP_AT_IP + 16, sizeof(address));
	return address;
}

static inline void add_short(struct short_list *list, uint32_t address)
{
	if (address == list->first)
		return;
	for (uint32_t i = 0; i < list->count; i++)
		if (address == list->address[i])
			return;
	if (likely(fl_list_has_room(list->count)))
		list->address[list->count++] = address;
	else
		list->flags |= FL_LIST_LATE;
}

static inline void add_short_row(struct short_list *list, const struct list_cell *cells, uint64_t row)
{
	const uint8_t *at = lists_addresses(cells, row);

	list->flags |= lists_flags(row) & FL_LIST_LATE;
	for (uint32_t i = 0; i < lists_count(row); i++) {
		uint32_t address;

		memcpy(&address, at + i * LISTS_IPV4_LEN, sizeof(address));
		add_short(list, address);
	}
}

/* Over IPv4 alone and without a tag: packets with a second bucket in most pools. */
static enum verdict encap_short(struct burst *burst, uint32_t i, const struct backends *backends,
				const struct backend *backend, const struct named *named)
{
	const struct list_cell *cells = burst->lookup->lists->cells;
	struct packet *packet = &burst->packets[i];
	struct short_list list = {.first = ipv4_of(backend)};
	uint32_t present, bytes;
	uint8_t *out;

	if (named->owner)
		add_short(&list, ipv4_of(named->owner));
	present = list.count;
	add_short_row(&list, cells, named->row);
	add_short_row(&list, cells, named->second_row);
	bytes = list.count * LISTS_IPV4_LEN;
	if (unlikely(bytes ? room_lacks(backends, packet, GUE_PLAIN_LEN + bytes)
			   : packet->ip_len + GUE_PLAIN_LEN - ENCAP_AT_IP > backend->mtu))
		return too_big(burst, backends, packet);
	out = room_make(burst->mbufs[i], packet, GUE_PLAIN_LEN + bytes);
	if (unlikely(!out))
		return VERDICT_NO_HEADROOM;
	gue_write_plain(out, &backend->outer, packet->ip_len, inner_protocol(packet), packet->tos,
			(uint32_t)packet->hash, (uint8_t)(list.count << 4 | list.flags), packet->generation, bytes);
	for (uint32_t n = 0; n < list.count; n++)
		memcpy(out + GUE_PLAIN_LEN + n * LISTS_IPV4_LEN, &list.address[n], LISTS_IPV4_LEN);
	burst->second += present;
	burst->moved += list.count > present;
	return VERDICT_SERVICE;
}

/* A list in the making. */
struct long_list {
	struct fl_address first, foreign;
	bool has_foreign;
	struct fl_list list;
};

static bool has_address(const struct long_list *list, const struct fl_address *address)
{
	for (uint32_t i = 0; i < list->list.count; i++)
		if (fl_address_equal(address, &list->list.candidate[i]))
			return true;
	return fl_address_equal(address, &list->first);
}

static void add_long(struct long_list *list, const struct fl_address *address, bool is_foreign)
{
	if (has_address(list, address) || (list->has_foreign && fl_address_equal(address, &list->foreign)))
		return;
	if (is_foreign && !list->has_foreign) {
		list->foreign = *address;
		list->has_foreign = true;
	} else if (!is_foreign && fl_list_has_room(list->list.count + list->has_foreign)) {
		list->list.candidate[list->list.count++] = *address;
	} else {
		list->list.flags |= FL_LIST_LATE;
	}
}

static void add_long_row(struct long_list *list, const struct list_cell *cells, uint64_t row)
{
	const bool is_ipv6 = lists_flags(row) & FL_LIST_IPV6, has_foreign = lists_flags(row) & LISTS_FOREIGN;
	const uint32_t count = lists_count(row);
	const uint8_t *at = lists_addresses(cells, row);
	struct fl_address address;

	list->list.flags |= lists_flags(row) & FL_LIST_LATE;
	for (uint32_t i = 0; i < count; i++) {
		if (is_ipv6)
			memcpy(address.bytes, at + i * LISTS_IPV6_LEN, sizeof(address.bytes));
		else
			address = fl_address_from_ipv4(at + i * LISTS_IPV4_LEN);
		add_long(list, &address, has_foreign && i + 1 == count);
	}
}

static bool is_ipv6(const struct long_list *list)
{
	bool is_ipv6 = !fl_address_is_ipv4(&list->first);

	for (uint32_t i = 0; i < list->list.count; i++)
		is_ipv6 |= !fl_address_is_ipv4(&list->list.candidate[i]);
	return is_ipv6;
}

/* Returns how many owners of second buckets it names. */
static uint32_t make_list(const struct burst *burst, uint32_t i, const struct backend *backend,
			  const struct named *named, struct long_list *list)
{
	const struct list_cell *cells = burst->lookup->lists->cells;
	const struct packet *packet = &burst->packets[i];
	uint32_t present = 0;

	/* field by field: to clear the candidates first would take 5 ns */
	list->first = encap_destination(&backend->outer);
	list->has_foreign = false;
	list->list.inner_protocol = inner_protocol(packet);
	list->list.service = packet->service->id;
	list->list.generation = packet->generation;
	list->list.flags = packet->service->encap->has_tags ? burst->tag_flags : 0;
	list->list.count = 0;
	if (likely(!backend->foreign)) {
		if (named->owner) {
			const struct fl_address owner = encap_destination(&named->owner->outer);

			add_long(list, &owner, named->owner->foreign);
		}
		present = list->list.count + list->has_foreign;
		if (named->row >> 16)
			add_long_row(list, cells, named->row);
		if (named->second_row >> 16)
			add_long_row(list, cells, named->second_row);
	}
	if (list->has_foreign)
		list->list.candidate[list->list.count++] = list->foreign;
	list->list.left = list->list.count;
	list->list.flags |= is_ipv6(list) ? FL_LIST_IPV6 : 0;
	return present;
}

/* Any header. */
static __attribute__((noinline)) enum verdict encap_any(struct burst *burst, uint32_t i,
							const struct backends *backends, const struct backend *backend,
							const struct named *named)
{
	struct packet *packet = &burst->packets[i];
	const struct encap *encap = packet->service->encap;
	uint32_t vlan_len = backend->vlan ? FL_VLAN_LEN : 0;
	uint32_t present, overhead;
	struct long_list list;
	struct encap_fields fields = {
	    .inner_len = packet->ip_len,
	    .tos = packet->tos,
	    .hash = (uint32_t)packet->hash,
	    .now = burst->now,
	    .tag_key = &packet->service->list_key,
	    .list = &list.list,
	};
	uint8_t *out;

	present = make_list(burst, i, backend, named, &list);
	overhead = encap->overhead(&backend->outer, list.list.count, list.list.flags);
	if (packet->ip_len + overhead > backend->mtu ||
	    (list.list.count && packet->ip_len > backends_room(backends, list.list.count, list.list.flags)))
		return too_big(burst, backends, packet);
	out = room_make_long(burst->mbufs[i], packet, vlan_len + ENCAP_AT_IP + overhead);
	if (!out)
		return VERDICT_NO_HEADROOM;
	encap->write(out + vlan_len, &backend->outer, &fields);
	if (vlan_len)
		encap_write_vlan(out, backend->vlan);
	burst->second += present;
	burst->moved += list.list.count > present;
	return VERDICT_SERVICE;
}

/* All headers except the one that is written inline; out of line, to keep that path short. */
static __attribute__((noinline)) enum verdict
encap_special(struct burst *burst, uint32_t i, const struct backends *backends, const struct backend *backend)
{
	const struct named named = named_by(burst, i, backends);
	const uint8_t flags = lists_flags(named.row) | lists_flags(named.second_row);

	if (!burst->tag_flags && backend->outer.plain == ENCAP_PLAIN_GUE && !(flags & FL_LIST_IPV6) &&
	    !(named.owner && named.owner->outer.ipv6))
		return encap_short(burst, i, backends, backend, &named);
	return encap_any(burst, i, backends, backend, &named);
}

/*
 * Why a packet can't go to its backend; VERDICT_SERVICE if it can. A removed backend still gets packets of buckets that
 * name it. A QUIC packet may be given another backend here.
 */
static __attribute__((noinline)) enum verdict refuse(struct packet *packet, const struct backend **backend)
{
	enum backend_state state = backend_state(*backend);
	bool gone = state == BACKEND_ABSENT || (packet->flags & PACKET_BY_ID && backend_is_removed(*backend));

	if (gone && packet->flags & PACKET_ELSE_BUCKET && steering_fall_back(packet)) {
		*backend = &packet->backends->rows[fl_row_current(packet->row)];
		state = backend_state(*backend);
		gone = state == BACKEND_ABSENT;
	}
	if (gone)
		return rows_absent(packet);
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

/* The header over IPv4 without a tag, with the list that a row names, of so many bytes: 0 is known at compile time. */
static inline __attribute__((always_inline)) enum verdict write_plain(struct burst *burst, uint32_t i,
								      const struct backends *backends,
								      const struct backend *backend, fl_row row,
								      uint32_t bytes)
{
	const struct packet *packet = &burst->packets[i];
	uint8_t *out;

	if (unlikely(bytes ? room_lacks(backends, packet, GUE_PLAIN_LEN + bytes)
			   : packet->ip_len + GUE_PLAIN_LEN - ENCAP_AT_IP > backend->mtu))
		return too_big(burst, backends, &burst->packets[i]);
	out = room_make(burst->mbufs[i], packet, GUE_PLAIN_LEN + bytes);
	if (unlikely(!out))
		return VERDICT_NO_HEADROOM;
	gue_write_plain(out, &backend->outer, packet->ip_len, inner_protocol(packet), packet->tos,
			(uint32_t)packet->hash, lists_flags(row), packet->generation, bytes);
	memcpy(out + GUE_PLAIN_LEN, lists_addresses(burst->lookup->lists->cells, row), bytes);
	burst->moved += bytes > 0;
	return VERDICT_SERVICE;
}

/* Rewrites one packet, or sets the verdict that says why not. is_special: it may need more than the inline header. */
static inline __attribute__((always_inline)) enum verdict encap(struct burst *burst, uint32_t i, bool is_special)
{
	struct packet *packet = &burst->packets[i];
	const struct backend *backend = &packet->backends->rows[fl_row_current(packet->row)];
	const struct backends *backends;
	uint64_t row;

	if (unlikely(backend_state(backend) != BACKEND_READY || backend_is_removed(backend))) {
		enum verdict verdict = refuse(packet, &backend);

		if (verdict != VERDICT_SERVICE)
			return verdict;
	}
	backends = packet->backends;
	packet->port = backend->port; /* overwrites the table of backends (union) */
	if (unlikely(packet->flags & PACKET_SYN))
		clamp(burst->mbufs[i], packet);
	row = packet->flags & PACKET_SYN ? 0 : packet->row;
	if (unlikely(is_special || backend->outer.plain != ENCAP_PLAIN_GUE || lists_flags(row) & FL_LIST_IPV6))
		return encap_special(burst, i, backends, backend);
	if (likely(!lists_count(row)))
		return write_plain(burst, i, backends, backend, row, 0);
	return write_plain(burst, i, backends, backend, row, lists_count(row) * LISTS_IPV4_LEN);
}

void headers_write_rest(struct burst *burst, uint32_t first, uint32_t end, uint32_t written)
{
	const uint32_t special = burst->tag_flags ? ~0U : burst->seconds;

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

void headers_write(struct burst *burst, uint32_t first, uint32_t end)
{
	headers_write_rest(burst, first, end, 0);
}
