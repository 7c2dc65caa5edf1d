/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as GUE base and steer header, and as the paper's option: what parses can be written and chained, what does
 * not leaves no trace.
 */
#include <stdlib.h>
#include <string.h>

#include <fairlead/ipip.h>
#include <fairlead/tag.h>
#include <fairlead/verdict.h>

static void require(bool property)
{
	if (!property)
		__builtin_trap();
}

static bool same_fields(const struct fl_steer *a, const struct fl_steer *b)
{
	/* An IPv4 address in the IPv6 form is written back in the short one: the flags of families are no fields. */
	static const fl_u8 fields = FL_STEER_MOVED | FL_STEER_TAG | FL_STEER_SECOND | FL_STEER_MOVED2 | FL_STEER_LATE;
	fl_u8 differ = (a->flags ^ b->flags) & fields;

	return !differ && a->inner_protocol == b->inner_protocol && a->hops == b->hops && a->service == b->service &&
	       a->bucket == b->bucket && a->generation == b->generation && a->since == b->since &&
	       fl_address_equal(&a->previous, &b->previous) && !memcmp(a->tag, b->tag, sizeof(a->tag)) &&
	       !memcmp(&a->second, &b->second, sizeof(a->second));
}

/* What chaining leaves. */
static const fl_u8 kept = FL_STEER_SECOND | FL_STEER_SECOND6 | FL_STEER_MOVED2 | FL_STEER_PREVIOUS2_6 | FL_STEER_LATE;

static void check_chained(const fl_u8 *data, size_t size, const struct fl_steer *parsed)
{
	struct fl_steer chained;
	fl_u8 *copy;

	if (parsed->hops >= FL_STEER_HOPS_MAX)
		return;
	copy = malloc(size);
	require(copy != NULL);
	memcpy(copy, data, size);
	require(fl_steer_chain(copy, copy + size));
	require(fl_steer_parse(copy, copy + size, &chained) == FL_STEER_OK);
	require(chained.hops == parsed->hops + 1 && chained.header_len == parsed->header_len);
	require(chained.flags == (parsed->flags & kept));
	require(!memcmp(&chained.second, &parsed->second, sizeof(chained.second)));
	require(chained.service == parsed->service && chained.bucket == parsed->bucket);
	require(chained.generation == parsed->generation && chained.since == 0);
	require(!memcmp(copy + parsed->header_len, data + parsed->header_len, size - parsed->header_len));
	free(copy);
}

/* What the second bucket's owner gets is what a mux would have sent by that bucket, and what the verdict promotes. */
static void check_promoted(const fl_u8 *data, size_t size, const struct fl_steer *parsed)
{
	struct fl_verdict_in in = {.steer = *parsed};
	fl_u8 *copy = malloc(size), expected[FL_GUE_BASE_LEN + FL_STEER_MAX_LEN];
	fl_u32 len = FL_GUE_BASE_LEN + fl_steer_len(parsed->flags), at;
	struct fl_steer promoted;

	require(copy != NULL);
	memcpy(copy, data, size);
	require(fl_steer_promote(copy, copy + size) == !!(parsed->flags & FL_STEER_SECOND));
	if (parsed->flags & FL_STEER_SECOND) {
		require(fl_steer_parse(copy, copy + size, &promoted) == FL_STEER_OK);
		fl_verdict_promote(&in);
		in.steer.flags &= FL_STEER_MOVED | FL_STEER_PREVIOUS6 | FL_STEER_LATE;
		memset(in.steer.tag, 0, sizeof(in.steer.tag));
		require(promoted.flags == in.steer.flags && same_fields(&promoted, &in.steer));
		require(promoted.header_len == parsed->header_len && !promoted.hops);
		for (at = fl_steer_write(&promoted, expected); at < len; at++)
			expected[at] = 0;
		/* The first byte is the length; an address may have been written in its short form. */
		if (fl_steer_flags_of(&promoted) == promoted.flags)
			require(!memcmp(copy + 1, expected + 1, len - 1));
		require(!memcmp(copy + len, data + len, size - len));
	} else {
		require(!memcmp(copy, data, size));
	}
	free(copy);
}

static const struct fl_siphash_key key = {1, 2};

