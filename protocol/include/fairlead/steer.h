/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The steer header: what a mux tells a server about a packet, inside GUE (UDP port 6080, version 0).
 *
 *	outer IPv4/IPv6 | UDP | GUE base 4 | steer 12 | second bucket 4 + its owner 4/16 if SECOND |
 *	since 4 + previous 4/16 of the second bucket if MOVED2 | since 4 + previous 4/16 if MOVED | tag 8 if TAG |
 *	padding | inner packet
 *
 *	GUE base   0  version:2 | C:1 | hlen:5		hlen: 32-bit words of everything up to the inner packet
 *	           1  protocol				4 (IPv4) or 41 (IPv6) of the inner packet; 59: a notice (notice.h)
 *	           2  flags 16				0
 *	steer      0  version:4 | hops:4		version 1
 *	           1  flags				FL_STEER_*
 *	           2  service 16
 *	           4  bucket 32				or FL_STEER_BUCKET_NONE
 *	           8  generation 32			0 is never sent
 *	  SECOND  12  bucket 32				a second bucket that the connection may be in
 *	          16  owner 32 or 128			its owner; unspecified: none
 *	  MOVED2      since 32, previous 32 or 128	of the second bucket, as MOVED
 *	  MOVED       since 32				Unix seconds of the bucket's last move
 *	              previous 32 or 128		who owned the bucket before
 *	  TAG         tag 64
 *
 * hlen may exceed what the flags require: the rest is padding, sent as zero and ignored. A server that chains a packet
 * clears MOVED and leaves the words in place, so that nothing has to be shifted. A server that passes a packet on to the
 * second bucket's owner makes it what a mux would have sent by that bucket alone. A server that knows the packet to be a
 * late mux's says so by LATE, which muxes never set.
 */
#ifndef FAIRLEAD_STEER_H
#define FAIRLEAD_STEER_H

#include "types.h"

enum fl_steer_numbers {
	FL_GUE_PORT = 6080,
	FL_GUE_BASE_LEN = 4,
	FL_GUE_PROTO_IPV4 = 4,
	FL_GUE_PROTO_IPV6 = 41,
	FL_GUE_PROTO_NOTICE = 59, /* no next header: behind the steer header is a list of buckets */
	FL_STEER_VERSION = 1,
	FL_STEER_BASE_LEN = 12,
	FL_STEER_MOVED4_LEN = 8, /* 32 bits and an IPv4 address: so are SECOND and MOVED2 */
	FL_STEER_MOVED6_LEN = 20,
	FL_STEER_IPV6_MORE = FL_STEER_MOVED6_LEN - FL_STEER_MOVED4_LEN,
	FL_STEER_TAG_LEN = 8,
	FL_STEER_MAX_LEN = FL_STEER_BASE_LEN + 3 * FL_STEER_MOVED6_LEN + FL_STEER_TAG_LEN,
	FL_STEER_HOPS_MAX = 3, /* a packet that was chained this often is not chained again */
};

/* Instead of a bucket: the packet's port names its backend (protocol/README.md, 6). No ring has this many buckets. */
#define FL_STEER_BUCKET_NONE 0xffffffffU

enum fl_steer_flags {
	FL_STEER_MOVED = 0x01,
	FL_STEER_PREVIOUS6 = 0x02, /* previous is IPv6; only together with MOVED */
	FL_STEER_TAG = 0x04,
	FL_STEER_SECOND = 0x08,
	FL_STEER_SECOND6 = 0x10,     /* the second bucket's owner is IPv6; only together with SECOND */
	FL_STEER_MOVED2 = 0x20,      /* only together with SECOND */
	FL_STEER_PREVIOUS2_6 = 0x40, /* the second bucket's previous owner is IPv6; only together with MOVED2 */
	FL_STEER_LATE = 0x80,        /* a server that sent the packet on had seen a higher generation */
};

