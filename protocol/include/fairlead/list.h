/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The list header: what a mux tells a server about a packet, inside GUE (UDP port 6080, version 0).
 *
 *	outer IPv4/IPv6 | UDP | GUE base 4 | list 8 | candidates, 4 or 16 each | tag 8 if TAG | inner packet
 *
 *	GUE base   0  version:2 | C:1 | hlen:5		hlen: 32-bit words of everything up to the inner packet
 *	           1  protocol				4 (IPv4) or 41 (IPv6) of the inner packet; 59: a notice
 *	           2  flags 16				0
 *	list       0  version:4 | left:4		version 2; how many candidates have not been tried
 *	           1  count:4 | flags:4			how many candidates are listed; FL_LIST_*
 *	           2  service 16
 *	           4  generation 32			0 is never sent
 *	           8  candidates
 *	  TAG         tag 64
 *
 * The candidates are all servers that may know the packet's connection, in the order in which they are tried, without the
 * one that has the packet: that one is the outer destination. A server that sends the packet on writes its own address in
 * place of the candidate's that it sends it to (fl_list_forward()). So the header never changes its length, and whoever
 * has the packet knows the order that the mux wrote: the first count - left candidates, itself, and the others. The tag
 * covers that order (list_tag.h), and no server has to tag it.
 *
 * Servers that are tried only get more: a packet ends after at most FL_LIST_MAX hops.
 */
#ifndef FAIRLEAD_LIST_H
#define FAIRLEAD_LIST_H

#include "types.h"

enum fl_list_numbers {
	FL_LIST_GUE_PORT = 6080,
	FL_LIST_GUE_LEN = 4,
	FL_LIST_GUE_IPV4 = 4,
	FL_LIST_GUE_IPV6 = 41,
	FL_LIST_GUE_NOTICE = 59,
	FL_LIST_VERSION = 2,
	FL_LIST_BASE_LEN = 8,
	FL_LIST_TAG_LEN = 8,
	FL_LIST_MAX = 6,                       /* candidates, and what a ring names of a bucket */
	FL_LIST_SHORT_BYTES = FL_LIST_MAX * 4, /* of the most candidates of IPv4 */
	FL_LIST_LONG_BYTES = FL_LIST_MAX * 16,
	FL_LIST_MAX_LEN = FL_LIST_GUE_LEN + FL_LIST_BASE_LEN + FL_LIST_LONG_BYTES + FL_LIST_TAG_LEN,
};

enum fl_list_flags {
	FL_LIST_TAG = 0x01,
	FL_LIST_IPV6 = 0x02, /* candidates have 16 bytes: one of them, or the first destination, is IPv6 */
	FL_LIST_LATE = 0x04, /* the list was cut, or a server before this one may know more than the mux */
	FL_LIST_KEY = 0x08,  /* which of two keys, while they are replaced; only together with TAG */
};

/* Offsets from the first byte of the GUE base. */
enum fl_list_offsets {
	FL_LIST_AT_VERSION = FL_LIST_GUE_LEN,
	FL_LIST_AT_FLAGS = FL_LIST_GUE_LEN + 1,
	FL_LIST_AT_SERVICE = FL_LIST_GUE_LEN + 2,
	FL_LIST_AT_GENERATION = FL_LIST_GUE_LEN + 4,
	FL_LIST_AT_CANDIDATES = FL_LIST_GUE_LEN + FL_LIST_BASE_LEN,
};

_Static_assert(FL_LIST_MAX_LEN - FL_LIST_GUE_LEN <= 31 * 4, "hlen has five bits");

/*
 * For each place of a list, the unused ones included: by a constant bound and, where clang must, unrolled, so that the
 * eBPF verifier knows every offset.
 */
#define FL_LIST_EACH(place) for ((place) = 0; (place) < FL_LIST_MAX; (place)++)
#ifdef __clang__
#define FL_LIST_UNROLLED(place) _Pragma("unroll") FL_LIST_EACH (place)
#else
#define FL_LIST_UNROLLED(place) FL_LIST_EACH (place)
#endif

