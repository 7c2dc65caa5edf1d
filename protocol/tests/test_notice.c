/* SPDX-License-Identifier: Apache-2.0 */
/* notice.h against notice.json: what is read, written, refused, tagged. Reads beyond an end are ASan's to see. */
#include <stdlib.h>
#include <string.h>

#include <fairlead/notice.h>

#include "verdict_row.h"

static struct fl_siphash_key key;

static enum fl_steer_error parse(const struct vectors_bytes *bytes, struct fl_notice *notice)
{
	return fl_notice_parse(bytes->data, bytes->data + bytes->len, (fl_u32)bytes->len, notice);
}

/* The buckets of the row in `listed`, each found by its index; returns how many. */
static fl_u32 buckets(const json_t *fields, const struct vectors_bytes *bytes, const struct fl_notice *notice,
		      fl_u32 *listed)
{
	const fl_u8 *end = bytes->data + bytes->len;
	const json_t *list = vectors_list(fields, "buckets"), *bucket;
	fl_u32 read = 0;
	size_t i;

	assert_int_equal(notice->count, json_array_size(list));
	json_array_foreach(list, i, bucket)
	{
		assert_true(fl_notice_bucket(bytes->data, end, notice, (fl_u32)i, &read));
		assert_int_equal(read, json_integer_value(bucket));
		assert_false(
		    fl_notice_bucket(bytes->data, end - 4 * (json_array_size(list) - i) + 3, notice, (fl_u32)i, &read));
		listed[i] = read;
	}
	assert_false(fl_notice_bucket(bytes->data, end, notice, notice->count, &read));
	return (fl_u32)i;
}

static void valid(void **state)
{
	const json_t *row = *state, *fields = vectors_get(row, "fields");
	struct vectors_bytes bytes = vectors_bytes(row, "bytes"), expected = vectors_bytes(row, "written");
	struct fl_address previous = vectors_address(fields, "previous");
	fl_u8 written[FL_NOTICE_MAX_LEN];
	fl_u32 listed[FL_NOTICE_BUCKETS_MAX], count;
	struct fl_notice notice;

	assert_true(fl_notice_is(bytes.data, bytes.data + bytes.len));
	assert_int_equal(parse(&bytes, &notice), FL_STEER_OK);
	assert_int_equal(notice.steer.inner_protocol, FL_GUE_PROTO_NOTICE);
	assert_int_equal(notice.steer.hops, 0);
	assert_int_equal(notice.steer.bucket, FL_STEER_BUCKET_NONE);
	assert_int_equal(notice.steer.flags, vectors_number(fields, "flags"));
	assert_int_equal(notice.steer.header_len, vectors_number(fields, "headerLength"));
	assert_int_equal(notice.steer.service, vectors_number(fields, "service"));
	assert_int_equal(notice.steer.generation, vectors_number(fields, "generation"));
	assert_int_equal(!(notice.steer.flags & FL_STEER_MOVED), vectors_is_null(fields, "since"));
	if (notice.steer.flags & FL_STEER_MOVED) {
		assert_int_equal(notice.steer.since, vectors_number(fields, "since"));
		assert_memory_equal(notice.steer.previous.bytes, previous.bytes, 16);
	}
	assert_int_equal(!(notice.steer.flags & FL_STEER_TAG), vectors_is_null(fields, "tag"));
	count = buckets(fields, &bytes, &notice, listed);
	assert_int_equal(fl_notice_write(&notice.steer, listed, count, &key, written), expected.len);
	assert_memory_equal(written, expected.data, expected.len);
	vectors_free(&bytes);
	vectors_free(&expected);
}

static void malformed(void **state)
{
	struct vectors_bytes bytes = vectors_bytes(*state, "bytes");
	struct fl_notice notice, untouched;

	memset(&notice, 0xa5, sizeof(notice));
	untouched = notice;
	assert_int_equal(parse(&bytes, &notice), verdict_row_error(*state, "error"));
	assert_memory_equal(&notice, &untouched, sizeof(notice));
	vectors_free(&bytes);
}