/* Offsets from the first byte of the GUE base; of since and previous without SECOND. */
enum fl_steer_offsets {
	FL_STEER_AT_VERSION = FL_GUE_BASE_LEN,
	FL_STEER_AT_FLAGS = FL_GUE_BASE_LEN + 1,
	FL_STEER_AT_SERVICE = FL_GUE_BASE_LEN + 2,
	FL_STEER_AT_BUCKET = FL_GUE_BASE_LEN + 4,
	FL_STEER_AT_GENERATION = FL_GUE_BASE_LEN + 8,
	FL_STEER_AT_SINCE = FL_GUE_BASE_LEN + 12,
	FL_STEER_AT_PREVIOUS = FL_GUE_BASE_LEN + 16,
	FL_STEER_AT_SECOND = FL_STEER_AT_SINCE,
};

_Static_assert(FL_STEER_MAX_LEN == 80, "12 + 3 * 20 + 8");
_Static_assert(FL_STEER_MAX_LEN <= 31 * 4, "hlen has five bits");
_Static_assert(FL_STEER_AT_PREVIOUS + 16 + 2 * FL_STEER_MOVED6_LEN + FL_STEER_TAG_LEN ==
		   FL_GUE_BASE_LEN + FL_STEER_MAX_LEN,
	       "offsets and lengths agree");

struct fl_steer_second {
	fl_u32 bucket;
	struct fl_address owner;
	fl_u32 since;               /* if MOVED2 */
	struct fl_address previous; /* if MOVED2 */
};

struct fl_steer {
	fl_u8 inner_protocol; /* FL_GUE_PROTO_* */
	fl_u8 hops;
	fl_u8 flags;      /* enum fl_steer_flags */
	fl_u8 header_len; /* bytes from the GUE base to the inner packet, padding included */
	fl_u16 service;
	fl_u32 bucket;
	fl_u32 generation;
	fl_u32 since;                  /* if MOVED */
	struct fl_address previous;    /* if MOVED */
	fl_u8 tag[FL_STEER_TAG_LEN];   /* if TAG */
	struct fl_steer_second second; /* if SECOND */
};

/* Why a header is rejected, in the words of vectors, counters and metrics. Order of checks: protocol/README.md, 2. */
enum fl_steer_error {
	FL_STEER_OK = 0,
	FL_STEER_TRUNCATED,       /* shorter than the GUE base, or than hlen says */
	FL_STEER_GUE_VERSION,     /* GUE version is not 0 */
	FL_STEER_GUE_CONTROL,     /* C bit: a control message */
	FL_STEER_GUE_FLAGS,       /* GUE flags or private data that this format never has */
	FL_STEER_INNER_PROTOCOL,  /* neither 4 nor 41; of a notice: not 59 */
	FL_STEER_LENGTH,          /* hlen too small for the flags */
	FL_STEER_VERSION_UNKNOWN, /* steer version is not 1 */
	FL_STEER_FLAGS_UNKNOWN,   /* padding of ipip.h is not zero; of the flags every bit has a meaning */
	FL_STEER_PREVIOUS6_ALONE, /* PREVIOUS6 without MOVED */
	FL_STEER_GENERATION_ZERO,
	FL_STEER_NOTICE, /* a notice with hops, LATE, a bucket or a second one, or whose payload contradicts its flags */
	FL_STEER_SECOND6_ALONE,     /* SECOND6 without SECOND */
	FL_STEER_MOVED2_ALONE,      /* MOVED2 without SECOND */
	FL_STEER_PREVIOUS2_6_ALONE, /* PREVIOUS2_6 without MOVED2 */
	FL_STEER_SEGMENTS,          /* of srv6.h: more than one segment left, or not one exactly with SECOND */
	FL_STEER_ERRORS,
};

/*
 * Bytes of the parts that precede the move, the tag, and the end of a header, from the generation on, by flags that a
 * parser accepts. Without branches, as each of them multiplies the states that the eBPF verifier looks at.
 */
FL_INLINE fl_u32 fl_steer_second_len(fl_u8 flags)
{
	return (flags & FL_STEER_SECOND) / FL_STEER_SECOND * FL_STEER_MOVED4_LEN +
	       (flags & FL_STEER_SECOND6) / FL_STEER_SECOND6 * FL_STEER_IPV6_MORE;
}

