/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The steer header as a TLV of a Segment Routing Header (RFC 8754), between an outer IPv6 header and the inner packet.
 *
 *	outer IPv6 40 | SRH 8 | Segment[0] 16 | TLV: 16 + second bucket's move 20 if MOVED2 + move 20 if MOVED +
 *	tag 8 if TAG + padding | inner packet
 *
 *	SRH        0  next header			4 (IPv4) or 41 (IPv6) of the inner packet
 *	           1  length				in units of 8 bytes, without the first
 *	           2  routing type 4
 *	           3  segments left			1: Segment[0] is the second bucket's owner; 0: it is the destination
 *	           4  last entry 0			reduced: of two segments only the second is listed
 *	           5  flags 0
 *	           6  tag 16				service
 *	           8  Segment[0] 128
 *	TLV       24  type 252				experimental, and mutable on the way
 *	          25  length				of what follows: the TLV is the last, and its rest is padding
 *	          26  version:4 | hops:4
 *	          27  flags				those of steer.h; all addresses are IPv6, which no flag says
 *	          28  generation 32
 *	          32  bucket 32
 *	          36  second bucket 32			0 without SECOND
 *	  MOVED2  40  since 32, previous 128		of the second bucket
 *	  MOVED       since 32, previous 128
 *	  TAG         tag 64
 *
 * SECOND and one segment left mean the same. Without the TLV the packet is a foreign headend's: it names no bucket, and
 * with one segment left an owner of a second one.
 */
#ifndef FAIRLEAD_SRV6_H
#define FAIRLEAD_SRV6_H

#include "steer.h"
#include "tag.h"

enum fl_srv6_numbers {
	FL_SRV6_PROTOCOL = 43, /* the outer header's next header: a routing header */
	FL_SRV6_ROUTING_TYPE = 4,
	FL_SRV6_FOREIGN_LEN = 24, /* with one segment and no TLV */
	FL_SRV6_BASE_LEN = 40,    /* with the TLV, without moves and tag */
	FL_SRV6_MAX_LEN = FL_SRV6_BASE_LEN + 2 * FL_STEER_MOVED6_LEN + FL_STEER_TAG_LEN,
	FL_SRV6_UNIT = 8,
	FL_SRV6_SEGMENT_UNITS = 2,
	FL_SRV6_UNITS_MAX = 30, /* header_len of struct fl_steer has 8 bits */
	FL_SRV6_TLV_TYPE = 252,
	FL_SRV6_TLV_HEAD_LEN = 2,
	/* The flags of the TLV: those of steer.h, but for what tells IPv4 from IPv6. */
	FL_SRV6_FLAGS = FL_STEER_MOVED | FL_STEER_TAG | FL_STEER_SECOND | FL_STEER_MOVED2 | FL_STEER_LATE,
};

/* Offsets from the first byte of the SRH. */
enum fl_srv6_offsets {
	FL_SRV6_AT_NEXT = 0,
	FL_SRV6_AT_UNITS = 1,
	FL_SRV6_AT_TYPE = 2,
	FL_SRV6_AT_LEFT = 3,
	FL_SRV6_AT_LAST = 4,
	FL_SRV6_AT_SERVICE = 6,
	FL_SRV6_AT_SEGMENT = 8,
	FL_SRV6_AT_TLV = FL_SRV6_FOREIGN_LEN,
	FL_SRV6_AT_TLV_LEN = FL_SRV6_AT_TLV + 1,
	FL_SRV6_AT_VERSION = FL_SRV6_AT_TLV + FL_SRV6_TLV_HEAD_LEN,
	FL_SRV6_AT_FLAGS = FL_SRV6_AT_VERSION + 1,
	FL_SRV6_AT_GENERATION = FL_SRV6_AT_FLAGS + 1,
	FL_SRV6_AT_BUCKET = FL_SRV6_AT_GENERATION + 4,
	FL_SRV6_AT_SECOND = FL_SRV6_AT_BUCKET + 4,
	FL_SRV6_AT_MOVES = FL_SRV6_AT_SECOND + 4,
};

_Static_assert((int)FL_SRV6_AT_MOVES == (int)FL_SRV6_BASE_LEN, "offsets and lengths agree");
_Static_assert(FL_SRV6_MAX_LEN % FL_SRV6_UNIT == 0 && FL_SRV6_MAX_LEN <= (1 + FL_SRV6_UNITS_MAX) * FL_SRV6_UNIT,
	       "the longest header needs no padding, and its length fits");

