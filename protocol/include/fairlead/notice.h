/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * A notice: a mux tells a server the generation of a service, and the server returns it with the highest generation that
 * it knows then (protocol/README.md, 2, Notices).
 *
 *	outer IPv4/IPv6 | UDP | GUE base 4, protocol 59 | list 8 | tag 8 if TAG
 *
 * The list header is the one of list.h, with no candidates and without IPV6, and nothing is behind it. Of its flags,
 * LATE's place has FL_NOTICE_ACK: it is an acknowledgement, from the server to the mux.
 *
 * The key is one for each address of a server (keys.h), so that it can be given to that server alone. There is no time in
 * it, and no number of the packet: the page says why a captured one is of no use.
 */
#ifndef FAIRLEAD_NOTICE_H
#define FAIRLEAD_NOTICE_H

#include "keys.h"
#include "list.h"

enum fl_notice_numbers {
	FL_NOTICE_ACK = FL_LIST_LATE,
	FL_NOTICE_LEN = FL_LIST_AT_CANDIDATES, /* without a tag */
	FL_NOTICE_MAX_LEN = FL_NOTICE_LEN + FL_LIST_TAG_LEN,
};

struct fl_notice {
	fl_u8 flags; /* TAG, KEY, ACK */
	fl_u16 service;
	fl_u32 generation;
	fl_u64 tag; /* if TAG */
};

/*
 * Parses a notice or an acknowledgement of len bytes (the outer UDP length less 8) at data. Fills in all of *out, only if
 * FL_LIST_OK. end is that of the packet, which may have padding behind data + len.
 */
FL_INLINE enum fl_list_error fl_notice_parse(const fl_u8 *data, const fl_u8 *end, fl_u32 len, struct fl_notice *out)
{
	enum fl_list_error error = fl_list_parse_gue(data, end, len, true);
	fl_u8 flags;

	if (error != FL_LIST_OK)
		return error;
	error = fl_list_check(data, false);
	if (error != FL_LIST_OK)
		return error;
	flags = data[FL_LIST_AT_FLAGS] & 15;
	if (data[FL_LIST_AT_FLAGS] >> 4 || (flags & FL_LIST_IPV6) || len != fl_list_len(0, flags))
		return FL_LIST_NOTICE;
	if ((flags & FL_LIST_TAG) && data + FL_NOTICE_MAX_LEN > end)
		return FL_LIST_TRUNCATED; /* never: hlen is within end */
	out->flags = flags;
	out->service = fl_load_be16(data + FL_LIST_AT_SERVICE);
	out->generation = fl_load_be32(data + FL_LIST_AT_GENERATION);
	out->tag = flags & FL_LIST_TAG ? fl_load_be64(data + FL_NOTICE_LEN) : 0;
	return FL_LIST_OK;
}

/* The right tag. key: of the server's address. */
FL_INLINE fl_u64 fl_notice_tag(const struct fl_siphash_key *key, const struct fl_notice *notice,
			       const struct fl_address *server)
{
	struct fl_siphash_state s = fl_siphash_begin(key);
	fl_u8 list[FL_LIST_BASE_LEN] __attribute__((aligned(8)));

	list[0] = FL_LIST_VERSION << 4;
	list[1] = notice->flags;
	fl_store_be16(list + 2, notice->service);
	fl_store_be32(list + 4, notice->generation);
	fl_siphash_word(&s, fl_load_le64(list));
	fl_siphash_address(&s, server);
	return fl_siphash_end(&s, 0, 24);
}

/* Writes it; returns its length, FL_NOTICE_LEN without TAG. */
FL_INLINE fl_u32 fl_notice_write(const struct fl_notice *notice, fl_u8 out[FL_NOTICE_MAX_LEN])
{
	fl_u32 len = fl_list_len(0, notice->flags);

	out[0] = (fl_u8)((len - FL_LIST_GUE_LEN) / 4);
	out[1] = FL_LIST_GUE_NOTICE;
	out[2] = 0;
	out[3] = 0;
	out[FL_LIST_AT_VERSION] = FL_LIST_VERSION << 4;
	out[FL_LIST_AT_FLAGS] = notice->flags;
	fl_store_be16(out + FL_LIST_AT_SERVICE, notice->service);
	fl_store_be32(out + FL_LIST_AT_GENERATION, notice->generation);
	if (notice->flags & FL_LIST_TAG)
		fl_store_be64(out + FL_NOTICE_LEN, notice->tag);
	return len;
}

/*
 * Makes a parsed notice its acknowledgement, with the generation that the server knows; the tag is *tag, if it has one.
 * False only if end is less than it was for the parser.
 */
FL_INLINE bool fl_notice_answer(fl_u8 *data, const fl_u8 *end, const struct fl_notice *answer)
{
	if (data + FL_NOTICE_LEN > end)
		return false;
	data[FL_LIST_AT_FLAGS] = answer->flags;
	fl_store_be32(data + FL_LIST_AT_GENERATION, answer->generation);
	if (!(answer->flags & FL_LIST_TAG))
		return true;
	if (data + FL_NOTICE_MAX_LEN > end)
		return false;
	fl_store_be64(data + FL_NOTICE_LEN, answer->tag);
	return true;
}

#endif
