/* SPDX-License-Identifier: Apache-2.0 */
/* srv6.h against srv6.json: what is read, written, refused, chained, passed on, tagged. */
#include <string.h>

#include <fairlead/srv6.h>

#include "verdict_row.h"

static struct fl_siphash_key key;

static void check_move(const json_t *fields, bool is_moved, fl_u32 since, const struct fl_address *previous)
{
	struct fl_address expected = vectors_address(fields, "previous");

	assert_int_equal(!is_moved, vectors_is_null(fields, "since"));
	assert_int_equal(since, is_moved ? vectors_number(fields, "since") : 0);
	assert_memory_equal(previous->bytes, expected.bytes, 16);
}

static void check_second(const struct fl_steer *steer, const json_t *second)
{
	struct fl_address owner;

	assert_int_equal(!(steer->flags & FL_STEER_SECOND), json_is_null(second));
	if (!(steer->flags & FL_STEER_SECOND))
		return;
	owner = vectors_address(second, "owner");
	assert_int_equal(steer->second.bucket, vectors_number(second, "bucket"));
	assert_memory_equal(steer->second.owner.bytes, owner.bytes, 16);
	check_move(second, steer->flags & FL_STEER_MOVED2, steer->second.since, &steer->second.previous);
}

/* A foreign headend's header cannot be written: it has no generation. */
static void check_written(const json_t *row, const struct fl_steer *steer)
{
	struct fl_address destination = vectors_address(row, "destination");
	fl_u8 written[FL_SRV6_MAX_LEN];
	struct vectors_bytes expected;

	assert_int_equal(!steer->generation, vectors_is_null(row, "written"));
	if (!steer->generation)
		return;
	expected = vectors_bytes(row, "written");
	memset(written, 0xa5, sizeof(written));
	assert_int_equal(fl_srv6_write(steer, &destination, written), expected.len);
	assert_int_equal(fl_srv6_len(steer->flags), expected.len);
	assert_memory_equal(written, expected.data, expected.len);
	vectors_free(&expected);
}

static void valid(void **state)
{
	const json_t *row = *state, *fields = vectors_get(row, "fields");
	struct vectors_bytes bytes = vectors_bytes(row, "bytes");
	struct fl_steer steer;

	assert_true(fl_srv6_is(bytes.data, bytes.data + bytes.len));
	assert_int_equal(fl_srv6_parse(bytes.data, bytes.data + bytes.len, &steer), FL_STEER_OK);
	assert_int_equal(steer.inner_protocol, vectors_number(fields, "innerProtocol"));
	assert_int_equal(steer.hops, vectors_number(fields, "hops"));
	assert_int_equal(steer.flags, vectors_number(fields, "flags"));
	assert_int_equal(steer.header_len, vectors_number(fields, "headerLength"));
	assert_int_equal(steer.service, vectors_number(fields, "service"));
	assert_int_equal(steer.bucket, vectors_number(fields, "bucket"));
	assert_int_equal(steer.generation, vectors_number(fields, "generation"));
	check_move(fields, steer.flags & FL_STEER_MOVED, steer.since, &steer.previous);
	check_second(&steer, json_object_get(fields, "second"));
	assert_int_equal(!(steer.flags & FL_STEER_TAG), vectors_is_null(fields, "tag"));
	if (steer.flags & FL_STEER_TAG) {
		struct vectors_bytes tag = vectors_bytes(fields, "tag");

		assert_memory_equal(steer.tag, tag.data, FL_STEER_TAG_LEN);
		vectors_free(&tag);
	}
	check_written(row, &steer);
	vectors_free(&bytes);
}

static void malformed(void **state)
{
	const json_t *row = *state;
	struct vectors_bytes bytes = vectors_bytes(row, "bytes");
	struct fl_steer steer;

	assert_int_equal(fl_srv6_parse(bytes.data, bytes.data + bytes.len, &steer), verdict_row_error(row, "error"));
	vectors_free(&bytes);
}

static bool chain(const json_t *row, fl_u8 *data, const fl_u8 *end)
{
	struct fl_address next = vectors_address(row, "next");

	return fl_srv6_chain(data, end, &next);
}

static bool promote(const json_t *row, fl_u8 *data, const fl_u8 *end)
{
	(void)row;
	return fl_srv6_promote(data, end);
}

static bool promote_and_chain(const json_t *row, fl_u8 *data, const fl_u8 *end)
{
	return promote(row, data, end) && chain(row, data, end);
}

typedef bool rewrite(const json_t *row, fl_u8 *data, const fl_u8 *end);

static void rewritten(const json_t *row, rewrite *function)
{
	struct vectors_bytes before = vectors_bytes(row, "before"), after = vectors_bytes(row, "after");

	assert_int_equal(before.len, after.len);
	assert_true(function(row, before.data, before.data + before.len));
	assert_memory_equal(before.data, after.data, after.len);
	vectors_free(&before);
	vectors_free(&after);
}

static void chained(void **state)
{
	rewritten(*state, chain);
}

static void promoted(void **state)
{
	rewritten(*state, promote);
}

static bool mark_late(const json_t *row, fl_u8 *data, const fl_u8 *end)
{
	(void)row;
	return fl_srv6_mark_late(data, end);
}

static void late(void **state)
{
	rewritten(*state, mark_late);
}

/* An end inside of what the flags ask for, which a parsed header cannot have: refused, and not a byte is changed. */
static void too_short(const json_t *row, rewrite *function)
{
	struct vectors_bytes whole = vectors_bytes(row, "before"), copy = vectors_bytes(row, "before");
	size_t asked = fl_srv6_has_tlv(whole.data, whole.data + whole.len) ? fl_srv6_used(whole.data[FL_SRV6_AT_FLAGS])
									   : FL_SRV6_FOREIGN_LEN;

	for (size_t len = 0; len < asked; len++)
		assert_false(function(row, copy.data, copy.data + len));
	assert_memory_equal(copy.data, whole.data, whole.len);
	vectors_free(&whole);
	vectors_free(&copy);
}