/* Bytes from the moves to the first bucket's move, and to the tag, by flags that a parser accepts. */
FL_INLINE fl_u32 fl_srv6_before_move(fl_u8 flags)
{
	return (flags & FL_STEER_MOVED2) / FL_STEER_MOVED2 * FL_STEER_MOVED6_LEN;
}

FL_INLINE fl_u32 fl_srv6_before_tag(fl_u8 flags)
{
	return fl_srv6_before_move(flags) + (flags & FL_STEER_MOVED) / FL_STEER_MOVED * FL_STEER_MOVED6_LEN;
}

/* Length of an SRH with a TLV of these flags, before padding and with it. */
FL_INLINE fl_u32 fl_srv6_used(fl_u8 flags)
{
	return FL_SRV6_BASE_LEN + fl_srv6_before_tag(flags) + (flags & FL_STEER_TAG) / FL_STEER_TAG * FL_STEER_TAG_LEN;
}

FL_INLINE fl_u32 fl_srv6_len(fl_u8 flags)
{
	return (fl_srv6_used(flags) + FL_SRV6_UNIT - 1) / FL_SRV6_UNIT * FL_SRV6_UNIT;
}

/* The part of an SRH that is so many bytes behind the second bucket; see fl_steer_part(). */
FL_INLINE fl_u8 *fl_srv6_part(const fl_u8 *data, fl_u32 at)
{
	__asm__ volatile("" : "+r"(at));
	return (fl_u8 *)data + FL_SRV6_AT_MOVES + at;
}

/* Whether the TLV of a parsed SRH is there: as the first one, behind a single segment. */
FL_INLINE bool fl_srv6_has_tlv(const fl_u8 *data, const fl_u8 *end)
{
	return data + FL_SRV6_AT_TLV + FL_SRV6_UNIT <= end && data[FL_SRV6_AT_UNITS] > FL_SRV6_SEGMENT_UNITS &&
	       !data[FL_SRV6_AT_LAST] && data[FL_SRV6_AT_TLV] == FL_SRV6_TLV_TYPE;
}

/* Whether a parsed SRH has no TLV of ours. False also if end is less than it was for the parser. */
FL_INLINE bool fl_srv6_is_foreign(const fl_u8 *data, const fl_u8 *end)
{
	if (data + FL_SRV6_FOREIGN_LEN > end)
		return false;
	return data[FL_SRV6_AT_UNITS] == FL_SRV6_SEGMENT_UNITS || data[FL_SRV6_AT_LAST] ||
	       (data + FL_SRV6_AT_TLV + FL_SRV6_UNIT <= end && data[FL_SRV6_AT_TLV] != FL_SRV6_TLV_TYPE);
}

/* Whether a routing header is an SRH in front of an IP packet, as servers receive it. */
FL_INLINE bool fl_srv6_is(const fl_u8 *data, const fl_u8 *end)
{
	return data + FL_SRV6_AT_SEGMENT <= end && data[FL_SRV6_AT_TYPE] == FL_SRV6_ROUTING_TYPE &&
	       (data[FL_SRV6_AT_NEXT] == FL_GUE_PROTO_IPV4 || data[FL_SRV6_AT_NEXT] == FL_GUE_PROTO_IPV6);
}

