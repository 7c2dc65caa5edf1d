/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The steer header: what a mux tells a server about a packet, inside GUE (UDP port 6080, version 0).
 *
 *	outer IPv4/IPv6 | UDP | GUE base 4 | steer 12 | since 4 + previous 4/16 if MOVED | tag 8 if TAG |
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
 *	  MOVED   12  since 32				Unix seconds of the bucket's last move
 *	          16  previous 32 or 128		who owned the bucket before
 *	  TAG         tag 64
 *
 * hlen may exceed what the flags require: the rest is padding, sent as zero and ignored. A server that chains a packet
 * clears MOVED and leaves the words in place, so that nothing has to be shifted.
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
	FL_STEER_MOVED4_LEN = 8,
	FL_STEER_MOVED6_LEN = 20,
	FL_STEER_TAG_LEN = 8,
	FL_STEER_MAX_LEN = FL_STEER_BASE_LEN + FL_STEER_MOVED6_LEN + FL_STEER_TAG_LEN,
	FL_STEER_HOPS_MAX = 3, /* a packet that was chained this often is not chained again */
};

/* Instead of a bucket: the packet's port names its backend (protocol/README.md, 6). No ring has this many buckets. */
#define FL_STEER_BUCKET_NONE 0xffffffffU

enum fl_steer_flags {
	FL_STEER_MOVED = 0x01,
	FL_STEER_PREVIOUS6 = 0x02, /* previous is IPv6; only together with MOVED */
	FL_STEER_TAG = 0x04,
	FL_STEER_FLAGS = FL_STEER_MOVED | FL_STEER_PREVIOUS6 | FL_STEER_TAG,
};

/* Offsets from the first byte of the GUE base. */
enum fl_steer_offsets {
	FL_STEER_AT_VERSION = FL_GUE_BASE_LEN,
	FL_STEER_AT_FLAGS = FL_GUE_BASE_LEN + 1,
	FL_STEER_AT_SERVICE = FL_GUE_BASE_LEN + 2,
	FL_STEER_AT_BUCKET = FL_GUE_BASE_LEN + 4,
	FL_STEER_AT_GENERATION = FL_GUE_BASE_LEN + 8,
	FL_STEER_AT_SINCE = FL_GUE_BASE_LEN + 12,
	FL_STEER_AT_PREVIOUS = FL_GUE_BASE_LEN + 16,
};

_Static_assert(FL_STEER_MAX_LEN == 40, "12 + 20 + 8");
_Static_assert(FL_STEER_AT_PREVIOUS + 16 + FL_STEER_TAG_LEN == FL_GUE_BASE_LEN + FL_STEER_MAX_LEN,
	       "offsets and lengths agree");

struct fl_steer {
	fl_u8 inner_protocol; /* FL_GUE_PROTO_* */
	fl_u8 hops;
	fl_u8 flags;      /* enum fl_steer_flags */
	fl_u8 header_len; /* bytes from the GUE base to the inner packet, padding included */
	fl_u16 service;
	fl_u32 bucket;
	fl_u32 generation;
	fl_u32 since;                /* if MOVED */
	struct fl_address previous;  /* if MOVED */
	fl_u8 tag[FL_STEER_TAG_LEN]; /* if TAG */
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
	FL_STEER_FLAGS_UNKNOWN,   /* a flag that this version does not define */
	FL_STEER_PREVIOUS6_ALONE, /* PREVIOUS6 without MOVED */
	FL_STEER_GENERATION_ZERO,
	FL_STEER_NOTICE, /* a notice with hops, with a bucket, or with a payload that contradicts its flags */
	FL_STEER_ERRORS,
};

/* Length of a steer header with these flags, without the GUE base. */
FL_INLINE fl_u32 fl_steer_len(fl_u8 flags)
{
	fl_u32 len = FL_STEER_BASE_LEN;

	if (flags & FL_STEER_MOVED)
		len += flags & FL_STEER_PREVIOUS6 ? FL_STEER_MOVED6_LEN : FL_STEER_MOVED4_LEN;
	if (flags & FL_STEER_TAG)
		len += FL_STEER_TAG_LEN;
	return len;
}

