/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The list header as a Segment Routing Header (RFC 8754; protocol/README.md, 2, srv6), between an outer IPv6 header and
 * the inner packet: list.h's candidates are the segments, and what it says besides is in a TLV.
 *
 *	outer IPv6 40 | SRH 8 | segments, 16 each | TLV 8, with TAG 16 | inner packet
 *
 * All of the list is the standard's: the destination is the segment that Segments Left names, and who sends the packet on
 * to another candidate lowers it and copies that segment into the destination. Nothing else changes but LATE, so the first
 * destination is not left out (a reduced list): the tag covers it, and whoever has the packet finds it.
 *
 * A tag is that of the same list in GUE with IPV6 (list_tag.h).
 */
#ifndef FAIRLEAD_LIST_SRV6_H
#define FAIRLEAD_LIST_SRV6_H

#include "list.h"

enum fl_list_srv6_numbers {
	FL_LIST_SRV6_ROUTING_TYPE = 4,
	FL_LIST_SRV6_UNIT = 8,
	FL_LIST_SRV6_HEAD_LEN = 8,
	FL_LIST_SRV6_SEGMENT_LEN = 16,
	FL_LIST_SRV6_LEAST_LEN = FL_LIST_SRV6_HEAD_LEN + FL_LIST_SRV6_SEGMENT_LEN,
	FL_LIST_SRV6_TLV_TYPE = 252,
	FL_LIST_SRV6_TLV_HEAD_LEN = 2, /* which its length does not count */
	FL_LIST_SRV6_TLV_LEN = 8,      /* without a tag */
	FL_LIST_SRV6_FLAGS = FL_LIST_TAG | FL_LIST_LATE | FL_LIST_KEY,
	FL_LIST_SRV6_MAX_LEN = FL_LIST_SRV6_HEAD_LEN + FL_LIST_LONG_BYTES + FL_LIST_SRV6_SEGMENT_LEN +
			       FL_LIST_SRV6_TLV_LEN + FL_LIST_TAG_LEN,
};

_Static_assert(FL_LIST_SRV6_MAX_LEN <= 255, "its length fits struct fl_list");

/* Offsets from the first byte of the SRH. */
enum fl_list_srv6_offsets {
	FL_LIST_SRV6_AT_NEXT = 0,
	FL_LIST_SRV6_AT_UNITS = 1,
	FL_LIST_SRV6_AT_TYPE = 2,
	FL_LIST_SRV6_AT_LEFT = 3,
	FL_LIST_SRV6_AT_LAST = 4,
	FL_LIST_SRV6_AT_SERVICE = 6,
	FL_LIST_SRV6_AT_SEGMENTS = FL_LIST_SRV6_HEAD_LEN,
};

/* Offsets from the first byte of the TLV. */
enum fl_list_srv6_tlv_offsets {
	FL_LIST_SRV6_TLV_AT_LEN = 1,
	FL_LIST_SRV6_TLV_AT_VERSION = FL_LIST_SRV6_TLV_HEAD_LEN,
	FL_LIST_SRV6_TLV_AT_FLAGS = 3,
	FL_LIST_SRV6_TLV_AT_GENERATION = 4,
	FL_LIST_SRV6_TLV_AT_TAG = FL_LIST_SRV6_TLV_LEN,
};

/* Where the TLV of so many candidates begins. */
FL_INLINE fl_u32 fl_list_srv6_tlv_at(fl_u8 count)
{
	return FL_LIST_SRV6_AT_SEGMENTS + ((fl_u32)count + 1) * FL_LIST_SRV6_SEGMENT_LEN;
}

/* Bytes from the SRH to the inner packet. */
FL_INLINE fl_u32 fl_list_srv6_len(fl_u8 count, fl_u8 flags)
{
	return fl_list_srv6_tlv_at(count) + FL_LIST_SRV6_TLV_LEN +
	       (flags & FL_LIST_TAG) / FL_LIST_TAG * FL_LIST_TAG_LEN;
}

/* What is so many bytes behind data, less than 128: see fl_list_load_tag(). */
FL_INLINE fl_u8 *fl_list_srv6_part(const fl_u8 *data, fl_u32 at)
{
	__asm__ volatile("" : "+r"(at));
	return (fl_u8 *)data + (at & 127);
}

/* The TLV, which has the bytes that it has without a tag; NULL: there is none. */
FL_INLINE fl_u8 *fl_list_srv6_tlv(const fl_u8 *data, const fl_u8 *end)
{
	fl_u8 *tlv;

	if (data + FL_LIST_SRV6_LEAST_LEN > end || fl_list_is_too_long(data[FL_LIST_SRV6_AT_LAST]))
		return (fl_u8 *)0;
	tlv = fl_list_srv6_part(data, fl_list_srv6_tlv_at(data[FL_LIST_SRV6_AT_LAST]));
	if (tlv + FL_LIST_SRV6_TLV_LEN > end || tlv[0] != FL_LIST_SRV6_TLV_TYPE)
		return (fl_u8 *)0;
	return tlv;
}

