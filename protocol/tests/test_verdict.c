/* SPDX-License-Identifier: Apache-2.0 */
/* verdict.h against verdict.json. */
#include <string.h>

#include <fairlead/verdict.h>

#include "vectors.h"

static const char *const packets[] = {
    [FL_PACKET_SYN] = "syn",
    [FL_PACKET_COOKIE_ACK] = "cookie_ack",
    [FL_PACKET_LOCAL_SOCKET] = "local_socket",
    [FL_PACKET_UNKNOWN] = "unknown",
};

static const char *const verdicts[FL_VERDICTS] = {
    [FL_VERDICT_DELIVER] = "deliver",
    [FL_VERDICT_CHAIN] = "chain",
    [FL_VERDICT_DROP_STALE] = "drop_stale",
    [FL_VERDICT_DROP_UNTRUSTED] = "drop_untrusted",
    [FL_VERDICT_DROP_MALFORMED] = "drop_malformed",
};

static struct fl_bucket_memory memory_of(const json_t *memory)
{
	struct fl_bucket_memory m = {
	    .since = (fl_u32)vectors_number(memory, "since"),
	    .generation = (fl_u32)vectors_number(memory, "generation"),
	    .previous = vectors_address(memory, "previous"),
	};

	return m;
}

static struct fl_steer steer_of(const json_t *steer)
{
	struct fl_steer s = {
	    .inner_protocol = FL_GUE_PROTO_IPV4,
	    .service = 1,
	    .generation = (fl_u32)vectors_number(steer, "generation"),
	    .hops = (fl_u8)vectors_number(steer, "hops"),
	};

	if (json_is_null(json_object_get(steer, "bucket")))
		s.bucket = FL_STEER_BUCKET_NONE;
	if (!vectors_is_null(steer, "since")) {
		s.flags = FL_STEER_MOVED;
		s.since = (fl_u32)vectors_number(steer, "since");
		s.previous = vectors_address(steer, "previous");
	}
	return s;
}

static struct fl_verdict_in input_of(const json_t *in)
{
	struct fl_verdict_in v = {
	    .packet = (enum fl_packet_class)vectors_word(in, "packet", packets, 5),
	    .trusted = vectors_bool(in, "trusted"),
	    .chaining = vectors_bool(in, "chaining"),
	    .generation_seen = (fl_u32)vectors_number(in, "generationSeen"),
	    .memory = memory_of(vectors_get(in, "memory")),
	    .now = (fl_u32)vectors_number(in, "now"),
	    .window = (fl_u32)vectors_number(in, "window"),
	    .self = vectors_address(in, "self"),
	};

	/* Which fault it is does not matter here; what the parser left of the header must not matter either. */
	if (vectors_is_null(in, "malformed")) {
		v.steer = steer_of(vectors_get(in, "steer"));
	} else {
		v.malformed = FL_STEER_LENGTH;
		memset(&v.steer, 0xff, sizeof(v.steer));
	}
	return v;
}

static void decide(void **state)
{
	const json_t *row = *state, *expected = vectors_get(row, "out");
	struct fl_verdict_in in = input_of(vectors_get(row, "in"));
	struct fl_bucket_memory memory = memory_of(vectors_get(expected, "memory"));
	struct fl_address next = vectors_address(expected, "next");
	struct fl_verdict_out out;

	memset(&out, 0xa5, sizeof(out));
	fl_verdict_decide(&in, &out);
	assert_string_equal(verdicts[out.verdict], vectors_text(expected, "verdict"));
	assert_memory_equal(out.next.bytes, next.bytes, 16);
	assert_int_equal(out.generation_seen, vectors_number(expected, "generationSeen"));
	assert_int_equal(out.learned, vectors_bool(expected, "learned"));
	assert_memory_equal(&out.memory, &memory, sizeof(memory));
}

int main(int argc, char **argv)
{
	json_t *file = vectors_load(argc > 1 ? argv[1] : ".", "verdict.json");
	struct vectors_tests tests = {NULL, 0};
	int failed;

	vectors_add(&tests, file, "rows", decide);
	failed = vectors_run("verdict", &tests);
	json_decref(file);
	return failed;
}