/* The tag of the packet that is sent on is the one that its receiver computes. */
static void check_renewed(const fl_u8 *data, size_t size, const struct fl_steer *parsed, struct fl_tag_message *message,
			  bool (*rewrite)(fl_u8 *data, const fl_u8 *end))
{
	struct fl_tag_message sent = *message, received;
	struct fl_steer renewed;
	fl_u8 *copy;

	if (!(parsed->flags & FL_STEER_TAG) || parsed->hops >= FL_STEER_HOPS_MAX)
		return;
	copy = malloc(size);
	require(copy != NULL);
	memcpy(copy, data, size);
	require(rewrite(copy, copy + size) && fl_tag_renew(&key, copy, copy + size, &sent));
	require(fl_steer_parse(copy, copy + size, &renewed) == FL_STEER_OK && renewed.flags & FL_STEER_TAG);
	require(fl_tag_message(copy, &renewed, copy + renewed.header_len, copy + size, &received));
	require(fl_tag_load(renewed.tag) == fl_tag(&key, &received));
	free(copy);
}

static bool chain_as_late(fl_u8 *data, const fl_u8 *end)
{
	return fl_steer_chain(data, end) && fl_steer_mark_late(data, end);
}

/* What follows the header is an inner packet of any kind; its tag must survive a way over the wire. */
static void check_tagged(const fl_u8 *data, size_t size, const struct fl_steer *parsed)
{
	struct fl_tag_message message;
	fl_u8 stored[FL_STEER_TAG_LEN];

	if (!fl_tag_message(data, parsed, data + parsed->header_len, data + size, &message))
		return;
	fl_tag_store(stored, fl_tag(&key, &message));
	require(fl_tag_load(stored) == fl_tag(&key, &message));
	check_renewed(data, size, parsed, &message, fl_steer_chain);
	check_renewed(data, size, parsed, &message, chain_as_late);
	if (parsed->flags & FL_STEER_SECOND)
		check_renewed(data, size, parsed, &message, fl_steer_promote);
}

static void check_ipip(const fl_u8 *data, size_t size)
{
	static const fl_u8 self[4] = {10, 1, 0, 22}, next[4] = {10, 1, 0, 21};
	struct fl_steer parsed, again;
	fl_u8 *copy;

	memset(&parsed, 0xa5, sizeof(parsed));
	again = parsed;
	if (fl_ipip_steer_parse(data, data + size, 1, &parsed) != FL_STEER_OK) {
		require(!memcmp(&parsed, &again, sizeof(parsed)));
		return;
	}
	copy = malloc(size);
	require(copy != NULL);
	memcpy(copy, data, size);
	require(fl_ipip_forward(copy, copy + size, self, next));
	require(fl_ipip_steer_parse(copy, copy + size, 1, &again) == FL_STEER_OK);
	require(again.generation == parsed.generation && !again.flags && !again.since);
	require(!memcmp(copy + FL_IPIP_LEN, data + FL_IPIP_LEN, size - FL_IPIP_LEN));
	free(copy);
}

int LLVMFuzzerTestOneInput(const fl_u8 *data, size_t size);
int LLVMFuzzerTestOneInput(const fl_u8 *data, size_t size)
{
	struct fl_steer parsed, again, untouched;
	fl_u8 written[FL_GUE_BASE_LEN + FL_STEER_MAX_LEN];
	fl_u32 len;

	check_ipip(data, size);
	memset(&parsed, 0xa5, sizeof(parsed));
	untouched = parsed;
	if (fl_steer_parse(data, data + size, &parsed) != FL_STEER_OK) {
		require(!memcmp(&parsed, &untouched, sizeof(parsed)));
		return 0;
	}
	require(parsed.header_len <= size && parsed.header_len >= FL_GUE_BASE_LEN + fl_steer_len(parsed.flags));
	check_tagged(data, size, &parsed);
	len = fl_steer_write(&parsed, written);
	require(len <= parsed.header_len);
	require(fl_steer_parse(written, written + len, &again) == FL_STEER_OK);
	require(again.header_len == len && same_fields(&parsed, &again));
	check_chained(data, size, &parsed);
	check_promoted(data, size, &parsed);
	return 0;
}