/* Reads the TLV of a header whose other parts are in *s. Changes *s also if it refuses. */
FL_INLINE enum fl_steer_error fl_srv6_parse_tlv(const fl_u8 *data, const fl_u8 *end, struct fl_steer *s)
{
	const fl_u8 *p;

	/* The second comparison is implied by the first; it is for the eBPF verifier, as those of the parts below are. */
	if (s->header_len < FL_SRV6_BASE_LEN || data + FL_SRV6_BASE_LEN > end ||
	    FL_SRV6_AT_VERSION + data[FL_SRV6_AT_TLV_LEN] != s->header_len)
		return FL_STEER_LENGTH;
	if (data[FL_SRV6_AT_VERSION] >> 4 != FL_STEER_VERSION)
		return FL_STEER_VERSION_UNKNOWN;
	s->flags = data[FL_SRV6_AT_FLAGS];
	if (s->flags & ~FL_SRV6_FLAGS)
		return FL_STEER_FLAGS_UNKNOWN;
	if ((s->flags & FL_STEER_MOVED2) && !(s->flags & FL_STEER_SECOND))
		return FL_STEER_MOVED2_ALONE;
	if (s->header_len < fl_srv6_used(s->flags))
		return FL_STEER_LENGTH;
	if (!(s->flags & FL_STEER_SECOND) != !data[FL_SRV6_AT_LEFT])
		return FL_STEER_SEGMENTS;
	s->generation = fl_load_be32(data + FL_SRV6_AT_GENERATION);
	if (!s->generation)
		return FL_STEER_GENERATION_ZERO;
	s->hops = data[FL_SRV6_AT_VERSION] & 15;
	s->service = fl_load_be16(data + FL_SRV6_AT_SERVICE);
	s->bucket = fl_load_be32(data + FL_SRV6_AT_BUCKET);
	if (s->flags & FL_STEER_SECOND)
		s->second.bucket = fl_load_be32(data + FL_SRV6_AT_SECOND);
	if ((s->flags & FL_STEER_MOVED2) &&
	    !fl_steer_load(fl_srv6_part(data, 0), end, true, &s->second.since, &s->second.previous))
		return FL_STEER_LENGTH;
	if ((s->flags & FL_STEER_MOVED) &&
	    !fl_steer_load(fl_srv6_part(data, fl_srv6_before_move(s->flags)), end, true, &s->since, &s->previous))
		return FL_STEER_LENGTH;
	if (s->flags & FL_STEER_TAG) {
		p = fl_srv6_part(data, fl_srv6_before_tag(s->flags));
		if (p + FL_STEER_TAG_LEN > end)
			return FL_STEER_LENGTH;
		fl_copy(s->tag, p, FL_STEER_TAG_LEN);
	}
	return FL_STEER_OK;
}

/*
 * Parses an SRH from data to end (exclusive), and nothing of the inner packet behind it. Errors are in the
 * order of protocol/README.md, 2. Fills in all of *out, with header_len as the SRH's length; it is valid only if
 * FL_STEER_OK. A packet without the TLV has service 0, generation 0 and FL_STEER_BUCKET_NONE.
 */
FL_INLINE enum fl_steer_error fl_srv6_parse(const fl_u8 *data, const fl_u8 *end, struct fl_steer *out)
{
	__builtin_memset(out, 0, sizeof(*out));
	if (data + FL_SRV6_FOREIGN_LEN > end)
		return FL_STEER_TRUNCATED;
	out->inner_protocol = data[FL_SRV6_AT_NEXT];
	if (out->inner_protocol != FL_GUE_PROTO_IPV4 && out->inner_protocol != FL_GUE_PROTO_IPV6)
		return FL_STEER_INNER_PROTOCOL;
	if (data[FL_SRV6_AT_UNITS] > FL_SRV6_UNITS_MAX ||
	    data[FL_SRV6_AT_UNITS] < FL_SRV6_SEGMENT_UNITS * (1 + data[FL_SRV6_AT_LAST]))
		return FL_STEER_LENGTH;
	out->header_len = (fl_u8)((1 + data[FL_SRV6_AT_UNITS]) * FL_SRV6_UNIT);
	if (data + out->header_len > end)
		return FL_STEER_TRUNCATED;
	if (data[FL_SRV6_AT_LEFT] > 1)
		return FL_STEER_SEGMENTS;
	if (data[FL_SRV6_AT_LEFT])
		fl_copy(&out->second.owner, data + FL_SRV6_AT_SEGMENT, 16);
	if (fl_srv6_has_tlv(data, end))
		return fl_srv6_parse_tlv(data, end, out);
	out->bucket = FL_STEER_BUCKET_NONE;
	if (data[FL_SRV6_AT_LEFT]) {
		out->flags = FL_STEER_SECOND;
		out->second.bucket = FL_STEER_BUCKET_NONE;
	}
	return FL_STEER_OK;
}

/*
 * Writes an SRH with the TLV, padding included; returns its length. destination: of the outer header. MOVED2 without
 * SECOND, the flags of families and header_len are ignored. out must have room for FL_SRV6_MAX_LEN bytes.
 */