FL_INLINE fl_u32 fl_steer_before_move(fl_u8 flags)
{
	return fl_steer_second_len(flags) + (flags & FL_STEER_MOVED2) / FL_STEER_MOVED2 * FL_STEER_MOVED4_LEN +
	       (flags & FL_STEER_PREVIOUS2_6) / FL_STEER_PREVIOUS2_6 * FL_STEER_IPV6_MORE;
}

FL_INLINE fl_u32 fl_steer_before_tag(fl_u8 flags)
{
	return fl_steer_before_move(flags) + (flags & FL_STEER_MOVED) / FL_STEER_MOVED * FL_STEER_MOVED4_LEN +
	       (flags & FL_STEER_PREVIOUS6) / FL_STEER_PREVIOUS6 * FL_STEER_IPV6_MORE;
}

/* Length of a steer header with these flags, without the GUE base. */
FL_INLINE fl_u32 fl_steer_len(fl_u8 flags)
{
	return FL_STEER_BASE_LEN + fl_steer_before_tag(flags) +
	       (flags & FL_STEER_TAG) / FL_STEER_TAG * FL_STEER_TAG_LEN;
}

/*
 * The part of a header that is so many bytes behind the generation. The empty statement hides from clang how `at` came
 * about: it would advance end instead, which the eBPF verifier refuses.
 */
FL_INLINE fl_u8 *fl_steer_part(const fl_u8 *data, fl_u32 at)
{
	__asm__ volatile("" : "+r"(at));
	return (fl_u8 *)data + FL_STEER_AT_SINCE + at;
}

/* The flags of the second bucket that lack the one which they need; FL_STEER_OK if none does. */
FL_INLINE enum fl_steer_error fl_steer_check_second(fl_u8 flags)
{
	if ((flags & FL_STEER_SECOND6) && !(flags & FL_STEER_SECOND))
		return FL_STEER_SECOND6_ALONE;
	if ((flags & FL_STEER_MOVED2) && !(flags & FL_STEER_SECOND))
		return FL_STEER_MOVED2_ALONE;
	if ((flags & FL_STEER_PREVIOUS2_6) && !(flags & FL_STEER_MOVED2))
		return FL_STEER_PREVIOUS2_6_ALONE;
	return FL_STEER_OK;
}

/* Loads 32 bits and the address behind them. False if they end beyond end. */
FL_INLINE bool fl_steer_load(const fl_u8 *p, const fl_u8 *end, bool is_ipv6, fl_u32 *word, struct fl_address *address)
{
	if (is_ipv6) {
		if (p + FL_STEER_MOVED6_LEN > end)
			return false;
		*word = fl_load_be32(p);
		fl_copy(address->bytes, p + 4, 16);
		return true;
	}
	if (p + FL_STEER_MOVED4_LEN > end)
		return false;
	*word = fl_load_be32(p);
	*address = fl_address_from_ipv4(p + 4);
	return true;
}

/* Writes 32 bits and an address; returns their length. */
FL_INLINE fl_u32 fl_steer_store(fl_u8 *p, bool is_ipv6, fl_u32 word, const struct fl_address *address)
{
	fl_store_be32(p, word);
	if (is_ipv6) {
		fl_copy(p + 4, address->bytes, 16);
		return FL_STEER_MOVED6_LEN;
	}
	fl_copy(p + 4, address->bytes + 12, 4);
	return FL_STEER_MOVED4_LEN;
}

/* What fl_steer_parse() and fl_notice_parse() share: the header must end within len bytes, too. */
FL_INLINE enum fl_steer_error fl_steer_parse_either(const fl_u8 *data, const fl_u8 *end, fl_u32 len, bool is_notice,
						    struct fl_steer *out)
{
	fl_u8 protocol, flags;
	enum fl_steer_error error;
	const fl_u8 *p;
	fl_u32 steer_len;