struct fl_list {
	fl_u8 inner_protocol; /* FL_LIST_GUE_* */
	fl_u8 flags;          /* enum fl_list_flags */
	fl_u8 count, left;    /* left <= count <= FL_LIST_MAX */
	fl_u8 header_len;     /* bytes from the GUE base to the inner packet */
	fl_u16 service;
	fl_u32 generation;
	struct fl_address candidate[FL_LIST_MAX]; /* none from count on */
	fl_u8 tag[FL_LIST_TAG_LEN];               /* if TAG */
};

/* Why a header is rejected, in the words of vectors, counters and metrics, in the order of checks. */
enum fl_list_error {
	FL_LIST_OK = 0,
	FL_LIST_TRUNCATED,      /* shorter than the GUE base, or than hlen says */
	FL_LIST_GUE_VERSION,    /* GUE version is not 0 */
	FL_LIST_GUE_CONTROL,    /* C bit: a control message */
	FL_LIST_GUE_FLAGS,      /* GUE flags that this format never has */
	FL_LIST_INNER_PROTOCOL, /* neither 4 nor 41; of a notice: not 59 */
	FL_LIST_LENGTH,         /* hlen is not what count and flags need */
	FL_LIST_VERSION_UNKNOWN,
	FL_LIST_COUNT,     /* more than FL_LIST_MAX candidates */
	FL_LIST_LEFT,      /* more left than listed */
	FL_LIST_KEY_ALONE, /* KEY without TAG */
	FL_LIST_GENERATION_ZERO,
	FL_LIST_FAMILY,        /* it came to an IPv6 address, and IPV6 is not set */
	FL_LIST_NOTICE,        /* a notice with candidates, IPV6, or something behind it (notice.h) */
	FL_LIST_FLAGS_UNKNOWN, /* in an SRH: a flag that it never has */
	FL_LIST_SEGMENTS,      /* in an SRH: the segment that Segments Left names is not the destination */
	FL_LIST_ERRORS,
};

FL_INLINE bool fl_list_has_room(fl_u32 count)
{
	return count < FL_LIST_MAX;
}

FL_INLINE bool fl_list_is_too_long(fl_u32 count)
{
	return count > FL_LIST_MAX;
}

FL_INLINE fl_u32 fl_list_stride(fl_u8 flags)
{
	return flags & FL_LIST_IPV6 ? 16 : 4;
}

/* Bytes from the GUE base to the inner packet. */
FL_INLINE fl_u32 fl_list_len(fl_u8 count, fl_u8 flags)
{
	return FL_LIST_AT_CANDIDATES + count * fl_list_stride(flags) +
	       (flags & FL_LIST_TAG) / FL_LIST_TAG * FL_LIST_TAG_LEN;
}

/* Reads a candidate. The offset is constant where index is, as the eBPF verifier wants it. */
FL_INLINE bool fl_list_load(const fl_u8 *data, const fl_u8 *end, bool is_ipv6, fl_u32 index, struct fl_address *out)
{
	const fl_u8 *at = data + FL_LIST_AT_CANDIDATES + index * (is_ipv6 ? 16 : 4);

	if (at + (is_ipv6 ? 16 : 4) > end)
		return false;
	if (is_ipv6)
		fl_copy(out->bytes, at, 16);
	else
		*out = fl_address_from_ipv4(at);
	return true;
}

FL_INLINE bool fl_list_load_all(const fl_u8 *data, const fl_u8 *end, struct fl_list *out)
{
	fl_u32 i;

	FL_LIST_UNROLLED (i)
		if (i < out->count &&
		    !(out->flags & FL_LIST_IPV6 ? fl_list_load(data, end, true, i, &out->candidate[i])
						: fl_list_load(data, end, false, i, &out->candidate[i])))
			return false;
	return true;
}

/* The empty statement hides from clang how `at` came about: it would advance end instead, which the verifier refuses. */
FL_INLINE bool fl_list_load_tag(const fl_u8 *data, const fl_u8 *end, struct fl_list *out)
{
	fl_u32 at = out->header_len - FL_LIST_TAG_LEN;
	const fl_u8 *tag;

	__asm__ volatile("" : "+r"(at));
	tag = data + (at & 127);
	if (tag + FL_LIST_TAG_LEN > end)
		return false;
	fl_copy(out->tag, tag, FL_LIST_TAG_LEN);
	return true;
}

