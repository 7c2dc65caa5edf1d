/* SPDX-License-Identifier: Apache-2.0 */
/* list_srv6.h against list-srv6.json: what is read, written, refused, sent on, and tags. ASan sees over-reads. */
#include <stdlib.h>
#include <string.h>

#include <fairlead/list_srv6.h>
#include <fairlead/list_tag.h>

#include "vectors.h"

static struct fl_siphash_key cluster;

static const char *const errors[FL_LIST_ERRORS] = {
    [FL_LIST_TRUNCATED] = "truncated",
    [FL_LIST_INNER_PROTOCOL] = "inner_protocol",
    [FL_LIST_LENGTH] = "length",
    [FL_LIST_VERSION_UNKNOWN] = "version_unknown",
    [FL_LIST_COUNT] = "count",
    [FL_LIST_LEFT] = "left",
    [FL_LIST_KEY_ALONE] = "key_alone",
    [FL_LIST_GENERATION_ZERO] = "generation_zero",
    [FL_LIST_FLAGS_UNKNOWN] = "flags_unknown",
    [FL_LIST_SEGMENTS] = "segments",
};

/* No packet has these words in an SRH. */
static const char *word(int error)
{
	return errors[error] ? errors[error] : "none";
}

static enum fl_list_error parse(const json_t *row, const struct vectors_bytes *bytes, struct fl_list *list)
{
	struct fl_address receiver = vectors_address(row, "receiver");

	return fl_list_srv6_parse(bytes->data, bytes->data + bytes->len, &receiver, list);
}

static void check_candidates(const struct fl_list *list, const json_t *candidates)
{
	assert_int_equal(list->count, json_array_size(candidates));
	for (size_t i = 0; i < FL_LIST_MAX; i++) {
		json_t *one = json_pack("{s:O?}", "address", json_array_get(candidates, i));
		struct fl_address address = {{0}};

		if (i < list->count)
			address = vectors_address(one, "address");
		assert_memory_equal(list->candidate[i].bytes, address.bytes, 16);
		json_decref(one);
	}
}

static void valid(void **state)
{
	const json_t *row = *state, *fields = vectors_get(row, "fields");
	struct vectors_bytes bytes = vectors_bytes(row, "bytes");
	struct fl_address receiver = vectors_address(row, "receiver");
	fl_u8 written[FL_LIST_SRV6_MAX_LEN];
	struct fl_list list;

	assert_int_equal(parse(row, &bytes, &list), FL_LIST_OK);
	assert_int_equal(list.inner_protocol, vectors_number(fields, "innerProtocol"));
	assert_int_equal(list.flags, vectors_number(fields, "flags"));
	assert_int_equal(list.header_len, vectors_number(fields, "headerLength"));
	assert_int_equal(list.service, vectors_number(fields, "service"));
	assert_int_equal(list.generation, vectors_number(fields, "generation"));
	assert_int_equal(list.left, vectors_number(fields, "left"));
	check_candidates(&list, vectors_list(fields, "candidates"));
	assert_int_equal(!(list.flags & FL_LIST_TAG), vectors_is_null(fields, "tag"));
	assert_int_equal(fl_list_srv6_write(&list, &receiver, written), list.header_len);
	assert_memory_equal(written, bytes.data, list.header_len);
	vectors_free(&bytes);
}

static void malformed(void **state)
{
	const json_t *row = *state;
	struct vectors_bytes bytes = vectors_bytes(row, "bytes");
	struct fl_list list, untouched;

	memset(&list, 0xa5, sizeof(list));
	untouched = list;
	assert_string_equal(word(parse(row, &bytes, &list)), vectors_text(row, "error"));
	assert_memory_equal(&list, &untouched, sizeof(list));
	vectors_free(&bytes);
}

static bool message_of(const struct vectors_bytes *bytes, const struct fl_list *list, const struct fl_address *receiver,
		       struct fl_list_message *message)
{
	return fl_list_tag_message(list, receiver, bytes->data + list->header_len, bytes->data + bytes->len, message);
}

static const char *result(const struct fl_list *list, const struct fl_list_message *message)
{
	struct fl_siphash_key key = fl_list_key(&cluster, list->service);

	if (!(list->flags & FL_LIST_TAG))
		return "missing";
	return fl_list_tag_is_right(&key, list, message) ? "right" : "wrong";
}

static void forwarded(void **state)
{
	const json_t *row = *state;
	struct vectors_bytes before = vectors_bytes(row, "before"), after = vectors_bytes(row, "after");
	struct fl_address next = vectors_address(row, "next");
	fl_u8 left = (fl_u8)vectors_number(row, "left");
	struct fl_list_message message;
	struct fl_list list;

	assert_int_equal(parse(row, &before, &list), FL_LIST_OK);
	assert_memory_equal(&list.candidate[list.count - left - 1], &next, sizeof(next));
	for (fl_u32 len = 0; len < fl_list_srv6_len(list.count, 0); len++)
		assert_false(fl_list_srv6_forward(before.data, before.data + len, left, false));
	assert_true(fl_list_srv6_forward(before.data, before.data + before.len, left, vectors_bool(row, "late")));
	assert_int_equal(before.len, after.len);
	assert_memory_equal(before.data, after.data, after.len);
	assert_int_equal(fl_list_srv6_parse(after.data, after.data + after.len, &next, &list), FL_LIST_OK);
	if (list.flags & FL_LIST_TAG) {
		assert_true(message_of(&after, &list, &next, &message));
		assert_string_equal(result(&list, &message), vectors_text(row, "result"));
	}
	vectors_free(&before);
	vectors_free(&after);
}

static void tags(void **state)
{
	const json_t *row = *state;
	struct vectors_bytes bytes = vectors_bytes(row, "bytes"), expected = vectors_bytes(row, "message");
	struct vectors_bytes tag = vectors_bytes(row, "tag");
	struct fl_address receiver = vectors_address(row, "receiver");
	fl_u8 stored[FL_LIST_TAG_LEN];
	struct fl_list_message message;
	struct fl_siphash_key key;
	struct fl_list list;

	assert_int_equal(parse(row, &bytes, &list), FL_LIST_OK);
	assert_true(message_of(&bytes, &list, &receiver, &message));
	key = fl_list_key(&cluster, list.service);
	assert_int_equal(message.len, expected.len);
	assert_memory_equal(message.bytes, expected.data, expected.len);
	fl_store_be64(stored, fl_list_tag(&key, &message));
	assert_int_equal(tag.len, sizeof(stored));
	assert_memory_equal(stored, tag.data, tag.len);
	assert_string_equal(result(&list, &message), vectors_text(row, "result"));
	vectors_free(&bytes);
	vectors_free(&expected);
	vectors_free(&tag);
}

int main(int argc, char **argv)
{
	json_t *file = vectors_load(argc > 1 ? argv[1] : ".", "list-srv6.json");
	struct vectors_tests tests = {NULL, 0};
	int failed;

	cluster = vectors_key(file, "key");
	vectors_add(&tests, file, "valid", valid);
	vectors_add(&tests, file, "malformed", malformed);
	vectors_add(&tests, file, "forwarded", forwarded);
	vectors_add(&tests, file, "tags", tags);
	failed = vectors_run("list_srv6", &tests);
	json_decref(file);
	return failed;
}