	if (len < FL_GUE_BASE_LEN || data + FL_GUE_BASE_LEN > end)
		return FL_STEER_TRUNCATED;
	if (data[0] >> 6)
		return FL_STEER_GUE_VERSION;
	if (data[0] & 0x20)
		return FL_STEER_GUE_CONTROL;
	if (data[2] || data[3])
		return FL_STEER_GUE_FLAGS;
	protocol = data[1];
	if (is_notice ? protocol != FL_GUE_PROTO_NOTICE
		      : protocol != FL_GUE_PROTO_IPV4 && protocol != FL_GUE_PROTO_IPV6)
		return FL_STEER_INNER_PROTOCOL;
	steer_len = (fl_u32)(data[0] & 0x1f) * 4;
	if (steer_len < FL_STEER_BASE_LEN)
		return FL_STEER_LENGTH;
	if (len - FL_GUE_BASE_LEN < steer_len)
		return FL_STEER_TRUNCATED;
	/* The second comparison implies the first, but the eBPF verifier accepts only constant ones as proof. */
	if (data + FL_GUE_BASE_LEN + FL_STEER_BASE_LEN > end || data + FL_GUE_BASE_LEN + steer_len > end)
		return FL_STEER_TRUNCATED;
	if (data[FL_STEER_AT_VERSION] >> 4 != FL_STEER_VERSION)
		return FL_STEER_VERSION_UNKNOWN;
	flags = data[FL_STEER_AT_FLAGS];
	if ((flags & FL_STEER_PREVIOUS6) && !(flags & FL_STEER_MOVED))
		return FL_STEER_PREVIOUS6_ALONE;
	error = fl_steer_check_second(flags);
	if (error != FL_STEER_OK)
		return error;
	if (steer_len < fl_steer_len(flags))
		return FL_STEER_LENGTH;
	if (!fl_load_be32(data + FL_STEER_AT_GENERATION))
		return FL_STEER_GENERATION_ZERO;
	/* From here on nothing is refused: end is behind the header. */
	__builtin_memset(out, 0, sizeof(*out));
	out->inner_protocol = protocol;
	out->hops = data[FL_STEER_AT_VERSION] & 15;
	out->flags = flags;
	out->header_len = (fl_u8)(FL_GUE_BASE_LEN + steer_len);
	out->service = fl_load_be16(data + FL_STEER_AT_SERVICE);
	out->bucket = fl_load_be32(data + FL_STEER_AT_BUCKET);
	out->generation = fl_load_be32(data + FL_STEER_AT_GENERATION);
	if ((flags & FL_STEER_SECOND) && !fl_steer_load(fl_steer_part(data, 0), end, flags & FL_STEER_SECOND6,
							&out->second.bucket, &out->second.owner))
		return FL_STEER_TRUNCATED;
	if ((flags & FL_STEER_MOVED2) &&
	    !fl_steer_load(fl_steer_part(data, fl_steer_second_len(flags)), end, flags & FL_STEER_PREVIOUS2_6,
			   &out->second.since, &out->second.previous))
		return FL_STEER_TRUNCATED;
	if ((flags & FL_STEER_MOVED) && !fl_steer_load(fl_steer_part(data, fl_steer_before_move(flags)), end,
						       flags & FL_STEER_PREVIOUS6, &out->since, &out->previous))
		return FL_STEER_TRUNCATED;
	if (flags & FL_STEER_TAG) {
		p = fl_steer_part(data, fl_steer_before_tag(flags));
		if (p + FL_STEER_TAG_LEN > end)
			return FL_STEER_TRUNCATED;
		fl_copy(out->tag, p, FL_STEER_TAG_LEN);
	}
	return FL_STEER_OK;
}

/*
 * Parses GUE base and steer header from data to end (exclusive). Fills in all of *out, only if FL_STEER_OK.
 * eBPF: data and end are the packet's pointers; a comparison with end precedes every access.
 */
FL_INLINE enum fl_steer_error fl_steer_parse(const fl_u8 *data, const fl_u8 *end, struct fl_steer *out)
{
	return fl_steer_parse_either(data, end, 0xffffffffU, false, out);
}