/* What fl_steer_parse() and fl_notice_parse() share: the header must end within len bytes, too. */
FL_INLINE enum fl_steer_error fl_steer_parse_either(const fl_u8 *data, const fl_u8 *end, fl_u32 len, bool is_notice,
						    struct fl_steer *out)
{
	struct fl_steer s = {0};
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
	s.inner_protocol = data[1];
	if (is_notice ? s.inner_protocol != FL_GUE_PROTO_NOTICE
		      : s.inner_protocol != FL_GUE_PROTO_IPV4 && s.inner_protocol != FL_GUE_PROTO_IPV6)
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
	s.hops = data[FL_STEER_AT_VERSION] & 15;
	s.flags = data[FL_STEER_AT_FLAGS];
	if (s.flags & ~FL_STEER_FLAGS)
		return FL_STEER_FLAGS_UNKNOWN;
	if ((s.flags & FL_STEER_PREVIOUS6) && !(s.flags & FL_STEER_MOVED))
		return FL_STEER_PREVIOUS6_ALONE;
	if (steer_len < fl_steer_len(s.flags))
		return FL_STEER_LENGTH;
	s.header_len = (fl_u8)(FL_GUE_BASE_LEN + steer_len);
	s.service = fl_load_be16(data + FL_STEER_AT_SERVICE);
	s.bucket = fl_load_be32(data + FL_STEER_AT_BUCKET);
	s.generation = fl_load_be32(data + FL_STEER_AT_GENERATION);
	if (!s.generation)
		return FL_STEER_GENERATION_ZERO;
	p = data + FL_STEER_AT_SINCE;
	if (s.flags & FL_STEER_PREVIOUS6) {
		if (p + FL_STEER_MOVED6_LEN > end)
			return FL_STEER_TRUNCATED;
		s.since = fl_load_be32(p);
		__builtin_memcpy(s.previous.bytes, p + 4, 16);
		p += FL_STEER_MOVED6_LEN;
	} else if (s.flags & FL_STEER_MOVED) {
		if (p + FL_STEER_MOVED4_LEN > end)
			return FL_STEER_TRUNCATED;
		s.since = fl_load_be32(p);
		s.previous = fl_address_from_ipv4(p + 4);
		p += FL_STEER_MOVED4_LEN;
	}
	if (s.flags & FL_STEER_TAG) {
		if (p + FL_STEER_TAG_LEN > end)
			return FL_STEER_TRUNCATED;
		__builtin_memcpy(s.tag, p, FL_STEER_TAG_LEN);
	}
	*out = s;
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

/*
 * Writes GUE base and steer header; returns their length. PREVIOUS6 is derived from the address, header_len is ignored.
 * out must have room for FL_GUE_BASE_LEN + FL_STEER_MAX_LEN bytes.
 */
FL_INLINE fl_u32 fl_steer_write(const struct fl_steer *s, fl_u8 *out)
{
	fl_u8 flags = s->flags & (FL_STEER_MOVED | FL_STEER_TAG);
	fl_u32 at = FL_GUE_BASE_LEN + FL_STEER_BASE_LEN;

	if ((flags & FL_STEER_MOVED) && !fl_address_is_ipv4(&s->previous))
		flags |= FL_STEER_PREVIOUS6;
	out[0] = (fl_u8)(fl_steer_len(flags) / 4);
	out[1] = s->inner_protocol;
	out[2] = 0;
	out[3] = 0;
	out[FL_STEER_AT_VERSION] = (fl_u8)(FL_STEER_VERSION << 4 | (s->hops & 15));
	out[FL_STEER_AT_FLAGS] = flags;
	fl_store_be16(out + FL_STEER_AT_SERVICE, s->service);
	fl_store_be32(out + FL_STEER_AT_BUCKET, s->bucket);
	fl_store_be32(out + FL_STEER_AT_GENERATION, s->generation);
	if (flags & FL_STEER_MOVED) {
		fl_store_be32(out + at, s->since);
		if (flags & FL_STEER_PREVIOUS6) {
			__builtin_memcpy(out + at + 4, s->previous.bytes, 16);
			at += FL_STEER_MOVED6_LEN;
		} else {
			__builtin_memcpy(out + at + 4, s->previous.bytes + 12, 4);
			at += FL_STEER_MOVED4_LEN;
		}
	}
	if (flags & FL_STEER_TAG) {
		__builtin_memcpy(out + at, s->tag, FL_STEER_TAG_LEN);
		at += FL_STEER_TAG_LEN;
	}
	return at;
}

/*
 * Rewrites a parsed header with hops < FL_STEER_HOPS_MAX for chaining: one more hop, no move and no tag, whose words
 * become padding. A server with the cluster's key then adds a new tag (tag.h). Returns false, with nothing changed,
 * only if end is less than it was for the parser.
 */
FL_INLINE bool fl_steer_chain(fl_u8 *data, const fl_u8 *end)
{
	fl_u8 *rest = data + FL_STEER_AT_SINCE;
	fl_u8 flags;

	if (rest > end)
		return false;
	flags = data[FL_STEER_AT_FLAGS];
	if (data + FL_GUE_BASE_LEN + fl_steer_len(flags) > end)
		return false;
	/* The comparisons below are implied, but the eBPF verifier accepts only constant ones as proof. */
	if (flags & FL_STEER_PREVIOUS6) {
		if (rest + FL_STEER_MOVED6_LEN > end)
			return false;
		__builtin_memset(rest, 0, FL_STEER_MOVED6_LEN);
		rest += FL_STEER_MOVED6_LEN;
	} else if (flags & FL_STEER_MOVED) {
		if (rest + FL_STEER_MOVED4_LEN > end)
			return false;
		__builtin_memset(rest, 0, FL_STEER_MOVED4_LEN);
		rest += FL_STEER_MOVED4_LEN;
	}
	if (flags & FL_STEER_TAG) {
		if (rest + FL_STEER_TAG_LEN > end)
			return false;
		__builtin_memset(rest, 0, FL_STEER_TAG_LEN);
	}
	data[FL_STEER_AT_FLAGS] = 0;
	data[FL_STEER_AT_VERSION]++;
	return true;
}

#endif