/* The SRH alone, whose length must be within end. */
FL_INLINE enum fl_list_error fl_list_srv6_parse_head(const fl_u8 *data, const fl_u8 *end)
{
	fl_u32 len;

	if (data + FL_LIST_SRV6_LEAST_LEN > end)
		return FL_LIST_TRUNCATED;
	if (data[FL_LIST_SRV6_AT_NEXT] != FL_LIST_GUE_IPV4 && data[FL_LIST_SRV6_AT_NEXT] != FL_LIST_GUE_IPV6)
		return FL_LIST_INNER_PROTOCOL;
	if (fl_list_is_too_long(data[FL_LIST_SRV6_AT_LAST]))
		return FL_LIST_COUNT;
	len = (1 + (fl_u32)data[FL_LIST_SRV6_AT_UNITS]) * FL_LIST_SRV6_UNIT;
	if (len < fl_list_srv6_len(data[FL_LIST_SRV6_AT_LAST], 0) || len > FL_LIST_SRV6_MAX_LEN)
		return FL_LIST_LENGTH;
	return data + len > end ? FL_LIST_TRUNCATED : FL_LIST_OK;
}

/* Segments and TLV, once they are known to be there. */
FL_INLINE enum fl_list_error fl_list_srv6_check(const fl_u8 *data, const fl_u8 *end, const fl_u8 *tlv,
						const struct fl_address *destination)
{
	fl_u8 count = data[FL_LIST_SRV6_AT_LAST], left = data[FL_LIST_SRV6_AT_LEFT];
	fl_u8 flags = tlv[FL_LIST_SRV6_TLV_AT_FLAGS];
	struct fl_address segment;
	const fl_u8 *at;
	fl_u32 len;

	if (tlv[FL_LIST_SRV6_TLV_AT_VERSION] >> 4 != FL_LIST_VERSION)
		return FL_LIST_VERSION_UNKNOWN;
	if (left > count)
		return FL_LIST_LEFT;
	if (tlv[FL_LIST_SRV6_TLV_AT_VERSION] & 15 || flags & ~FL_LIST_SRV6_FLAGS)
		return FL_LIST_FLAGS_UNKNOWN;
	if ((flags & FL_LIST_KEY) && !(flags & FL_LIST_TAG))
		return FL_LIST_KEY_ALONE;
	len = fl_list_srv6_len(count, flags);
	if ((1 + (fl_u32)data[FL_LIST_SRV6_AT_UNITS]) * FL_LIST_SRV6_UNIT != len ||
	    fl_list_srv6_tlv_at(count) + FL_LIST_SRV6_TLV_HEAD_LEN + tlv[FL_LIST_SRV6_TLV_AT_LEN] != len)
		return FL_LIST_LENGTH;
	if (!fl_load_be32(tlv + FL_LIST_SRV6_TLV_AT_GENERATION))
		return FL_LIST_GENERATION_ZERO;
	at = fl_list_srv6_part(data, FL_LIST_SRV6_AT_SEGMENTS + (fl_u32)left * FL_LIST_SRV6_SEGMENT_LEN);
	if (at + FL_LIST_SRV6_SEGMENT_LEN > end)
		return FL_LIST_TRUNCATED; /* never: it is before the TLV */
	fl_copy(segment.bytes, at, 16);
	return fl_address_equal(&segment, destination) ? FL_LIST_OK : FL_LIST_SEGMENTS;
}

/* Reads all segments but the outer destination's, in the order in which they are tried. */
FL_INLINE bool fl_list_srv6_load_all(const fl_u8 *data, const fl_u8 *end, struct fl_list *out)
{
	fl_u32 i;

	FL_LIST_UNROLLED (i) {
		fl_u32 behind = (fl_u32)out->count - i; /* in the segments, which begin with the last */
		const fl_u8 *at;

		if (i >= out->count)
			continue;
		if (behind <= out->left)
			behind--;
		at = fl_list_srv6_part(data, FL_LIST_SRV6_AT_SEGMENTS + behind * FL_LIST_SRV6_SEGMENT_LEN);
		if (at + FL_LIST_SRV6_SEGMENT_LEN > end)
			return false;
		fl_copy(out->candidate[i].bytes, at, 16);
	}
	return true;
}

/*
 * Parses an SRH from data to end (exclusive), of a packet that was sent to `destination`; and nothing of the inner packet
 * behind it. Fills in all of *out as fl_list_parse() does, with IPV6, only if FL_LIST_OK.
 */
