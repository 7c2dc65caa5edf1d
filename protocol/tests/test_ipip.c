/* SPDX-License-Identifier: Apache-2.0 */
/* ipip.h against ipip.json: what is read, written, refused, chained on. */
#include <string.h>

#include <fairlead/ipip.h>

#include "vectors.h"

enum { SERVICE = 7 };

static const char *const errors[FL_STEER_ERRORS] = {
    [FL_STEER_TRUNCATED] = "truncated",
    [FL_STEER_INNER_PROTOCOL] = "inner_protocol",
    [FL_STEER_LENGTH] = "length",
    [FL_STEER_VERSION_UNKNOWN] = "version_unknown",
    [FL_STEER_FLAGS_UNKNOWN] = "flags_unknown",
    [FL_STEER_GENERATION_ZERO] = "generation_zero",
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
	bool moved = !vectors_is_null(fields, "since");
	struct fl_ipip ipip = {
	    .traffic_class = (fl_u8)vectors_number(fields, "trafficClass"),
	    .inner_len = (fl_u16)vectors_number(fields, "innerLength"),
	    .since = moved ? (fl_u32)vectors_number(fields, "since") : 0,
	    .generation = (fl_u32)vectors_number(fields, "generation"),
	};
	fl_u8 written[FL_IPIP_LEN];
	struct fl_steer steer;

	assert_int_equal(fl_ipip_parse(bytes.data, bytes.data + bytes.len, SERVICE, &steer), FL_STEER_OK);
	assert_int_equal(steer.inner_protocol, FL_GUE_PROTO_IPV4);
	assert_int_equal(steer.hops, 0);
	assert_int_equal(steer.header_len, FL_IPIP_LEN);
	assert_int_equal(steer.service, SERVICE);
	assert_int_equal(steer.bucket, FL_IPIP_BUCKET);
	assert_int_equal(steer.generation, ipip.generation);
	assert_int_equal(steer.flags, moved ? FL_STEER_MOVED : 0);
	assert_int_equal(steer.since, ipip.since);
	assert_memory_equal(steer.previous.bytes, previous.bytes, 16);
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
	struct fl_steer steer, untouched;

	memset(&steer, 0xa5, sizeof(steer));
	untouched = steer;
	assert_int_equal(fl_ipip_parse(bytes.data, bytes.data + bytes.len, SERVICE, &steer),
			 vectors_word(*state, "error", errors, FL_STEER_ERRORS));
	assert_memory_equal(&steer, &untouched, sizeof(steer));
	vectors_free(&bytes);
}

static void chained(void **state)
{
	struct vectors_bytes before = vectors_bytes(*state, "before"), after = vectors_bytes(*state, "after");
	fl_u8 self[4], next[4];

	ipv4_of(*state, "self", self);
	ipv4_of(*state, "next", next);
	assert_int_equal(before.len, after.len);
	assert_false(fl_ipip_chain(before.data, before.data + FL_IPIP_LEN - 1, self, next));
	assert_true(fl_ipip_chain(before.data, before.data + before.len, self, next));
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
	vectors_add(&tests, file, "chained", chained);
	failed = vectors_run("ipip", &tests);
	json_decref(file);
	return failed;
}
