/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * A notice: a mux tells a server, without a client's packet, which generation there is and which buckets moved.
 *
 *	outer IPv4/IPv6 | UDP | GUE base 4, protocol 59 | steer header | bucket 32, bucket 32, ...
 *
 * The steer header is the one of steer.h, with hops 0, bucket FL_STEER_BUCKET_NONE, no second bucket and without LATE.
 * Without MOVED no bucket follows, and only the generation is told. With MOVED 1 to FL_NOTICE_BUCKETS_MAX buckets follow, all of which moved at `since`
 * from `previous` to the receiver. A server learns from it what it would learn from one packet of each bucket. An entry
 * FL_STEER_BUCKET_NONE says instead that `previous` is dead and was removed by this generation.
 *
 * The outer UDP length says where the payload ends: a short frame has padding behind it. The tag is the one of tag.h,
 * with a digest of the payload in place of the inner addresses and ports:
 *
 *	message    0  steer 12, since 4, previous 16		as in tag.h
 *	(72 bytes) 32 SipHash-2-4(cluster key, payload)		in network byte order
 *	           40 0 28
 *	           68 protocol 1 = 59
 *	           69 0 3
 *
 * A reader in eBPF:
 *
 *	if (fl_notice_is(gue, end)) {
 *		error = fl_notice_parse(gue, end, udp_len - 8, &notice);
 *		for (i = 0; i < FL_NOTICE_BUCKETS_MAX && fl_notice_bucket(gue, end, &notice, i, &bucket); i++)
 *			...
 *	}
 */
#ifndef FAIRLEAD_NOTICE_H
#define FAIRLEAD_NOTICE_H

#include "tag.h"

enum fl_notice_numbers {
	FL_NOTICE_BUCKET_LEN = 4,
	FL_NOTICE_BUCKETS_MAX = 352, /* with the longest header over IPv6 they fill a packet of 1500 bytes */
	FL_NOTICE_HEADER_MAX_LEN = FL_GUE_BASE_LEN + FL_STEER_BASE_LEN + FL_STEER_MOVED6_LEN + FL_STEER_TAG_LEN,
	FL_NOTICE_MAX_LEN = FL_NOTICE_HEADER_MAX_LEN + FL_NOTICE_BUCKETS_MAX * FL_NOTICE_BUCKET_LEN,
};

_Static_assert(40 + 8 + FL_NOTICE_MAX_LEN == 1500, "IPv6, UDP, and the longest notice");

struct fl_notice {
	struct fl_steer steer; /* with a listed bucket in steer.bucket: the header of a packet that teaches the same */
	fl_u32 count;          /* of the buckets that follow; 0 without MOVED */
};

/* Whether a listed entry tells that `previous` was removed, and not of a bucket. */
FL_INLINE bool fl_notice_is_removal(fl_u32 bucket)
{
	return bucket == FL_STEER_BUCKET_NONE;
}

/* Whether the GUE packet at data claims to be a notice. Such a packet is read by fl_notice_parse() alone. */
FL_INLINE bool fl_notice_is(const fl_u8 *data, const fl_u8 *end)
{
	return data + FL_GUE_BASE_LEN <= end && data[1] == FL_GUE_PROTO_NOTICE;
}

/*
 * Parses a notice of len bytes (the outer UDP length less 8) at data. Fills in all of *out, only if FL_STEER_OK; the
 * buckets are not read. end is that of the packet, which may have padding behind data + len.
 */
FL_INLINE enum fl_steer_error fl_notice_parse(const fl_u8 *data, const fl_u8 *end, fl_u32 len, struct fl_notice *out)
{
	enum fl_steer_error error;
	struct fl_steer steer;
	fl_u32 payload;
	bool is_moved;

	error = fl_steer_parse_either(data, end, len, true, &steer);
	if (error != FL_STEER_OK)
		return error;
	payload = len - steer.header_len;
	is_moved = steer.flags & FL_STEER_MOVED;
	if (steer.hops || steer.bucket != FL_STEER_BUCKET_NONE || steer.flags & (FL_STEER_SECOND | FL_STEER_LATE) ||
	    payload % FL_NOTICE_BUCKET_LEN || payload > FL_NOTICE_BUCKETS_MAX * FL_NOTICE_BUCKET_LEN ||
	    is_moved != (payload > 0))
		return FL_STEER_NOTICE;
	out->steer = steer;
	out->count = payload / FL_NOTICE_BUCKET_LEN;
	return FL_STEER_OK;
}

