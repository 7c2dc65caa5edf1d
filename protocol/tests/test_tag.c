/* SPDX-License-Identifier: Apache-2.0 */
/* tag.h against tag.json: what is hashed, the tag, what is chained on. Reads beyond an end are ASan's to see. */
#include <stdlib.h>
#include <string.h>

#include <fairlead/tag.h>

#include "vectors.h"

static struct fl_siphash_key key;

static void message_make(const struct vectors_bytes *bytes, struct fl_steer *steer, struct fl_tag_message *message)
{
	const fl_u8 *end = bytes->data + bytes->len;

	assert_int_equal(fl_steer_parse(bytes->data, end, steer), FL_STEER_OK);
	assert_true(fl_tag_message(bytes->data, steer, bytes->data + steer->header_len, end, message));
}

static const char *result(const struct fl_steer *steer, const struct fl_tag_message *message)
{
	if (!(steer->flags & FL_STEER_TAG))
		return "missing";
	return fl_tag_load(steer->tag) == fl_tag(&key, message) ? "right" : "wrong";
}

static void row(void **state)
{
	struct vectors_bytes bytes = vectors_bytes(*state, "bytes"), expected = vectors_bytes(*state, "message");
	struct vectors_bytes tag = vectors_bytes(*state, "tag");
	struct fl_tag_message message;
	struct fl_steer steer;
	fl_u8 stored[FL_STEER_TAG_LEN];

	message_make(&bytes, &steer, &message);
	assert_int_equal(expected.len, fl_tag_message_len(&message));
	assert_memory_equal(message.bytes, expected.data, expected.len);
	fl_tag_store(stored, fl_tag(&key, &message));
	assert_int_equal(tag.len, sizeof(stored));
	assert_memory_equal(stored, tag.data, tag.len);
	assert_string_equal(result(&steer, &message), vectors_text(*state, "result"));
	vectors_free(&bytes);
	vectors_free(&expected);
	vectors_free(&tag);
}

static void renewed(const json_t *row, bool (*rewrite)(fl_u8 *data, const fl_u8 *end))
{
	struct vectors_bytes before = vectors_bytes(row, "before"), after = vectors_bytes(row, "after");
	struct fl_tag_message message;
	struct fl_steer steer;

	message_make(&before, &steer, &message);
	assert_int_equal(before.len, after.len);
	assert_true(rewrite(before.data, before.data + before.len));
	assert_true(fl_tag_renew(&key, before.data, before.data + before.len, &message));
	assert_memory_equal(before.data, after.data, after.len);
	vectors_free(&before);
	vectors_free(&after);
}

static void chained(void **state)
{
	renewed(*state, fl_steer_chain);
}

static void promoted(void **state)
{
	renewed(*state, fl_steer_promote);
}

static bool chain_as_late(fl_u8 *data, const fl_u8 *end)
{
	return fl_steer_chain(data, end) && fl_steer_mark_late(data, end);
}

static void late(void **state)
{
	renewed(*state, chain_as_late);
}

/* A server that owns the second bucket and chains by it: the same as what it would chain had it been passed to it. */
static void promoted_and_chained(void **state)
{
	struct vectors_bytes data = vectors_bytes(*state, "before"), after = vectors_bytes(*state, "after");
	fl_u8 *end = data.data + data.len, *after_end = after.data + after.len;
	struct fl_tag_message message;
	struct fl_steer steer;

	message_make(&data, &steer, &message);
	assert_true(fl_steer_promote(data.data, end) && fl_steer_chain(data.data, end));
	assert_true(fl_tag_renew(&key, data.data, end, &message));
	message_make(&after, &steer, &message);
	assert_true(fl_steer_chain(after.data, after_end) && fl_tag_renew(&key, after.data, after_end, &message));
	assert_memory_equal(data.data, after.data, after.len);
	vectors_free(&data);
	vectors_free(&after);
}

/* The inner packet cut at each length: without its IP header there is no message, behind that nothing is over-read. */
static void cut(void **state)
{
	struct vectors_bytes bytes = vectors_bytes(*state, "bytes");
	struct fl_tag_message message;
	struct fl_steer steer;
	size_t inner_len, len;

	message_make(&bytes, &steer, &message);
	inner_len = bytes.len - steer.header_len;
	for (len = 0; len <= inner_len; len++) {
		size_t header_len = steer.inner_protocol == FL_GUE_PROTO_IPV4 ? FL_TAG_IPV4_LEN : FL_TAG_IPV6_LEN;
		struct vectors_bytes copy = vectors_bytes(*state, "bytes");

		copy.data = realloc(copy.data, steer.header_len + len);
		assert_non_null(copy.data);
		assert_int_equal(fl_tag_message(copy.data, &steer, copy.data + steer.header_len,
						copy.data + steer.header_len + len, &message),
				 len >= header_len);
		vectors_free(&copy);
	}
	vectors_free(&bytes);
}

int main(int argc, char **argv)
{
	json_t *file = vectors_load(argc > 1 ? argv[1] : ".", "tag.json");
	struct vectors_tests tests = {NULL, 0};
	int failed;

	key = vectors_key(file, "key");
	vectors_add(&tests, file, "rows", row);
	vectors_add(&tests, file, "rows", cut);
	vectors_add(&tests, file, "chained", chained);
	vectors_add(&tests, file, "promoted", promoted);
	vectors_add(&tests, file, "promoted", promoted_and_chained);
	vectors_add(&tests, file, "late", late);
	failed = vectors_run("tag", &tests);
	json_decref(file);
	return failed;
}