/* The flags of a header with these fields: those of an address's family are derived from it, the others taken. */
FL_INLINE fl_u8 fl_steer_flags_of(const struct fl_steer *s)
{
	fl_u8 flags = s->flags & (FL_STEER_MOVED | FL_STEER_TAG | FL_STEER_SECOND | FL_STEER_LATE);

	if ((flags & FL_STEER_MOVED) && !fl_address_is_ipv4(&s->previous))
		flags |= FL_STEER_PREVIOUS6;
	if (!(flags & FL_STEER_SECOND))
		return flags;
	if (!fl_address_is_ipv4(&s->second.owner))
		flags |= FL_STEER_SECOND6;
	if (s->flags & FL_STEER_MOVED2)
		flags |=
		    fl_address_is_ipv4(&s->second.previous) ? FL_STEER_MOVED2 : FL_STEER_MOVED2 | FL_STEER_PREVIOUS2_6;
	return flags;
}

/*
 * Writes GUE base and steer header; returns their length. The flags for IPv6 are derived from the addresses, MOVED2
 * without SECOND and header_len are ignored. out must have room for FL_GUE_BASE_LEN + FL_STEER_MAX_LEN bytes.
 */
FL_INLINE fl_u32 fl_steer_write(const struct fl_steer *s, fl_u8 *out)
{
	fl_u8 flags = fl_steer_flags_of(s);
	fl_u32 at = FL_GUE_BASE_LEN + FL_STEER_BASE_LEN;

	out[0] = (fl_u8)(fl_steer_len(flags) / 4);
	out[1] = s->inner_protocol;
	out[2] = 0;
	out[3] = 0;
	out[FL_STEER_AT_VERSION] = (fl_u8)(FL_STEER_VERSION << 4 | (s->hops & 15));
	out[FL_STEER_AT_FLAGS] = flags;
	fl_store_be16(out + FL_STEER_AT_SERVICE, s->service);
	fl_store_be32(out + FL_STEER_AT_BUCKET, s->bucket);
	fl_store_be32(out + FL_STEER_AT_GENERATION, s->generation);
	if (flags & FL_STEER_SECOND)
		at += fl_steer_store(out + at, flags & FL_STEER_SECOND6, s->second.bucket, &s->second.owner);
	if (flags & FL_STEER_MOVED2)
		at += fl_steer_store(out + at, flags & FL_STEER_PREVIOUS2_6, s->second.since, &s->second.previous);
	if (flags & FL_STEER_MOVED)
		at += fl_steer_store(out + at, flags & FL_STEER_PREVIOUS6, s->since, &s->previous);
	if (flags & FL_STEER_TAG) {
		fl_copy(out + at, s->tag, FL_STEER_TAG_LEN);
		at += FL_STEER_TAG_LEN;
	}
	return at;
}

/* Clears 32 bits and the address behind them. False if they end beyond end. */
FL_INLINE bool fl_steer_clear(fl_u8 *p, const fl_u8 *end, bool is_ipv6)
{
	if (is_ipv6) {
		if (p + FL_STEER_MOVED6_LEN > end)
			return false;
		fl_clear(p, FL_STEER_MOVED6_LEN);
		return true;
	}
	if (p + FL_STEER_MOVED4_LEN > end)
		return false;
	fl_clear(p, FL_STEER_MOVED4_LEN);
	return true;
}

/* Clears the words of MOVED and TAG. False if they end beyond end. */
FL_INLINE bool fl_steer_clear_move(fl_u8 *data, const fl_u8 *end, fl_u8 flags)
{
	fl_u8 *tag = fl_steer_part(data, fl_steer_before_tag(flags));

	if ((flags & FL_STEER_MOVED) &&
	    !fl_steer_clear(fl_steer_part(data, fl_steer_before_move(flags)), end, flags & FL_STEER_PREVIOUS6))
		return false;
	if (flags & FL_STEER_TAG) {
		if (tag + FL_STEER_TAG_LEN > end)
			return false;
		fl_clear(tag, FL_STEER_TAG_LEN);
	}
	return true;
}