/* What an older server does with a notice. */
static void is_no_packet(void **state)
{
	struct vectors_bytes bytes = vectors_bytes(*state, "bytes");
	struct fl_steer steer;

	assert_int_equal(fl_steer_parse(bytes.data, bytes.data + bytes.len, &steer), FL_STEER_INNER_PROTOCOL);
	vectors_free(&bytes);
}

/* A short frame: the same result with bytes behind the notice, and the word of the cut without its last bytes. */
static void padded(void **state)
{
	struct vectors_bytes bytes = vectors_bytes(*state, "bytes");
	size_t len = bytes.len, room = len + 18;
	struct fl_notice plain, padded;
	fl_u64 digest, again;

	assert_int_equal(parse(&bytes, &plain), FL_STEER_OK);
	assert_true(fl_notice_digest(&key, bytes.data, bytes.data + len, &plain, &digest));
	assert_true(digest ==
		    fl_siphash(&key, bytes.data + plain.steer.header_len, (fl_u32)(len - plain.steer.header_len)));
	if (plain.count)
		assert_false(fl_notice_digest(&key, bytes.data, bytes.data + len - 1, &plain, &again));
	bytes.data = realloc(bytes.data, room);
	assert_non_null(bytes.data);
	memset(bytes.data + len, 0xee, room - len);
	assert_int_equal(fl_notice_parse(bytes.data, bytes.data + room, (fl_u32)len, &padded), FL_STEER_OK);
	assert_memory_equal(&plain, &padded, sizeof(plain));
	assert_true(fl_notice_digest(&key, bytes.data, bytes.data + room, &padded, &again));
	assert_true(digest == again);
	for (len = 0; len < plain.steer.header_len; len++)
		assert_int_equal(fl_notice_parse(bytes.data, bytes.data + room, (fl_u32)len, &padded),
				 FL_STEER_TRUNCATED);
	vectors_free(&bytes);
}

static void tagged(void **state)
{
	struct vectors_bytes bytes = vectors_bytes(*state, "bytes"), expected = vectors_bytes(*state, "message");
	struct vectors_bytes tag = vectors_bytes(*state, "tag");
	const fl_u8 *end = bytes.data + bytes.len;
	struct fl_tag_message message;
	struct fl_notice notice;
	fl_u8 stored[FL_STEER_TAG_LEN];
	const char *result = "missing";

	assert_int_equal(parse(&bytes, &notice), FL_STEER_OK);
	assert_true(fl_notice_message(&key, bytes.data, end, &notice, &message));
	assert_int_equal(expected.len, fl_tag_message_len(&message));
	assert_memory_equal(message.bytes, expected.data, expected.len);
	fl_tag_store(stored, fl_tag(&key, &message));
	assert_int_equal(tag.len, sizeof(stored));
	assert_memory_equal(stored, tag.data, tag.len);
	if (notice.steer.flags & FL_STEER_TAG)
		result = fl_tag_load(notice.steer.tag) == fl_tag(&key, &message) ? "right" : "wrong";
	assert_string_equal(result, vectors_text(*state, "result"));
	vectors_free(&bytes);
	vectors_free(&expected);
	vectors_free(&tag);
}

int main(int argc, char **argv)
{
	json_t *file = vectors_load(argc > 1 ? argv[1] : ".", "notice.json");
	struct vectors_tests tests = {NULL, 0};
	int failed;

	key = vectors_key(file, "key");
	vectors_add(&tests, file, "valid", valid);
	vectors_add(&tests, file, "valid", is_no_packet);
	vectors_add(&tests, file, "valid", padded);
	vectors_add(&tests, file, "malformed", malformed);
	vectors_add(&tests, file, "tags", tagged);
	failed = vectors_run("notice", &tests);
	json_decref(file);
	return failed;
}
