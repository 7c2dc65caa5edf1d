/* SPDX-License-Identifier: Apache-2.0 */
/* ipip.h against ipip.json: what is read, written, refused, sent on. */
#include <string.h>

#include <fairlead/ipip.h>

#include "vectors.h"

enum { SERVICE = 7 };

static const char *const errors[FL_LIST_ERRORS] = {
    [FL_LIST_TRUNCATED] = "truncated",
    [FL_LIST_INNER_PROTOCOL] = "inner_protocol",
    [FL_LIST_LENGTH] = "length",
    [FL_LIST_VERSION_UNKNOWN] = "version_unknown",
    [FL_LIST_FLAGS_UNKNOWN] = "flags_unknown",
    [FL_LIST_GENERATION_ZERO] = "generation_zero",
};

/* An address in text as 4 bytes; none is zero, as in the option. */
static void ipv4_of(const json_t *row, const char *key, fl_u8 ipv4[4])
{
	struct fl_address address = vectors_address(row, key);

	memcpy(ipv4, address.bytes + 12, 4);
}

static void valid(void **state)
{
	const json_t *row = *state, *fields = vectors_get(row, "fields");
	struct vectors_bytes bytes = vectors_bytes(row, "bytes"), expected = vectors_bytes(row, "written");
	struct fl_address previous = vectors_address(fields, "previous");
	struct fl_ipip ipip = {
	    .traffic_class = (fl_u8)vectors_number(fields, "trafficClass"),
	    .inner_len = (fl_u16)vectors_number(fields, "innerLength"),
	    .since = (fl_u32)vectors_number(fields, "since"),
	    .generation = (fl_u32)vectors_number(fields, "generation"),
	};
	bool has_former = !vectors_is_null(fields, "previous");
	fl_u8 written[FL_IPIP_LEN];
	struct fl_list list;

	assert_int_equal(fl_ipip_parse(bytes.data, bytes.data + bytes.len, SERVICE, &list), FL_LIST_OK);
	assert_int_equal(list.inner_protocol, FL_LIST_GUE_IPV4);
	assert_int_equal(list.header_len, FL_IPIP_LEN);
	assert_int_equal(list.service, SERVICE);
	assert_int_equal(list.generation, ipip.generation);
	assert_int_equal(list.flags, 0);
	assert_int_equal(list.count, has_former);
	assert_int_equal(list.left, has_former);
	assert_memory_equal(list.candidate[0].bytes, previous.bytes, 16);
	ipv4_of(fields, "source", ipip.source);
	ipv4_of(fields, "destination", ipip.destination);
	ipv4_of(fields, "previous", ipip.previous);
	fl_ipip_write(&ipip, written);
	assert_int_equal(expected.len, FL_IPIP_LEN);
	assert_memory_equal(written, expected.data, expected.len);
	vectors_free(&bytes);
	vectors_free(&expected);
}

static void malformed(void **state)
{
	struct vectors_bytes bytes = vectors_bytes(*state, "bytes");
	struct fl_list list, untouched;

	memset(&list, 0xa5, sizeof(list));
	untouched = list;
	assert_int_equal(fl_ipip_parse(bytes.data, bytes.data + bytes.len, SERVICE, &list),
			 vectors_word(*state, "error", errors, FL_LIST_ERRORS));
	assert_memory_equal(&list, &untouched, sizeof(list));
	vectors_free(&bytes);
}

static void forwarded(void **state)
{
	struct vectors_bytes before = vectors_bytes(*state, "before"), after = vectors_bytes(*state, "after");
	fl_u8 self[4], next[4];

	ipv4_of(*state, "self", self);
	ipv4_of(*state, "next", next);
	assert_int_equal(before.len, after.len);
	assert_false(fl_ipip_forward(before.data, before.data + FL_IPIP_LEN - 1, self, next));
	assert_true(fl_ipip_forward(before.data, before.data + before.len, self, next));
	assert_memory_equal(before.data, after.data, after.len);
	vectors_free(&before);
	vectors_free(&after);
}

int main(int argc, char **argv)
{
	json_t *file = vectors_load(argc > 1 ? argv[1] : ".", "ipip.json");
	struct vectors_tests tests = {NULL, 0};
	int failed;

	vectors_add(&tests, file, "valid", valid);
	vectors_add(&tests, file, "malformed", malformed);
	vectors_add(&tests, file, "forwarded", forwarded);
	failed = vectors_run("ipip", &tests);
	json_decref(file);
	return failed;
}