/* The flags of a parsed header in *flags. False if end is less than it was for the parser. */
FL_INLINE bool fl_steer_reload(const fl_u8 *data, const fl_u8 *end, fl_u8 *flags)
{
	if (data + FL_GUE_BASE_LEN + FL_STEER_BASE_LEN > end)
		return false;
	*flags = data[FL_STEER_AT_FLAGS];
	return fl_steer_part(data, fl_steer_len(*flags) - FL_STEER_BASE_LEN) <= end;
}

/*
 * Rewrites a parsed header with hops < FL_STEER_HOPS_MAX for chaining: one more hop, no move and no tag, whose words
 * become padding; SECOND, MOVED2 and LATE stay. A server with the cluster's key then adds a new tag (tag.h). Returns
 * false, with nothing changed, only if end is less than it was for the parser.
 */
FL_INLINE bool fl_steer_chain(fl_u8 *data, const fl_u8 *end)
{
	fl_u8 flags;

	if (!fl_steer_reload(data, end, &flags) || !fl_steer_clear_move(data, end, flags))
		return false;
	data[FL_STEER_AT_FLAGS] = flags & (fl_u8) ~(FL_STEER_MOVED | FL_STEER_PREVIOUS6 | FL_STEER_TAG);
	data[FL_STEER_AT_VERSION]++;
	return true;
}

/* The flags of the header that fl_steer_promote() makes of one with these. */
FL_INLINE fl_u8 fl_steer_promoted(fl_u8 flags)
{
	return (flags & FL_STEER_MOVED2) / FL_STEER_MOVED2 * FL_STEER_MOVED |
	       (flags & FL_STEER_PREVIOUS2_6) / FL_STEER_PREVIOUS2_6 * FL_STEER_PREVIOUS6 | (flags & FL_STEER_LATE);
}

/*
 * Rewrites a parsed header that has SECOND for its second bucket: what a mux would have sent by that bucket alone, with
 * hops 0, and padding behind; LATE stays. It has no tag; a server with the cluster's key then adds one (tag.h). Returns false, with
 * nothing changed, if the header has no second bucket, or end is less than it was for the parser.
 */
FL_INLINE bool fl_steer_promote(fl_u8 *data, const fl_u8 *end)
{
	fl_u8 *first = fl_steer_part(data, 0), *moved;
	struct fl_steer_second second;
	fl_u8 flags;

	if (!fl_steer_reload(data, end, &flags) || !(flags & FL_STEER_SECOND) ||
	    !fl_steer_load(first, end, flags & FL_STEER_SECOND6, &second.bucket, &second.owner) ||
	    !fl_steer_clear(first, end, flags & FL_STEER_SECOND6) || !fl_steer_clear_move(data, end, flags))
		return false;
	if (flags & FL_STEER_MOVED2) {
		moved = fl_steer_part(data, fl_steer_second_len(flags));
		if (!fl_steer_load(moved, end, flags & FL_STEER_PREVIOUS2_6, &second.since, &second.previous) ||
		    !fl_steer_clear(moved, end, flags & FL_STEER_PREVIOUS2_6))
			return false;
		/* Both moves have the same form, so there is room. */
		if (first + FL_STEER_MOVED4_LEN > end ||
		    ((flags & FL_STEER_PREVIOUS2_6) && first + FL_STEER_MOVED6_LEN > end))
			return false;
		fl_steer_store(first, flags & FL_STEER_PREVIOUS2_6, second.since, &second.previous);
	}
	data[FL_STEER_AT_VERSION] = FL_STEER_VERSION << 4;
	data[FL_STEER_AT_FLAGS] = fl_steer_promoted(flags);
	fl_store_be32(data + FL_STEER_AT_BUCKET, second.bucket);
	return true;
}

/* Marks a header that fl_steer_chain() or fl_steer_promote() has rewritten, before it gets a tag. */
FL_INLINE bool fl_steer_mark_late(fl_u8 *data, const fl_u8 *end)
{
	if (data + FL_GUE_BASE_LEN + FL_STEER_BASE_LEN > end)
		return false;
	data[FL_STEER_AT_FLAGS] |= FL_STEER_LATE;
	return true;
}

#endif