static void chained_too_short(void **state)
{
	too_short(*state, chain);
}

static void promoted_too_short(void **state)
{
	too_short(*state, promote);
}

/* What has no segment left is not promoted, and a foreign headend's packet is not chained. */
static void not_rewritten(void **state)
{
	struct vectors_bytes bytes = vectors_bytes(*state, "bytes"), copy = vectors_bytes(*state, "bytes");
	static const struct fl_address next = {{0x20, 1}};
	const fl_u8 *end = copy.data + copy.len;
	struct fl_steer steer;

	assert_int_equal(fl_srv6_parse(bytes.data, bytes.data + bytes.len, &steer), FL_STEER_OK);
	if (!(steer.flags & FL_STEER_SECOND))
		assert_false(fl_srv6_promote(copy.data, end));
	if (!steer.generation)
		assert_false(fl_srv6_chain(copy.data, end, &next));
	assert_memory_equal(copy.data, bytes.data, bytes.len);
	vectors_free(&bytes);
	vectors_free(&copy);
}

/* The packet of the row, rewritten with a tag anew, is the one under the name; null: it cannot be rewritten so. */
static void renewed(const json_t *row, const char *name, rewrite *function)
{
	struct vectors_bytes bytes = vectors_bytes(row, "bytes"), expected;
	const fl_u8 *end = bytes.data + bytes.len;
	struct fl_tag_message message;
	struct fl_steer steer;
	bool is_done;

	assert_int_equal(fl_srv6_parse(bytes.data, end, &steer), FL_STEER_OK);
	assert_true(fl_srv6_tag_message(bytes.data, &steer, bytes.data + steer.header_len, end, &message));
	is_done = function(row, bytes.data, end) && fl_srv6_tag_renew(&key, bytes.data, end, &message);
	assert_int_equal(is_done, !vectors_is_null(row, name));
	if (is_done) {
		expected = vectors_bytes(row, name);
		assert_int_equal(bytes.len, expected.len);
		assert_memory_equal(bytes.data, expected.data, expected.len);
		vectors_free(&expected);
	}
	vectors_free(&bytes);
}

static void tagged(void **state)
{
	const json_t *row = *state;
	struct vectors_bytes bytes = vectors_bytes(row, "bytes"), expected = vectors_bytes(row, "message");
	const fl_u8 *end = bytes.data + bytes.len;
	struct fl_tag_message message;
	struct fl_steer steer;

	assert_int_equal(fl_srv6_parse(bytes.data, end, &steer), FL_STEER_OK);
	assert_true(fl_srv6_tag_message(bytes.data, &steer, bytes.data + steer.header_len, end, &message));
	assert_int_equal(expected.len, fl_tag_message_len(&message));
	assert_memory_equal(message.bytes, expected.data, expected.len);
	assert_int_equal(fl_tag_load(steer.tag), fl_tag(&key, &message));
	renewed(row, "chained", chain);
	renewed(row, "promoted", promote);
	renewed(row, "both", promote_and_chain);
	vectors_free(&bytes);
	vectors_free(&expected);
}

/* Nothing vouches for a foreign headend's packet, and other routing headers are not ours. */
static void not_ours(void **state)
{
	fl_u8 data[FL_SRV6_FOREIGN_LEN + FL_TAG_IPV4_LEN + FL_TAG_PORTS_LEN] = {FL_GUE_PROTO_IPV4, 2,
										FL_SRV6_ROUTING_TYPE, 0};
	const fl_u8 *inner = data + FL_SRV6_FOREIGN_LEN, *end = data + sizeof(data);
	struct fl_tag_message message;
	struct fl_steer steer;

	(void)state;
	data[FL_SRV6_FOREIGN_LEN] = 0x45;
	data[FL_SRV6_FOREIGN_LEN + 3] = FL_TAG_IPV4_LEN;
	assert_int_equal(fl_srv6_parse(data, end, &steer), FL_STEER_OK);
	assert_false(fl_srv6_tag_message(data, &steer, inner, end, &message));
	assert_true(fl_srv6_is(data, end));
	assert_false(fl_srv6_is(data, data + FL_SRV6_AT_SEGMENT - 1));
	data[FL_SRV6_AT_TYPE] = 2;
	assert_false(fl_srv6_is(data, end));
	data[FL_SRV6_AT_TYPE] = FL_SRV6_ROUTING_TYPE;
	data[FL_SRV6_AT_NEXT] = FL_TAG_TCP;
	assert_false(fl_srv6_is(data, end));
}

int main(int argc, char **argv)
{
	json_t *file = vectors_load(argc > 1 ? argv[1] : ".", "srv6.json");
	struct vectors_tests tests = {NULL, 0};
	int failed;

	key = vectors_key(file, "key");
	vectors_add(&tests, file, "valid", valid);
	vectors_add(&tests, file, "valid", not_rewritten);
	vectors_add(&tests, file, "malformed", malformed);
	vectors_add(&tests, file, "chained", chained);
	vectors_add(&tests, file, "chained", chained_too_short);
	vectors_add(&tests, file, "promoted", promoted);
	vectors_add(&tests, file, "promoted", promoted_too_short);
	vectors_add(&tests, file, "late", late);
	vectors_add(&tests, file, "tagged", tagged);
	vectors_add_plain(&tests, "what is not ours", not_ours, NULL);
	failed = vectors_run("srv6", &tests);
	json_decref(file);
	return failed;
}
