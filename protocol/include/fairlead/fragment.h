/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * A fragment that one mux hands to another, inside GUE (protocol/README.md, 8). Servers refuse it.
 *
 *	outer IPv4/IPv6 | UDP | GUE base 4 | with a key: head 4, tag 8 | inner packet
 *
 * The head has a version that no list has.
 */
#ifndef FAIRLEAD_FRAGMENT_H
#define FAIRLEAD_FRAGMENT_H

#include "keys.h"
#include "list.h"

enum fl_fragment_numbers {
	FL_FRAGMENT_LEN = FL_LIST_GUE_LEN, /* without a tag */
	FL_FRAGMENT_VERSION = 15,
	FL_FRAGMENT_AT_TAG = FL_FRAGMENT_LEN + 4,
	FL_FRAGMENT_MAX_LEN = FL_FRAGMENT_AT_TAG + FL_LIST_TAG_LEN,
	FL_FRAGMENT_INNER = 48, /* bytes of the inner packet that the tag covers */
};

struct fl_fragment {
	fl_u8 inner_protocol; /* FL_LIST_GUE_* */
	fl_u8 flags;          /* 0, or TAG, perhaps with KEY */
	fl_u64 tag;           /* if TAG */
};

/* Bytes up to the inner packet. */
FL_INLINE fl_u32 fl_fragment_len(fl_u8 flags)
{
	return flags & FL_LIST_TAG ? FL_FRAGMENT_MAX_LEN : FL_FRAGMENT_LEN;
}

/* Parses what is in front of the inner packet, from data to end (exclusive). False: it is malformed. */
FL_INLINE bool fl_fragment_parse(const fl_u8 *data, const fl_u8 *end, struct fl_fragment *out)
{
	struct fl_fragment fragment = {0};

	if (data + FL_FRAGMENT_LEN > end || data[2] || data[3] ||
	    (data[1] != FL_LIST_GUE_IPV4 && data[1] != FL_LIST_GUE_IPV6))
		return false;
	fragment.inner_protocol = data[1];
	if (data[0]) {
		const fl_u8 *head = data + FL_FRAGMENT_LEN;

		if (data[0] != (FL_FRAGMENT_MAX_LEN - FL_FRAGMENT_LEN) / 4 || data + FL_FRAGMENT_MAX_LEN > end ||
		    head[0] != FL_FRAGMENT_VERSION << 4 || (head[1] & ~FL_LIST_KEY) != FL_LIST_TAG || head[2] ||
		    head[3])
			return false;
		fragment.flags = head[1];
		fragment.tag = fl_load_be64(data + FL_FRAGMENT_AT_TAG);
	}
	*out = fragment;
	return true;
}

/* Writes what is in front of the inner packet; returns its length. */
FL_INLINE fl_u32 fl_fragment_write(const struct fl_fragment *fragment, fl_u8 out[FL_FRAGMENT_MAX_LEN])
{
	fl_u32 len = fl_fragment_len(fragment->flags);

	__builtin_memset(out, 0, len);
	out[0] = (fl_u8)((len - FL_FRAGMENT_LEN) / 4);
	out[1] = fragment->inner_protocol;
	if (fragment->flags & FL_LIST_TAG) {
		out[FL_FRAGMENT_LEN] = FL_FRAGMENT_VERSION << 4;
		out[FL_FRAGMENT_LEN + 1] = fragment->flags;
		fl_store_be64(out + FL_FRAGMENT_AT_TAG, fragment->tag);
	}
	return len;
}

/* The right tag. key: of muxes. flags, with TAG, are the fragment's. */
FL_INLINE fl_u64 fl_fragment_tag(const struct fl_siphash_key *key, fl_u8 flags, const struct fl_address *sender,
				 const struct fl_address *receiver, const fl_u8 *inner, fl_u32 inner_len)
{
	fl_u8 message[FL_FRAGMENT_INNER] = {0};
	struct fl_siphash_state s = fl_siphash_begin(key);
	int at;

	__builtin_memcpy(message, inner, inner_len < FL_FRAGMENT_INNER ? inner_len : FL_FRAGMENT_INNER);
	fl_siphash_word(&s, (fl_u64)flags << 8 | FL_FRAGMENT_VERSION << 4);
	fl_siphash_address(&s, sender);
	fl_siphash_address(&s, receiver);
	for (at = 0; at < FL_FRAGMENT_INNER; at += 8)
		fl_siphash_word(&s, fl_load_le64(message + at));
	return fl_siphash_end(&s, 0, 40 + FL_FRAGMENT_INNER);
}

#endif