FL_INLINE enum fl_list_error fl_list_srv6_parse(const fl_u8 *data, const fl_u8 *end,
						const struct fl_address *destination, struct fl_list *out)
{
	enum fl_list_error error = fl_list_srv6_parse_head(data, end);
	const fl_u8 *tlv;

	if (error != FL_LIST_OK)
		return error;
	tlv = fl_list_srv6_tlv(data, end);
	if (!tlv)
		return FL_LIST_VERSION_UNKNOWN;
	error = fl_list_srv6_check(data, end, tlv, destination);
	if (error != FL_LIST_OK)
		return error;
	/* From here on nothing is refused: end is behind the header. */
	__builtin_memset(out, 0, sizeof(*out));
	out->inner_protocol = data[FL_LIST_SRV6_AT_NEXT];
	out->flags = tlv[FL_LIST_SRV6_TLV_AT_FLAGS] | FL_LIST_IPV6;
	out->count = data[FL_LIST_SRV6_AT_LAST];
	out->left = data[FL_LIST_SRV6_AT_LEFT];
	out->header_len = (fl_u8)fl_list_srv6_len(out->count, out->flags);
	out->service = fl_load_be16(data + FL_LIST_SRV6_AT_SERVICE);
	out->generation = fl_load_be32(tlv + FL_LIST_SRV6_TLV_AT_GENERATION);
	if (out->flags & FL_LIST_TAG) {
		if (tlv + FL_LIST_SRV6_TLV_AT_TAG + FL_LIST_TAG_LEN > end)
			return FL_LIST_TRUNCATED;
		fl_copy(out->tag, tlv + FL_LIST_SRV6_TLV_AT_TAG, FL_LIST_TAG_LEN);
	}
	return fl_list_srv6_load_all(data, end, out) ? FL_LIST_OK : FL_LIST_TRUNCATED;
}

/*
 * Writes an SRH; returns its length. destination: of the outer header, the candidate that the list does not have. IPV6 and
 * header_len are ignored. out must have room for FL_LIST_SRV6_MAX_LEN bytes.
 */
FL_INLINE fl_u32 fl_list_srv6_write(const struct fl_list *list, const struct fl_address *destination, fl_u8 *out)
{
	fl_u32 len = fl_list_srv6_len(list->count, list->flags), own = (fl_u32)list->count - list->left, i;
	fl_u8 *tlv = out + fl_list_srv6_tlv_at(list->count), *segment = tlv;

	out[FL_LIST_SRV6_AT_NEXT] = list->inner_protocol;
	out[FL_LIST_SRV6_AT_UNITS] = (fl_u8)(len / FL_LIST_SRV6_UNIT - 1);
	out[FL_LIST_SRV6_AT_TYPE] = FL_LIST_SRV6_ROUTING_TYPE;
	out[FL_LIST_SRV6_AT_LEFT] = list->left;
	fl_store_be16(out + FL_LIST_SRV6_AT_LAST, (fl_u16)(list->count << 8)); /* and no flags */
	fl_store_be16(out + FL_LIST_SRV6_AT_SERVICE, list->service);
	for (i = 0; i <= list->count; i++) {
		segment -= FL_LIST_SRV6_SEGMENT_LEN;
		fl_copy(segment, i == own ? destination->bytes : list->candidate[i < own ? i : i - 1].bytes, 16);
	}
	tlv[0] = FL_LIST_SRV6_TLV_TYPE;
	tlv[FL_LIST_SRV6_TLV_AT_LEN] = (fl_u8)(len - fl_list_srv6_tlv_at(list->count) - FL_LIST_SRV6_TLV_HEAD_LEN);
	tlv[FL_LIST_SRV6_TLV_AT_VERSION] = FL_LIST_VERSION << 4;
	tlv[FL_LIST_SRV6_TLV_AT_FLAGS] = list->flags & FL_LIST_SRV6_FLAGS;
	fl_store_be32(tlv + FL_LIST_SRV6_TLV_AT_GENERATION, list->generation);
	if (list->flags & FL_LIST_TAG)
		fl_copy(tlv + FL_LIST_SRV6_TLV_AT_TAG, list->tag, FL_LIST_TAG_LEN);
	return len;
}

/*
 * Rewrites a parsed header to be sent to a candidate that has not been tried, after which `left` are left: fewer than
 * before. The outer destination becomes that candidate. Returns false only if end is less than it was for the parser.
 */
FL_INLINE bool fl_list_srv6_forward(fl_u8 *data, const fl_u8 *end, fl_u8 left, bool late)
{
	fl_u8 *tlv = fl_list_srv6_tlv(data, end);

	if (!tlv)
		return false;
	data[FL_LIST_SRV6_AT_LEFT] = left;
	if (late)
		tlv[FL_LIST_SRV6_TLV_AT_FLAGS] |= FL_LIST_LATE;
	return true;
}

#endif