/* The GUE base, of which hlen must be within len and end. */
FL_INLINE enum fl_list_error fl_list_parse_gue(const fl_u8 *data, const fl_u8 *end, fl_u32 len, bool is_notice)
{
	fl_u32 words;

	if (len < FL_LIST_GUE_LEN || data + FL_LIST_GUE_LEN > end)
		return FL_LIST_TRUNCATED;
	if (data[0] >> 6)
		return FL_LIST_GUE_VERSION;
	if (data[0] & 0x20)
		return FL_LIST_GUE_CONTROL;
	if (data[2] || data[3])
		return FL_LIST_GUE_FLAGS;
	if (is_notice ? data[1] != FL_LIST_GUE_NOTICE : data[1] != FL_LIST_GUE_IPV4 && data[1] != FL_LIST_GUE_IPV6)
		return FL_LIST_INNER_PROTOCOL;
	words = data[0] & 0x1f;
	if (words * 4 < FL_LIST_BASE_LEN)
		return FL_LIST_LENGTH;
	/* The last comparison implies the one before, but the eBPF verifier accepts only a constant one as proof. */
	if (len - FL_LIST_GUE_LEN < words * 4 || data + FL_LIST_AT_CANDIDATES > end ||
	    data + FL_LIST_GUE_LEN + words * 4 > end)
		return FL_LIST_TRUNCATED;
	return FL_LIST_OK;
}

/* The first bytes behind it, once they are known to be there. */
FL_INLINE enum fl_list_error fl_list_check(const fl_u8 *data, bool to_ipv6)
{
	fl_u8 left = data[FL_LIST_AT_VERSION] & 15, count = data[FL_LIST_AT_FLAGS] >> 4;
	fl_u8 flags = data[FL_LIST_AT_FLAGS] & 15;

	if (data[FL_LIST_AT_VERSION] >> 4 != FL_LIST_VERSION)
		return FL_LIST_VERSION_UNKNOWN;
	if (fl_list_is_too_long(count))
		return FL_LIST_COUNT;
	if (left > count)
		return FL_LIST_LEFT;
	if ((flags & FL_LIST_KEY) && !(flags & FL_LIST_TAG))
		return FL_LIST_KEY_ALONE;
	if (FL_LIST_GUE_LEN + (fl_u32)(data[0] & 0x1f) * 4 != fl_list_len(count, flags))
		return FL_LIST_LENGTH;
	if (!fl_load_be32(data + FL_LIST_AT_GENERATION))
		return FL_LIST_GENERATION_ZERO;
	return to_ipv6 && !(flags & FL_LIST_IPV6) ? FL_LIST_FAMILY : FL_LIST_OK;
}

/* fl_list_parse() without candidates and tag, which stay what they were. */
FL_INLINE enum fl_list_error fl_list_parse_head(const fl_u8 *data, const fl_u8 *end, fl_u32 len, bool is_notice,
						bool to_ipv6, struct fl_list *out)
{
	enum fl_list_error error = fl_list_parse_gue(data, end, len, is_notice);

	if (error != FL_LIST_OK)
		return error;
	error = fl_list_check(data, to_ipv6);
	if (error != FL_LIST_OK)
		return error;
	/* From here on nothing is refused: end is behind the header. */
	out->inner_protocol = data[1];
	out->flags = data[FL_LIST_AT_FLAGS] & 15;
	out->count = data[FL_LIST_AT_FLAGS] >> 4;
	out->left = data[FL_LIST_AT_VERSION] & 15;
	out->header_len = (fl_u8)fl_list_len(out->count, out->flags);
	out->service = fl_load_be16(data + FL_LIST_AT_SERVICE);
	out->generation = fl_load_be32(data + FL_LIST_AT_GENERATION);
	return FL_LIST_OK;
}

