/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an SRH and an inner packet: what parses can be written, chained and passed on, and carries a tag over
 * the wire. What is passed on is what the verdict promotes.
 */
#include <stdlib.h>
#include <string.h>

#include <fairlead/srv6.h>
#include <fairlead/verdict.h>

static const struct fl_siphash_key key = {1, 2};
static const struct fl_address next = {{0x20, 1, 0xd, 0xb8, [15] = 1}};

static void require(bool property)
{
	if (!property)
		__builtin_trap();
}

/* The second part is of no meaning without SECOND, as are moves without their flags: the parser leaves zeros. */
static bool same_fields(const struct fl_steer *a, const struct fl_steer *b)
{
	return a->flags == b->flags && a->inner_protocol == b->inner_protocol && a->hops == b->hops &&
	       a->service == b->service && a->bucket == b->bucket && a->generation == b->generation &&
	       a->since == b->since && fl_address_equal(&a->previous, &b->previous) &&
	       !memcmp(a->tag, b->tag, sizeof(a->tag)) && !memcmp(&a->second, &b->second, sizeof(a->second));
}

static fl_u8 *copy_of(const fl_u8 *data, size_t size)
{
	fl_u8 *copy = malloc(size);

	require(copy != NULL);
	memcpy(copy, data, size);
	return copy;
}

static void check_written(const struct fl_steer *parsed)
{
	fl_u8 written[FL_SRV6_MAX_LEN];
	fl_u32 len = fl_srv6_write(parsed, &next, written);
	struct fl_steer again;

	require(len <= sizeof(written) && len <= parsed->header_len && len == fl_srv6_len(parsed->flags));
	require(fl_srv6_parse(written, written + len, &again) == FL_STEER_OK);
	require(again.header_len == len && same_fields(parsed, &again));
}

/* The tag of the packet that was sent on is the one that its receiver computes. */
static void check_renewed(fl_u8 *copy, size_t size, const struct fl_tag_message *before)
{
	struct fl_tag_message sent = *before, received;
	struct fl_steer renewed;

	require(fl_srv6_tag_renew(&key, copy, copy + size, &sent));
	require(fl_srv6_parse(copy, copy + size, &renewed) == FL_STEER_OK && renewed.flags & FL_STEER_TAG);
	require(fl_srv6_tag_message(copy, &renewed, copy + renewed.header_len, copy + size, &received));
	require(fl_tag_load(renewed.tag) == fl_tag(&key, &received));
}

static void check_chained(const fl_u8 *data, size_t size, const struct fl_steer *parsed,
			  const struct fl_tag_message *message)
{
	struct fl_steer chained, expected = *parsed;
	fl_u8 *copy;

	if (parsed->hops >= FL_STEER_HOPS_MAX)
		return;
	copy = copy_of(data, size);
	require(fl_srv6_chain(copy, copy + size, &next) == !!parsed->generation);
	if (parsed->generation) {
		require(fl_srv6_parse(copy, copy + size, &chained) == FL_STEER_OK);
		expected.hops++;
		expected.flags &= (fl_u8) ~(FL_STEER_MOVED | FL_STEER_TAG);
		expected.since = 0;
		memset(&expected.previous, 0, sizeof(expected.previous));
		memset(expected.tag, 0, sizeof(expected.tag));
		require(same_fields(&chained, &expected) && chained.header_len == parsed->header_len);
		if (message)
			check_renewed(copy, size, message);
	}
	require(!memcmp(copy + parsed->header_len, data + parsed->header_len, size - parsed->header_len));
	free(copy);
}

static void check_promoted(const fl_u8 *data, size_t size, const struct fl_steer *parsed,
			   const struct fl_tag_message *message)
{
	struct fl_verdict_in in = {.steer = *parsed};
	fl_u8 *copy = copy_of(data, size);
	struct fl_steer promoted;

	require(fl_srv6_promote(copy, copy + size) == !!(parsed->flags & FL_STEER_SECOND));
	if (parsed->flags & FL_STEER_SECOND) {
		require(fl_srv6_parse(copy, copy + size, &promoted) == FL_STEER_OK);
		fl_verdict_promote(&in);
		in.steer.flags &= (fl_u8)~FL_STEER_TAG;
		memset(in.steer.tag, 0, sizeof(in.steer.tag));
		require(same_fields(&promoted, &in.steer) && promoted.header_len == parsed->header_len);
		if (message)
			check_renewed(copy, size, message);
	}
	require(!memcmp(copy + parsed->header_len, data + parsed->header_len, size - parsed->header_len));
	free(copy);
}

int LLVMFuzzerTestOneInput(const fl_u8 *data, size_t size);
int LLVMFuzzerTestOneInput(const fl_u8 *data, size_t size)
{
	struct fl_tag_message message;
	struct fl_steer parsed;
	bool has_message;

	if (fl_srv6_parse(data, data + size, &parsed) != FL_STEER_OK)
		return 0;
	require(parsed.header_len <= size && parsed.header_len >= FL_SRV6_FOREIGN_LEN);
	require(!parsed.generation == fl_srv6_is_foreign(data, data + size));
	has_message = fl_srv6_tag_message(data, &parsed, data + parsed.header_len, data + size, &message);
	require(!has_message || parsed.generation);
	has_message = has_message && parsed.flags & FL_STEER_TAG; /* without a tag there may be no room for one */
	if (parsed.generation)
		check_written(&parsed);
	check_chained(data, size, &parsed, has_message ? &message : NULL);
	check_promoted(data, size, &parsed, has_message ? &message : NULL);
	return 0;
}
