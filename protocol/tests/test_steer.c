/* SPDX-License-Identifier: Apache-2.0 */
/* steer.h against steer.json: what is read, written, refused, chained on. */
#include <string.h>

#include <fairlead/steer.h>

#include "verdict_row.h"

static void check_second(const struct fl_steer *steer, const json_t *second)
{
	struct fl_address owner, previous;

	assert_int_equal(!(steer->flags & FL_STEER_SECOND), json_is_null(second));
	if (!(steer->flags & FL_STEER_SECOND))
		return;
	owner = vectors_address(second, "owner");
	assert_int_equal(steer->second.bucket, vectors_number(second, "bucket"));
	assert_memory_equal(steer->second.owner.bytes, owner.bytes, 16);
	assert_int_equal(!(steer->flags & FL_STEER_MOVED2), vectors_is_null(second, "since"));
	if (!(steer->flags & FL_STEER_MOVED2))
		return;
	previous = vectors_address(second, "previous");
	assert_int_equal(steer->second.since, vectors_number(second, "since"));
	assert_memory_equal(steer->second.previous.bytes, previous.bytes, 16);
}

static void valid(void **state)
{
	const json_t *row = *state, *fields = vectors_get(row, "fields");
	struct vectors_bytes bytes = vectors_bytes(row, "bytes"), expected = vectors_bytes(row, "written");
	fl_u8 written[FL_GUE_BASE_LEN + FL_STEER_MAX_LEN];
	struct fl_address previous = vectors_address(fields, "previous");
	struct fl_steer steer;

	assert_int_equal(fl_steer_parse(bytes.data, bytes.data + bytes.len, &steer), FL_STEER_OK);
	assert_int_equal(steer.inner_protocol, vectors_number(fields, "innerProtocol"));
	assert_int_equal(steer.hops, vectors_number(fields, "hops"));
	assert_int_equal(steer.flags, vectors_number(fields, "flags"));
	assert_int_equal(steer.header_len, vectors_number(fields, "headerLength"));
	assert_int_equal(steer.service, vectors_number(fields, "service"));
	assert_int_equal(steer.bucket, vectors_number(fields, "bucket"));
	assert_int_equal(steer.generation, vectors_number(fields, "generation"));
	assert_int_equal(!(steer.flags & FL_STEER_MOVED), vectors_is_null(fields, "since"));
	if (steer.flags & FL_STEER_MOVED) {
		assert_int_equal(steer.since, vectors_number(fields, "since"));
		assert_memory_equal(steer.previous.bytes, previous.bytes, 16);
	}
	check_second(&steer, json_object_get(fields, "second"));
	assert_int_equal(!(steer.flags & FL_STEER_TAG), vectors_is_null(fields, "tag"));
	if (steer.flags & FL_STEER_TAG) {
		struct vectors_bytes tag = vectors_bytes(fields, "tag");

		assert_int_equal(tag.len, FL_STEER_TAG_LEN);
		assert_memory_equal(steer.tag, tag.data, tag.len);
		vectors_free(&tag);
	}
	assert_int_equal(fl_steer_write(&steer, written), expected.len);
	assert_memory_equal(written, expected.data, expected.len);
	vectors_free(&bytes);
	vectors_free(&expected);
}

static void malformed(void **state)
{
	const json_t *row = *state;
	struct vectors_bytes bytes = vectors_bytes(row, "bytes");
	struct fl_steer steer, untouched;

	memset(&steer, 0xa5, sizeof(steer));
	untouched = steer;
	assert_int_equal(fl_steer_parse(bytes.data, bytes.data + bytes.len, &steer), verdict_row_error(row, "error"));
	assert_memory_equal(&steer, &untouched, sizeof(steer));
	vectors_free(&bytes);
}

typedef bool rewrite(fl_u8 *data, const fl_u8 *end);

static void rewritten(const json_t *row, rewrite *function)
{
	struct vectors_bytes before = vectors_bytes(row, "before"), after = vectors_bytes(row, "after");

	assert_int_equal(before.len, after.len);
	assert_true(function(before.data, before.data + before.len));
	assert_memory_equal(before.data, after.data, after.len);
	vectors_free(&before);
	vectors_free(&after);
}

static void chained(void **state)
{
	rewritten(*state, fl_steer_chain);
}

static void promoted(void **state)
{
	rewritten(*state, fl_steer_promote);
}

static void late(void **state)
{
	rewritten(*state, fl_steer_mark_late);
}

/* An end inside of the header, which a parsed one cannot have: refused, and not a byte is changed. */
static void too_short(const json_t *row, rewrite *function)
{
	struct vectors_bytes whole = vectors_bytes(row, "before"), copy = vectors_bytes(row, "before");
	size_t asked = FL_GUE_BASE_LEN + fl_steer_len(whole.data[FL_STEER_AT_FLAGS]), len;

	for (len = 0; len < asked; len++)
		assert_false(function(copy.data, copy.data + len));
	assert_memory_equal(copy.data, whole.data, whole.len);
	vectors_free(&whole);
	vectors_free(&copy);
}

static void chained_too_short(void **state)
{
	too_short(*state, fl_steer_chain);
}

static void promoted_too_short(void **state)
{
	too_short(*state, fl_steer_promote);
}

/* There is nothing to promote. */
static void without_second(void **state)
{
	struct vectors_bytes bytes = vectors_bytes(*state, "bytes"), copy = vectors_bytes(*state, "bytes");
	bool has_second = bytes.data[FL_STEER_AT_FLAGS] & FL_STEER_SECOND;

	assert_int_equal(fl_steer_promote(copy.data, copy.data + copy.len), has_second);
	assert_int_equal(!memcmp(copy.data, bytes.data, bytes.len), !has_second);
	vectors_free(&bytes);
	vectors_free(&copy);
}

int main(int argc, char **argv)
{
	json_t *file = vectors_load(argc > 1 ? argv[1] : ".", "steer.json");
	struct vectors_tests tests = {NULL, 0};
	int failed;

	vectors_add(&tests, file, "valid", valid);
	vectors_add(&tests, file, "malformed", malformed);
	vectors_add(&tests, file, "chained", chained);
	vectors_add(&tests, file, "chained", chained_too_short);
	vectors_add(&tests, file, "promoted", promoted);
	vectors_add(&tests, file, "promoted", promoted_too_short);
	vectors_add(&tests, file, "valid", without_second);
	vectors_add(&tests, file, "late", late);
	failed = vectors_run("steer", &tests);
	json_decref(file);
	return failed;
}
