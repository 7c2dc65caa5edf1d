/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict_row.h"

static const char *const packets[] = {
    [FL_PACKET_SYN] = "syn",         [FL_PACKET_COOKIE_ACK] = "cookie_ack", [FL_PACKET_LOCAL_SOCKET] = "local_socket",
    [FL_PACKET_UNKNOWN] = "unknown", [FL_PACKET_NO_RESET] = "no_reset",     [FL_PACKET_REFUSED] = "refused",
};

static const char *const verdicts[FL_VERDICTS] = {
    [FL_VERDICT_DELIVER] = "deliver",
    [FL_VERDICT_CHAIN] = "chain",
    [FL_VERDICT_DROP_STALE] = "drop_stale",
    [FL_VERDICT_DROP_UNTRUSTED] = "drop_untrusted",
    [FL_VERDICT_DROP_MALFORMED] = "drop_malformed",
    [FL_VERDICT_PASS] = "pass",
};

static const char *const errors[FL_STEER_ERRORS] = {
    [FL_STEER_TRUNCATED] = "truncated",
    [FL_STEER_GUE_VERSION] = "gue_version",
    [FL_STEER_GUE_CONTROL] = "gue_control",
    [FL_STEER_GUE_FLAGS] = "gue_flags",
    [FL_STEER_INNER_PROTOCOL] = "inner_protocol",
    [FL_STEER_LENGTH] = "length",
    [FL_STEER_VERSION_UNKNOWN] = "version_unknown",
    [FL_STEER_FLAGS_UNKNOWN] = "flags_unknown",
    [FL_STEER_PREVIOUS6_ALONE] = "previous6_alone",
    [FL_STEER_GENERATION_ZERO] = "generation_zero",
    [FL_STEER_NOTICE] = "notice",
    [FL_STEER_SECOND6_ALONE] = "second6_alone",
    [FL_STEER_MOVED2_ALONE] = "moved2_alone",
    [FL_STEER_PREVIOUS2_6_ALONE] = "previous2_6_alone",
    [FL_STEER_SEGMENTS] = "segments",
};

enum fl_packet_class verdict_row_class(const json_t *in)
{
	return (enum fl_packet_class)vectors_word(in, "packet", packets, sizeof(packets) / sizeof(packets[0]));
}

enum fl_steer_error verdict_row_error(const json_t *row, const char *key)
{
	return (enum fl_steer_error)vectors_word(row, key, errors, FL_STEER_ERRORS);
}

enum fl_verdict verdict_row_verdict(const json_t *out)
{
	return (enum fl_verdict)vectors_word(out, "verdict", verdicts, FL_VERDICTS);
}

struct fl_bucket_memory verdict_row_memory(const json_t *in_or_out)
{
	const json_t *memory = vectors_get(in_or_out, "memory");
	struct fl_bucket_memory m = {
	    .since = (fl_u32)vectors_number(memory, "since"),
	    .generation = (fl_u32)vectors_number(memory, "generation"),
	    .previous = vectors_address(memory, "previous"),
	};

	return m;
}

fl_u32 verdict_row_removed(const json_t *in)
{
	return json_object_get(in, "removed") ? (fl_u32)vectors_number(in, "removed") : 0;
}

/* A header without the key has no second bucket; one without `late` is not. */
static void second_add(struct fl_steer *s, const json_t *second)
{
	if (!second)
		return;
	s->flags |= FL_STEER_SECOND;
	s->second.bucket = (fl_u32)vectors_number(second, "bucket");
	s->second.owner = vectors_address(second, "owner");
	if (vectors_is_null(second, "since"))
		return;
	s->flags |= FL_STEER_MOVED2;
	s->second.since = (fl_u32)vectors_number(second, "since");
	s->second.previous = vectors_address(second, "previous");
}

struct fl_steer verdict_row_steer(const json_t *in, fl_u16 service, fl_u32 bucket)
{
	const json_t *steer = vectors_get(in, "steer");
	struct fl_steer s = {
	    .inner_protocol = FL_GUE_PROTO_IPV4,
	    .service = service,
	    .bucket = json_is_null(json_object_get(steer, "bucket")) ? FL_STEER_BUCKET_NONE : bucket,
	    .generation = (fl_u32)vectors_number(steer, "generation"),
	    .hops = (fl_u8)vectors_number(steer, "hops"),
	};

	if (!vectors_is_null(steer, "since")) {
		s.flags = FL_STEER_MOVED;
		s.since = (fl_u32)vectors_number(steer, "since");
		s.previous = vectors_address(steer, "previous");
	}
	second_add(&s, json_object_get(steer, "second"));
	if (json_is_true(json_object_get(steer, "late")))
		s.flags |= FL_STEER_LATE;
	return s;
}

static void shift(const json_t *object, const char *key, fl_u64 seconds)
{
	if (!vectors_is_null(object, key))
		json_integer_set(json_object_get(object, key), (json_int_t)(vectors_number(object, key) + seconds));
}

/* A memory of nothing stays one. */
static void shift_memory(const json_t *in_or_out, fl_u64 seconds)
{
	const json_t *memory = vectors_get(in_or_out, "memory");

	if (vectors_number(memory, "since") || !vectors_is_null(memory, "previous"))
		shift(memory, "since", seconds);
}

static void shift_steer(const json_t *steer, fl_u64 seconds)
{
	const json_t *second = json_object_get(steer, "second");

	shift(steer, "since", seconds);
	if (second)
		shift(second, "since", seconds);
}

void verdict_row_shift(const json_t *row, fl_u64 seconds)
{
	const json_t *in = vectors_get(row, "in");

	shift(in, "now", seconds);
	shift_memory(in, seconds);
	shift_memory(vectors_get(row, "out"), seconds);
	if (!json_is_null(vectors_get(in, "steer")))
		shift_steer(json_object_get(in, "steer"), seconds);
}
