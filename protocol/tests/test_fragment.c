/* SPDX-License-Identifier: Apache-2.0 */
/* fragment.h and the keys of keys.h against fragment.json: what is read, written, refused, and tags. */
#include <string.h>

#include <fairlead/fragment.h>

#include "vectors.h"

static void key(void **state)
{
	struct fl_siphash_key cluster = vectors_key(*state, "cluster"), muxes = vectors_key(*state, "muxes");
	struct fl_siphash_key made = fl_mux_key(&cluster);

	assert_true(made.k0 == muxes.k0 && made.k1 == muxes.k1);
	assert_int_equal(fl_key_bit(&cluster), vectors_bool(*state, "bit"));
}

static void valid(void **state)
{
	const json_t *row = *state, *fields = vectors_get(row, "fields");
	struct vectors_bytes bytes = vectors_bytes(row, "bytes");
	fl_u32 len = (fl_u32)vectors_number(fields, "headerLength");
	fl_u8 written[FL_FRAGMENT_MAX_LEN], flags = 0;
	struct fl_fragment fragment = {0};

	if (!vectors_is_null(fields, "tag"))
		flags = vectors_bool(fields, "key") ? FL_LIST_TAG | FL_LIST_KEY : FL_LIST_TAG;
	assert_true(fl_fragment_parse(bytes.data, bytes.data + bytes.len, &fragment));
	assert_int_equal(fragment.inner_protocol, vectors_number(fields, "innerProtocol"));
	assert_int_equal(fragment.flags, flags);
	assert_int_equal(fl_fragment_len(fragment.flags), len);
	if (flags) {
		struct vectors_bytes tag = vectors_bytes(fields, "tag");

		assert_true(fragment.tag == fl_load_be64(tag.data));
		vectors_free(&tag);
	}
	assert_int_equal(fl_fragment_write(&fragment, written), len);
	assert_memory_equal(written, bytes.data, len);
	vectors_free(&bytes);
}

static void malformed(void **state)
{
	struct vectors_bytes bytes = vectors_bytes(*state, "bytes");
	struct fl_fragment fragment, untouched;

	memset(&fragment, 0xa5, sizeof(fragment));
	untouched = fragment;
	assert_false(fl_fragment_parse(bytes.data, bytes.data + bytes.len, &fragment));
	assert_memory_equal(&fragment, &untouched, sizeof(fragment));
	vectors_free(&bytes);
}

static void tagged(void **state)
{
	const json_t *row = *state;
	struct fl_address sender = vectors_address(row, "sender"), receiver = vectors_address(row, "receiver");
	struct fl_siphash_key cluster = vectors_key(row, "cluster"), muxes = fl_mux_key(&cluster);
	struct vectors_bytes bytes = vectors_bytes(row, "bytes");
	struct fl_fragment fragment = {0};
	fl_u64 right;

	assert_true(fl_fragment_parse(bytes.data, bytes.data + bytes.len, &fragment));
	right = fl_fragment_tag(&muxes, fragment.flags, &sender, &receiver, bytes.data + FL_FRAGMENT_MAX_LEN,
				(fl_u32)bytes.len - FL_FRAGMENT_MAX_LEN);
	assert_int_equal(fragment.tag == right, vectors_bool(row, "right"));
	vectors_free(&bytes);
}

int main(int argc, char **argv)
{
	json_t *file = vectors_load(argc > 1 ? argv[1] : ".", "fragment.json");
	struct vectors_tests tests = {NULL, 0};
	int failed;

	vectors_add(&tests, file, "keys", key);
	vectors_add(&tests, file, "valid", valid);
	vectors_add(&tests, file, "malformed", malformed);
	vectors_add(&tests, file, "tagged", tagged);
	failed = vectors_run("fragment", &tests);
	json_decref(file);
	return failed;
}
