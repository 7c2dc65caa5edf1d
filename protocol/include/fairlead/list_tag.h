/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The tag of a list header proves that a holder of the service's key has written it for this connection and for these
 * servers in this order. Whoever has the packet can verify it, and none has to write it again.
 *
 *	message = list header 8 | inner connection 16 or 40 | the first destination, then the candidates as the mux listed them
 *
 * protocol/README.md, 2 has its bytes. It has the inner connection's ports if the protocol is TCP or UDP, and the packet
 * is no later fragment and has them. An ICMP error is tagged as an ICMP packet, not as the packet that it quotes.
 *
 * The key is one for each service (keys.h), so that it can be given to who serves that service and no other.
 */
#ifndef FAIRLEAD_LIST_TAG_H
#define FAIRLEAD_LIST_TAG_H

#include "keys.h"
#include "list.h"

enum fl_list_tag_numbers {
	FL_LIST_TAG_INNER_IPV4 = 16, /* bytes of the inner connection */
	FL_LIST_TAG_INNER_IPV6 = 40,
	FL_LIST_TAG_MESSAGE_MAX = FL_LIST_BASE_LEN + FL_LIST_TAG_INNER_IPV6 + 16 + FL_LIST_LONG_BYTES,
	FL_LIST_TAG_TCP = 6,
	FL_LIST_TAG_UDP = 17,
	FL_LIST_TAG_IPV4_LEN = 20,
	FL_LIST_TAG_IPV6_LEN = 40,
};

struct fl_list_message {
	fl_u8 bytes[FL_LIST_TAG_MESSAGE_MAX];
	fl_u32 len; /* a multiple of 8 */
} __attribute__((aligned(8)));

/* Copies the ports if the transport header at p has them, within the IP packet (room bytes) and the data. */
FL_INLINE void fl_list_tag_ports(const fl_u8 *p, const fl_u8 *end, fl_u8 protocol, fl_u32 room, fl_u8 *out)
{
	if ((protocol == FL_LIST_TAG_TCP || protocol == FL_LIST_TAG_UDP) && room >= 4 && p + 4 <= end)
		fl_copy(out, p, 4);
}

FL_INLINE bool fl_list_tag_ipv4(const fl_u8 *ip, const fl_u8 *end, fl_u8 *out)
{
	fl_u32 header_len, len;

	if (ip + FL_LIST_TAG_IPV4_LEN > end || ip[0] >> 4 != 4)
		return false;
	header_len = (fl_u32)(ip[0] & 15) * 4;
	len = fl_load_be16(ip + 2);
	if (header_len < FL_LIST_TAG_IPV4_LEN || len < header_len)
		return false;
	fl_copy(out, ip + 12, 8);
	out[12] = ip[9];
	out[13] = FL_LIST_GUE_IPV4;
	if (!(fl_load_be16(ip + 6) & 0x1fff))
		fl_list_tag_ports(ip + header_len, end, ip[9], len - header_len, out + 8);
	return true;
}

FL_INLINE bool fl_list_tag_ipv6(const fl_u8 *ip, const fl_u8 *end, fl_u8 *out)
{
	if (ip + FL_LIST_TAG_IPV6_LEN > end || ip[0] >> 4 != 6)
		return false;
	fl_copy(out, ip + 8, 32);
	out[36] = ip[6];
	out[37] = FL_LIST_GUE_IPV6;
	fl_list_tag_ports(ip + FL_LIST_TAG_IPV6_LEN, end, ip[6], fl_load_be16(ip + 4), out + 32);
	return true;
}

/* The address of this place in the order that the mux wrote: `self`, which has the packet, stands between the others. */
FL_INLINE const struct fl_address *fl_list_tag_place(const struct fl_list *list, const struct fl_address *self,
						     fl_u32 place)
{
	fl_u32 own = (fl_u32)list->count - list->left;

	if (place == own)
		return self;
	return &list->candidate[(place < own && fl_list_has_room(place)) || !place ? place : place - 1];
}

FL_INLINE void fl_list_tag_add(const struct fl_list *list, const struct fl_address *self, fl_u32 place, fl_u8 *out)
{
	const struct fl_address *address = fl_list_tag_place(list, self, place);

	if (place > list->count)
		return;
	if (list->flags & FL_LIST_IPV6)
		fl_copy(out + place * 16, address->bytes, 16);
	else
		fl_copy(out + place * 4, address->bytes + 12, 4);
}

FL_INLINE void fl_list_tag_places(const struct fl_list *list, const struct fl_address *self, fl_u8 *out)
{
	fl_u32 i;

	FL_LIST_UNROLLED (i)
		fl_list_tag_add(list, self, i, out);
	fl_list_tag_add(list, self, i, out); /* there is one more place than candidates */
}

/*
 * Makes the message of a parsed header whose packet was sent to `self`, with the inner packet from inner to end. False if
 * that is no IP packet of the family that GUE names, or its header is truncated.
 */
FL_INLINE bool fl_list_tag_message(const struct fl_list *list, const struct fl_address *self, const fl_u8 *inner,
				   const fl_u8 *end, struct fl_list_message *m)
{
	fl_u32 addresses = ((fl_u32)list->count + 1) * fl_list_stride(list->flags);
	bool is_ipv4 = list->inner_protocol == FL_LIST_GUE_IPV4;
	fl_u8 *connection = m->bytes + FL_LIST_BASE_LEN;

	__builtin_memset(m, 0, sizeof(*m));
	m->bytes[0] = FL_LIST_VERSION << 4;
	m->bytes[1] = (fl_u8)(list->count << 4 | (list->flags & (FL_LIST_TAG | FL_LIST_IPV6 | FL_LIST_KEY)));
	fl_store_be16(m->bytes + 2, list->service);
	fl_store_be32(m->bytes + 4, list->generation);
	if (!(is_ipv4 ? fl_list_tag_ipv4(inner, end, connection) : fl_list_tag_ipv6(inner, end, connection)))
		return false;
	if (is_ipv4)
		fl_list_tag_places(list, self, connection + FL_LIST_TAG_INNER_IPV4);
	else
		fl_list_tag_places(list, self, connection + FL_LIST_TAG_INNER_IPV6);
	m->len =
	    FL_LIST_BASE_LEN + (is_ipv4 ? FL_LIST_TAG_INNER_IPV4 : FL_LIST_TAG_INNER_IPV6) + ((addresses + 7) & ~7U);
	return true;
}

FL_INLINE fl_u64 fl_list_tag(const struct fl_siphash_key *key, const struct fl_list_message *m)
{
	struct fl_siphash_state s = fl_siphash_begin(key);
	fl_u32 i;

	for (i = 0; i < FL_LIST_TAG_MESSAGE_MAX && i < m->len; i += 8)
		fl_siphash_word(&s, fl_load_le64(m->bytes + i));
	return fl_siphash_end(&s, 0, m->len);
}

/* Whether a header with TAG has the right one. key: its service's. */
FL_INLINE bool fl_list_tag_is_right(const struct fl_siphash_key *key, const struct fl_list *list,
				    const struct fl_list_message *m)
{
	return fl_load_be64(list->tag) == fl_list_tag(key, m);
}

#endif