/*
 * Parses GUE base and list header from data to end (exclusive), of which len bytes are the datagram's. to_ipv6: the outer
 * destination is IPv6. Fills in all of *out, only if FL_LIST_OK. eBPF: data and end are the packet's pointers; a
 * comparison with end precedes every access.
 */
FL_INLINE enum fl_list_error fl_list_parse(const fl_u8 *data, const fl_u8 *end, fl_u32 len, bool is_notice,
					   bool to_ipv6, struct fl_list *out)
{
	enum fl_list_error error = fl_list_parse_head(data, end, len, is_notice, to_ipv6, out);

	if (error != FL_LIST_OK)
		return error;
	__builtin_memset(out->candidate, 0, sizeof(out->candidate));
	__builtin_memset(out->tag, 0, sizeof(out->tag));
	if (!fl_list_load_all(data, end, out) || ((out->flags & FL_LIST_TAG) && !fl_list_load_tag(data, end, out)))
		return FL_LIST_TRUNCATED;
	return FL_LIST_OK;
}

/* Writes a candidate where fl_list_load() reads it. An IPv6 one has no short form. */
FL_INLINE bool fl_list_store(fl_u8 *data, const fl_u8 *end, bool is_ipv6, fl_u32 index,
			     const struct fl_address *address)
{
	fl_u8 *at = data + FL_LIST_AT_CANDIDATES + index * (is_ipv6 ? 16 : 4);

	if (at + (is_ipv6 ? 16 : 4) > end)
		return false;
	if (is_ipv6)
		fl_copy(at, address->bytes, 16);
	else
		fl_copy(at, address->bytes + 12, 4);
	return true;
}

/* Writes GUE base and list header, IPV6 as the flags say; returns their length. header_len is ignored. */
FL_INLINE fl_u32 fl_list_write(const struct fl_list *list, fl_u8 out[FL_LIST_MAX_LEN])
{
	fl_u32 len = fl_list_len(list->count, list->flags), i;

	out[0] = (fl_u8)((len - FL_LIST_GUE_LEN) / 4);
	out[1] = list->inner_protocol;
	out[2] = 0;
	out[3] = 0;
	out[FL_LIST_AT_VERSION] = (fl_u8)(FL_LIST_VERSION << 4 | list->left);
	out[FL_LIST_AT_FLAGS] = (fl_u8)(list->count << 4 | list->flags);
	fl_store_be16(out + FL_LIST_AT_SERVICE, list->service);
	fl_store_be32(out + FL_LIST_AT_GENERATION, list->generation);
	for (i = 0; i < list->count; i++)
		fl_list_store(out, out + len, list->flags & FL_LIST_IPV6, i, &list->candidate[i]);
	if (list->flags & FL_LIST_TAG)
		fl_copy(out + len - FL_LIST_TAG_LEN, list->tag, FL_LIST_TAG_LEN);
	return len;
}

/*
 * Rewrites a parsed header whose packet was sent to `self` to be sent to a candidate that has not been tried, after which
 * `left` are left: fewer than before. Returns false only if end is less than it was for the parser.
 */
FL_INLINE bool fl_list_forward(fl_u8 *data, const fl_u8 *end, const struct fl_list *list, const struct fl_address *self,
			       fl_u8 left, bool late)
{
	fl_u32 from = (fl_u32)list->count - list->left, to = (fl_u32)list->count - left - 1, i;
	bool is_ipv6 = list->flags & FL_LIST_IPV6;

	if (data + FL_LIST_AT_CANDIDATES > end)
		return false;
	FL_LIST_UNROLLED (i) {
		const struct fl_address *address = i == from ? self : &list->candidate[i ? i - 1 : 0];

		if (i < from || i > to)
			continue;
		if (!(is_ipv6 ? fl_list_store(data, end, true, i, address)
			      : fl_list_store(data, end, false, i, address)))
			return false;
	}
	data[FL_LIST_AT_VERSION] = (fl_u8)(FL_LIST_VERSION << 4 | left);
	if (late)
		data[FL_LIST_AT_FLAGS] |= FL_LIST_LATE;
	return true;
}

#endif
