/* SPDX-License-Identifier: Apache-2.0 */
/* notice.h against notice.json: what is read, written, refused, answered, and tags. */
#include <stdlib.h>
#include <string.h>

#include <fairlead/notice.h>

#include "vectors.h"

static struct fl_siphash_key cluster;

static const char *const errors[FL_LIST_ERRORS] = {
    [FL_LIST_TRUNCATED] = "truncated",
    [FL_LIST_GUE_VERSION] = "gue_version",
    [FL_LIST_GUE_CONTROL] = "gue_control",
    [FL_LIST_GUE_FLAGS] = "gue_flags",
    [FL_LIST_INNER_PROTOCOL] = "inner_protocol",
    [FL_LIST_LENGTH] = "length",
    [FL_LIST_VERSION_UNKNOWN] = "version_unknown",
    [FL_LIST_COUNT] = "count",
    [FL_LIST_LEFT] = "left",
    [FL_LIST_KEY_ALONE] = "key_alone",
    [FL_LIST_GENERATION_ZERO] = "generation_zero",
    [FL_LIST_NOTICE] = "notice",
};

static enum fl_list_error parse(const struct vectors_bytes *bytes, struct fl_notice *notice)
{
	return fl_notice_parse(bytes->data, bytes->data + bytes->len, (fl_u32)bytes->len, notice);
}

static void valid(void **state)
{
	const json_t *row = *state, *fields = vectors_get(row, "fields");
	struct vectors_bytes bytes = vectors_bytes(row, "bytes");
	fl_u8 written[FL_NOTICE_MAX_LEN], flags = 0;
	struct fl_notice notice;

	if (vectors_bool(fields, "ack"))
		flags |= FL_NOTICE_ACK;
	if (vectors_bool(fields, "key"))
		flags |= FL_LIST_KEY;
	if (!vectors_is_null(fields, "tag"))
		flags |= FL_LIST_TAG;
	assert_int_equal(parse(&bytes, &notice), FL_LIST_OK);
	assert_int_equal(notice.flags, flags);
	assert_int_equal(notice.service, vectors_number(fields, "service"));
	assert_int_equal(notice.generation, vectors_number(fields, "generation"));
	if (flags & FL_LIST_TAG) {
		struct vectors_bytes tag = vectors_bytes(fields, "tag");

		assert_int_equal(tag.len, FL_LIST_TAG_LEN);
		assert_true(notice.tag == fl_load_be64(tag.data));
		vectors_free(&tag);
	}
	assert_int_equal(fl_notice_write(&notice, written), bytes.len);
	assert_memory_equal(written, bytes.data, bytes.len);
	vectors_free(&bytes);
}

static void malformed(void **state)
{
	const json_t *row = *state;
	struct vectors_bytes bytes = vectors_bytes(row, "bytes");
	struct fl_notice notice, untouched;

	memset(&notice, 0xa5, sizeof(notice));
	untouched = notice;
	assert_int_equal(parse(&bytes, &notice), vectors_word(row, "error", errors, FL_LIST_ERRORS));
	assert_memory_equal(&notice, &untouched, sizeof(notice));
	vectors_free(&bytes);
}

/* Behind the datagram may be the padding of a short frame; a datagram that ends early is truncated. */
static void cut_by_length(void **state)
{
	const json_t *row = *state;
	struct vectors_bytes bytes = vectors_bytes(row, "bytes");
	struct fl_notice notice;
	size_t whole = bytes.len;

	bytes.data = realloc(bytes.data, whole + 6);
	assert_non_null(bytes.data);
	memset(bytes.data + whole, 0, 6);
	for (size_t len = 0; len <= whole; len++)
		assert_int_equal(fl_notice_parse(bytes.data, bytes.data + whole + 6, (fl_u32)len, &notice),
				 len < whole ? FL_LIST_TRUNCATED : FL_LIST_OK);
	vectors_free(&bytes);
}

static void answered(void **state)
{
	const json_t *row = *state;
	struct vectors_bytes before = vectors_bytes(row, "before"), after = vectors_bytes(row, "after");
	struct fl_address server = vectors_address(row, "server");
	struct fl_siphash_key key = fl_notice_key(&cluster, &server);
	struct fl_notice notice;

	assert_int_equal(parse(&before, &notice), FL_LIST_OK);
	notice.flags |= FL_NOTICE_ACK;
	notice.generation = (fl_u32)vectors_number(row, "known");
	notice.tag = fl_notice_tag(&key, &notice, &server);
	assert_true(fl_notice_answer(before.data, before.data + before.len, &notice));
	assert_int_equal(before.len, after.len);
	assert_memory_equal(before.data, after.data, after.len);
	for (size_t len = 0; len < before.len; len++) {
		fl_u8 *copy = malloc(len ? len : 1); /* ASan sees what is written beyond */

		assert_non_null(copy);
		assert_false(fl_notice_answer(copy, copy + len, &notice));
		free(copy);
	}
	vectors_free(&before);
	vectors_free(&after);
}

static void tags(void **state)
{
	const json_t *row = *state;
	struct vectors_bytes bytes = vectors_bytes(row, "bytes"), tag = vectors_bytes(row, "tag");
	struct fl_address server = vectors_address(row, "server");
	struct fl_siphash_key key = fl_notice_key(&cluster, &server);
	struct fl_notice notice;
	fl_u64 right;

	assert_int_equal(parse(&bytes, &notice), FL_LIST_OK);
	right = fl_notice_tag(&key, &notice, &server);
	assert_true(right == fl_load_be64(tag.data));
	assert_string_equal(!(notice.flags & FL_LIST_TAG) ? "missing"
			    : notice.tag == right         ? "right"
							  : "wrong",
			    vectors_text(row, "result"));
	vectors_free(&bytes);
	vectors_free(&tag);
}

static void keys(void **state)
{
	struct fl_address server = vectors_address(*state, "server");
	struct fl_siphash_key expected = vectors_key(*state, "key"), made = fl_notice_key(&cluster, &server);

	assert_true(made.k0 == expected.k0 && made.k1 == expected.k1);
}

int main(int argc, char **argv)
{
	json_t *file = vectors_load(argc > 1 ? argv[1] : ".", "notice.json");
	struct vectors_tests tests = {NULL, 0};
	int failed;

	cluster = vectors_key(file, "key");
	vectors_add(&tests, file, "keys", keys);
	vectors_add(&tests, file, "valid", valid);
	vectors_add(&tests, file, "valid", cut_by_length);
	vectors_add(&tests, file, "malformed", malformed);
	vectors_add(&tests, file, "answered", answered);
	vectors_add(&tests, file, "tags", tags);
	failed = vectors_run("notices of generations", &tests);
	json_decref(file);
	return failed;
}