/*
 * The payload from this byte on, which is less than its length. Where data + at is computed in a loop, clang advances
 * end instead, which the eBPF verifier refuses; the empty statement hides from clang how `at` came about.
 */
FL_INLINE const fl_u8 *fl_notice_payload(const fl_u8 *data, const struct fl_notice *notice, fl_u32 at)
{
	at += notice->steer.header_len;
	__asm__ volatile("" : "+r"(at));
	return data + at;
}

/* Loads the bucket of this index from a parsed notice. False if there are fewer, or end is less than for the parser. */
FL_INLINE bool fl_notice_bucket(const fl_u8 *data, const fl_u8 *end, const struct fl_notice *notice, fl_u32 index,
				fl_u32 *bucket)
{
	const fl_u8 *p;

	if (index >= notice->count || index >= FL_NOTICE_BUCKETS_MAX)
		return false;
	p = fl_notice_payload(data, notice, index * FL_NOTICE_BUCKET_LEN);
	if (p + FL_NOTICE_BUCKET_LEN > end)
		return false;
	*bucket = fl_load_be32(p);
	return true;
}

/*
 * SipHash-2-4 of a parsed notice's payload: what fl_siphash() returns, but with a bound on the loop and a comparison
 * with end before each load, as the eBPF verifier wants. False only if end is less than it was for the parser.
 */
FL_INLINE bool fl_notice_digest(const struct fl_siphash_key *key, const fl_u8 *data, const fl_u8 *end,
				const struct fl_notice *notice, fl_u64 *digest)
{
	struct fl_siphash_state s = fl_siphash_begin(key);
	fl_u64 rest = 0;
	const fl_u8 *p;
	fl_u32 i;

	for (i = 0; i < FL_NOTICE_BUCKETS_MAX / 2 && i < notice->count / 2; i++) {
		p = fl_notice_payload(data, notice, i * 8);
		if (p + 8 > end)
			return false;
		fl_siphash_word(&s, fl_load_le64(p));
	}
	if (notice->count % 2) {
		p = fl_notice_payload(data, notice, i * 8);
		if (p + 4 > end)
			return false;
		rest = fl_load_le32(p);
	}
	*digest = fl_siphash_end(&s, rest, notice->count * FL_NOTICE_BUCKET_LEN);
	return true;
}

/* Writes all of *m, for fl_tag(). False only if end is less than it was for the parser. */
FL_INLINE bool fl_notice_message(const struct fl_siphash_key *key, const fl_u8 *data, const fl_u8 *end,
				 const struct fl_notice *notice, struct fl_tag_message *m)
{
	fl_u64 digest;

	if (!fl_notice_digest(key, data, end, notice, &digest) || !fl_tag_message_begin(data, &notice->steer, end, m))
		return false;
	fl_tag_store(m->bytes + FL_TAG_AT_SOURCE, digest);
	m->bytes[FL_TAG_AT_PROTOCOL] = FL_GUE_PROTO_NOTICE;
	return true;
}

/*
 * Writes a notice of service, generation, flags MOVED and TAG, and since, previous of *steer; returns its length.
 * buckets are count numbers, none without MOVED; key is not read without TAG. out needs room for FL_NOTICE_MAX_LEN.
 */
FL_INLINE fl_u32 fl_notice_write(const struct fl_steer *steer, const fl_u32 *buckets, fl_u32 count,
				 const struct fl_siphash_key *key, fl_u8 *out)
{
	struct fl_notice notice = {.steer = *steer, .count = count};
	struct fl_tag_message message = {{0}}; /* GCC 12 does not see that notices have no second bucket */
	fl_u32 len, i;

	notice.steer.inner_protocol = FL_GUE_PROTO_NOTICE;
	notice.steer.hops = 0;
	notice.steer.bucket = FL_STEER_BUCKET_NONE;
	notice.steer.flags &= FL_STEER_MOVED | FL_STEER_TAG;
	__builtin_memset(notice.steer.tag, 0, FL_STEER_TAG_LEN);
	len = fl_steer_write(&notice.steer, out);
	notice.steer.header_len = (fl_u8)len;
	for (i = 0; i < count; i++, len += FL_NOTICE_BUCKET_LEN)
		fl_store_be32(out + len, buckets[i]);
	if ((steer->flags & FL_STEER_TAG) && fl_notice_message(key, out, out + len, &notice, &message))
		fl_tag_store(out + notice.steer.header_len - FL_STEER_TAG_LEN, fl_tag(key, &message));
	return len;
}

#endif