FL_INLINE fl_u32 fl_srv6_write(const struct fl_steer *s, const struct fl_address *destination, fl_u8 *out)
{
	fl_u8 flags = s->flags & FL_SRV6_FLAGS, *at = out + FL_SRV6_AT_MOVES;
	bool has_second = flags & FL_STEER_SECOND;
	fl_u32 len;

	if (!has_second)
		flags &= ~FL_STEER_MOVED2;
	len = fl_srv6_len(flags);
	out[FL_SRV6_AT_NEXT] = s->inner_protocol;
	out[FL_SRV6_AT_UNITS] = (fl_u8)(len / FL_SRV6_UNIT - 1);
	out[FL_SRV6_AT_TYPE] = FL_SRV6_ROUTING_TYPE;
	out[FL_SRV6_AT_LEFT] = has_second;
	fl_store_be16(out + FL_SRV6_AT_LAST, 0); /* and no flags */
	fl_store_be16(out + FL_SRV6_AT_SERVICE, s->service);
	fl_copy(out + FL_SRV6_AT_SEGMENT, has_second ? s->second.owner.bytes : destination->bytes, 16);
	out[FL_SRV6_AT_TLV] = FL_SRV6_TLV_TYPE;
	out[FL_SRV6_AT_TLV_LEN] = (fl_u8)(len - FL_SRV6_AT_VERSION);
	out[FL_SRV6_AT_VERSION] = (fl_u8)(FL_STEER_VERSION << 4 | (s->hops & 15));
	out[FL_SRV6_AT_FLAGS] = flags;
	fl_store_be32(out + FL_SRV6_AT_GENERATION, s->generation);
	fl_store_be32(out + FL_SRV6_AT_BUCKET, s->bucket);
	fl_store_be32(out + FL_SRV6_AT_SECOND, has_second ? s->second.bucket : 0);
	if (flags & FL_STEER_MOVED2)
		at += fl_steer_store(at, true, s->second.since, &s->second.previous);
	if (flags & FL_STEER_MOVED)
		at += fl_steer_store(at, true, s->since, &s->previous);
	if (flags & FL_STEER_TAG) {
		fl_copy(at, s->tag, FL_STEER_TAG_LEN);
		at += FL_STEER_TAG_LEN;
	}
	if (at < out + len)
		fl_clear(at, FL_STEER_MOVED4_LEN / 2); /* all parts are multiples of 4 bytes */
	return len;
}

/* The flags of a parsed header in *flags. False if it has no TLV, or end is less than it was for the parser. */
FL_INLINE bool fl_srv6_reload(const fl_u8 *data, const fl_u8 *end, fl_u8 *flags)
{
	if (!fl_srv6_has_tlv(data, end) || data + FL_SRV6_BASE_LEN > end)
		return false;
	*flags = data[FL_SRV6_AT_FLAGS];
	return fl_srv6_part(data, fl_srv6_used(*flags) - FL_SRV6_BASE_LEN) <= end;
}

/* Clears the words of MOVED and TAG of a parsed header; flags: what it has. False if they end beyond end. */
FL_INLINE bool fl_srv6_clear_move(fl_u8 *data, const fl_u8 *end, fl_u8 flags)
{
	fl_u8 *tag = fl_srv6_part(data, fl_srv6_before_tag(flags));

	if ((flags & FL_STEER_TAG) && tag + FL_STEER_TAG_LEN > end)
		return false;
	if ((flags & FL_STEER_MOVED) && !fl_steer_clear(fl_srv6_part(data, fl_srv6_before_move(flags)), end, true))
		return false;
	if (flags & FL_STEER_TAG)
		fl_clear(tag, FL_STEER_TAG_LEN);
	return true;
}

/*
 * Rewrites a parsed header with hops < FL_STEER_HOPS_MAX for chaining to next, as fl_steer_chain() does. Without
 * segments left, Segment[0] becomes next. Returns false, with nothing changed, if the header has no TLV, or end is less
 * than it was for the parser.
 */
