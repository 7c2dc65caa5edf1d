/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A packet names its bucket's former owners as its row has them, newest first. With a second bucket it names that one's
 * owner before them, and its former owners behind them, each server once. What does not fit is left out from the end, and
 * LATE says so. A SYN names present owners alone; a datagram and a later fragment, their first bucket's.
 */
#include "packet/burst_lists.h"

#include <rte_branch_prediction.h>

#include <fairlead/list.h>

#include "encap/gue.h"
#include "packet/room.h"
#include "ring/lists.h"
#include "service/lookup.h"
#include "service/service.h"

static void add(struct fl_list *list, const struct fl_address *first, const struct fl_address *address)
{
	if (fl_address_equal(address, first))
		return;
	for (uint32_t i = 0; i < list->count; i++)
		if (fl_address_equal(address, &list->candidate[i]))
			return;
	if (list->count < FL_LIST_MAX)
		list->candidate[list->count++] = *address;
	else
		list->flags |= FL_LIST_LATE;
}

/* The former owners that a row names. */
static void add_row(struct fl_list *list, const struct fl_address *first, const struct list_cell *cells, uint64_t row)
{
	const bool is_ipv6 = lists_flags(row) & FL_LIST_IPV6;
	const uint8_t *at = lists_count(row) ? lists_addresses(cells, row) : NULL;
	struct fl_address address;

	list->flags |= lists_flags(row) & FL_LIST_LATE;
	for (uint32_t i = 0; i < lists_count(row); i++) {
		if (is_ipv6)
			memcpy(address.bytes, at + i * LISTS_IPV6_LEN, sizeof(address.bytes));
		else
			address = fl_address_from_ipv4(at + i * LISTS_IPV4_LEN);
		add(list, first, &address);
	}
}

/* NULL: the packet has no second bucket, or no server can be asked there. */
static const struct backend *second_owner(const struct burst *burst, uint32_t i, const struct backends *backends)
{
	const struct backend *owner;

	if (!((burst->seconds & ~burst->alone) >> i & 1))
		return NULL;
	owner = &backends->rows[fl_row_current(burst->packets[i].second_row)];
	return burst_may_be_second(owner) ? owner : NULL;
}

static bool is_long(const struct fl_list *list, const struct fl_address *first)
{
	bool is_ipv6 = !fl_address_is_ipv4(first);

	for (uint32_t i = 0; i < list->count; i++)
		is_ipv6 |= !fl_address_is_ipv4(&list->candidate[i]);
	return is_ipv6;
}

/* Returns how many present owners it names. */
static uint32_t make_list(const struct burst *burst, uint32_t i, const struct backend *backend,
			  const struct backend *owner, struct fl_list *list)
{
	const struct packet *packet = &burst->packets[i];
	const struct fl_address first = encap_destination(&backend->outer);
	const struct list_cell *cells = burst->lookup->lists->cells;
	const bool is_syn = packet->flags & PACKET_SYN;
	uint32_t present;

	*list = (struct fl_list){.inner_protocol = packet->flags & PACKET_IPV6 ? FL_LIST_GUE_IPV6 : FL_LIST_GUE_IPV4,
				 .service = packet->service->id,
				 .generation = packet->generation};
	if (owner) {
		const struct fl_address second = encap_destination(&owner->outer);

		add(list, &first, &second);
	}
	present = list->count;
	if (!is_syn)
		add_row(list, &first, cells, packet->row);
	if (!is_syn && owner)
		add_row(list, &first, cells, packet->second_row);
	list->left = list->count;
	list->flags |= is_long(list, &first) ? FL_LIST_IPV6 : 0;
	list->flags |= burst->tag_key ? FL_LIST_TAG : 0;
	return present;
}

/* Any header. */
static __attribute__((noinline)) enum verdict encap_any(struct burst *burst, uint32_t i,
							const struct backends *backends, const struct backend *backend)
{
	const struct backend *owner = second_owner(burst, i, backends);
	struct packet *packet = &burst->packets[i];
	uint32_t narrowest = backends_narrowest(backends), vlan_len = backend->vlan ? ENCAP_VLAN_LEN : 0;
	uint32_t present, len, widest;
	struct fl_list list;
	struct encap_fields fields = {
	    .inner_len = packet->ip_len,
	    .tos = packet->tos,
	    .hash = (uint32_t)packet->hash,
	    .tag_key = &packet->service->list_key,
	    .list = &list,
	};
	uint8_t *out;

	present = make_list(burst, i, backend, owner, &list);
	len = fl_list_len(list.count, list.flags);
	widest = (uint32_t)(narrowest & BACKENDS_IPV6 ? GUE_AT_GUE6 : GUE_AT_GUE) - ENCAP_AT_IP + len;
	len += (uint32_t)(backend->outer.ipv6 ? GUE_AT_GUE6 : GUE_AT_GUE);
	if (packet->ip_len + len - ENCAP_AT_IP > backend->mtu ||
	    (list.count && packet->ip_len + widest > (uint16_t)narrowest))
		return burst_too_big(backends, burst->tag_key ? FL_STEER_TAG : 0, packet);
	out = room_make_long(burst->mbufs[i], packet, vlan_len + len);
	if (!out)
		return VERDICT_NO_HEADROOM;
	encap_gue_listed.write(out + vlan_len, &backend->outer, &fields);
	if (vlan_len)
		encap_write_vlan(out, backend->vlan);
	burst->second += present;
	burst->moved += list.count > present;
	return VERDICT_SERVICE;
}

enum verdict burst_encap_listed(struct burst *burst, uint32_t i, const struct backends *backends,
				const struct backend *backend)
{
	struct packet *packet = &burst->packets[i];
	const uint64_t row = packet->flags & PACKET_SYN ? 0 : packet->row;
	const uint32_t bytes = lists_count(row) * LISTS_IPV4_LEN;
	uint8_t *out;

	if (unlikely(burst->tag_key || burst->seconds >> i & 1 || backend->outer.plain != ENCAP_PLAIN_LIST ||
		     lists_flags(row) & FL_LIST_IPV6))
		return encap_any(burst, i, backends, backend);
	if (unlikely(bytes ? room_lacks_chained(backends, packet, GUE_LISTED_LEN + bytes)
			   : packet->ip_len + GUE_LISTED_LEN - ENCAP_AT_IP > backend->mtu))
		return burst_too_big(backends, 0, packet);
	out = room_make(burst->mbufs[i], packet, GUE_LISTED_LEN + bytes);
	if (unlikely(!out))
		return VERDICT_NO_HEADROOM;
	gue_write_listed(out, &backend->outer, packet->ip_len,
			 packet->flags & PACKET_IPV6 ? FL_GUE_PROTO_IPV6 : FL_GUE_PROTO_IPV4, packet->tos,
			 (uint32_t)packet->hash, lists_flags(row), packet->generation,
			 lists_addresses(burst->lookup->lists->cells, row), bytes);
	burst->moved += bytes > 0;
	return VERDICT_SERVICE;
}