FL_INLINE bool fl_srv6_chain(fl_u8 *data, const fl_u8 *end, const struct fl_address *next)
{
	fl_u8 flags;

	if (!fl_srv6_reload(data, end, &flags) || !fl_srv6_clear_move(data, end, flags))
		return false;
	if (!data[FL_SRV6_AT_LEFT])
		fl_copy(data + FL_SRV6_AT_SEGMENT, next, 16);
	data[FL_SRV6_AT_FLAGS] = flags & (fl_u8) ~(FL_STEER_MOVED | FL_STEER_TAG);
	data[FL_SRV6_AT_VERSION]++;
	return true;
}

/*
 * Rewrites a parsed header with one segment left for that segment, as fl_steer_promote() does. A foreign headend's
 * header has fewer segments left and nothing else changed. Returns false, with nothing changed, if no segment is left,
 * or end is less than it was for the parser.
 */
FL_INLINE bool fl_srv6_promote(fl_u8 *data, const fl_u8 *end)
{
	fl_u8 flags;

	if (data + FL_SRV6_FOREIGN_LEN > end || !data[FL_SRV6_AT_LEFT])
		return false;
	if (!fl_srv6_is_foreign(data, end)) {
		/* MOVED2's words stay where they are, and are MOVED's then. */
		if (!fl_srv6_reload(data, end, &flags) || !fl_srv6_clear_move(data, end, flags))
			return false;
		data[FL_SRV6_AT_VERSION] = FL_STEER_VERSION << 4;
		data[FL_SRV6_AT_FLAGS] = fl_steer_promoted(flags);
		fl_copy(data + FL_SRV6_AT_BUCKET, data + FL_SRV6_AT_SECOND, 4);
		fl_store_be32(data + FL_SRV6_AT_SECOND, 0);
	}
	data[FL_SRV6_AT_LEFT] = 0;
	return true;
}

/* Marks a header as fl_steer_mark_late() does. A foreign headend's has no place for it. */
FL_INLINE bool fl_srv6_mark_late(fl_u8 *data, const fl_u8 *end)
{
	if (!fl_srv6_has_tlv(data, end) || data + FL_SRV6_BASE_LEN > end)
		return fl_srv6_is_foreign(data, end);
	data[FL_SRV6_AT_FLAGS] |= FL_STEER_LATE;
	return true;
}

/* The first bytes of a tag's message, which are the same for each encapsulation. */
FL_INLINE void fl_srv6_tag_head(const fl_u8 *data, struct fl_tag_message *m)
{
	m->bytes[0] = data[FL_SRV6_AT_VERSION];
	m->bytes[1] = data[FL_SRV6_AT_FLAGS];
	__builtin_memcpy(m->bytes + 2, data + FL_SRV6_AT_SERVICE, 2);
	fl_copy(m->bytes + 4, data + FL_SRV6_AT_BUCKET, 4);
	fl_copy(m->bytes + 8, data + FL_SRV6_AT_GENERATION, 4);
}

/* As fl_tag_message(), for a header that fl_srv6_parse() has read; false also if it has no TLV. */
FL_INLINE bool fl_srv6_tag_message(const fl_u8 *data, const struct fl_steer *steer, const fl_u8 *inner,
				   const fl_u8 *end, struct fl_tag_message *m)
{
	if (!steer->generation || data + FL_SRV6_BASE_LEN > end)
		return false;
	__builtin_memset(m, 0, FL_TAG_MESSAGE_LEN);
	fl_srv6_tag_head(data, m);
	fl_tag_message_buckets(steer, m);
	return fl_tag_message_inner(steer, inner, end, m);
}

/* As fl_tag_renew(), for a header that fl_srv6_chain() or fl_srv6_promote() has rewritten. */
FL_INLINE bool fl_srv6_tag_renew(const struct fl_siphash_key *key, fl_u8 *data, const fl_u8 *end,
				 struct fl_tag_message *m)
{
	fl_u8 flags, *at;

	if (!fl_srv6_has_tlv(data, end) || data + FL_SRV6_BASE_LEN > end)
		return false;
	flags = data[FL_SRV6_AT_FLAGS];
	at = fl_srv6_part(data, fl_srv6_before_tag(flags));
	if (at + FL_STEER_TAG_LEN > end)
		return false;
	data[FL_SRV6_AT_FLAGS] = flags | FL_STEER_TAG;
	fl_srv6_tag_head(data, m);
	fl_tag_message_renew(m);
	fl_tag_store(at, fl_tag(key, m));
	return true;
}

#endif
