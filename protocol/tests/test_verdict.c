/* SPDX-License-Identifier: Apache-2.0 */
/* verdict.h against verdict.json. */
#include <string.h>

#include "verdict_row.h"

static struct fl_verdict_in input_of(const json_t *in)
{
	struct fl_verdict_in v = {
	    .packet = verdict_row_class(in),
	    .trusted = vectors_bool(in, "trusted"),
	    .chaining = vectors_bool(in, "chaining"),
	    .generation_seen = (fl_u32)vectors_number(in, "generationSeen"),
	    .memory = verdict_row_memory(in),
	    .removed = verdict_row_removed(in),
	    .now = (fl_u32)vectors_number(in, "now"),
	    .window = (fl_u32)vectors_number(in, "window"),
	    .self = vectors_address(in, "self"),
	};

	/* Which fault it is does not matter here; what the parser left of the header must not matter either. */
	if (vectors_is_null(in, "malformed")) {
		v.steer = verdict_row_steer(in, 1, 0);
	} else {
		v.malformed = FL_STEER_LENGTH;
		memset(&v.steer, 0xff, sizeof(v.steer));
	}
	return v;
}

static bool is_believed(const struct fl_verdict_in *in)
{
	return in->trusted && in->malformed == FL_STEER_OK;
}

static void decide_as(const struct fl_verdict_in *in, const json_t *expected)
{
	struct fl_bucket_memory memory = verdict_row_memory(expected);
	struct fl_address next = vectors_address(expected, "next");
	struct fl_verdict_out out;

	memset(&out, 0xa5, sizeof(out));
	fl_verdict_decide(in, &out);
	assert_int_equal(out.verdict, verdict_row_verdict(expected));
	assert_memory_equal(out.next.bytes, next.bytes, 16);
	assert_int_equal(out.generation_seen, vectors_number(expected, "generationSeen"));
	assert_int_equal(out.learned, vectors_bool(expected, "learned"));
	assert_memory_equal(&out.memory, &memory, sizeof(memory));
	assert_int_equal(is_believed(in) && !fl_address_is_none(&memory.previous) && fl_verdict_forgets(in),
			 vectors_bool(expected, "forgotten"));
	assert_int_equal((out.verdict == FL_VERDICT_CHAIN || out.verdict == FL_VERDICT_PASS) && fl_verdict_is_late(in),
			 vectors_bool(expected, "late"));
}

static void decide(void **state)
{
	const json_t *row = *state;
	struct fl_verdict_in in = input_of(vectors_get(row, "in"));

	decide_as(&in, vectors_get(row, "out"));
}

static void check_steer(const struct fl_steer *steer, const struct fl_steer *expected)
{
	assert_int_equal(steer->bucket, expected->bucket);
	assert_int_equal(steer->generation, expected->generation);
	assert_int_equal(steer->hops, expected->hops);
	/* The family's flag follows from the address. */
	assert_int_equal(steer->flags & ~FL_STEER_PREVIOUS6, expected->flags);
	assert_int_equal(steer->since, expected->since);
	assert_memory_equal(&steer->previous, &expected->previous, sizeof(steer->previous));
}

/* A packet with a second bucket; if it is passed on, what that bucket's owner decides by the promoted header. */
static void pass(void **state)
{
	const json_t *row = *state, *again;
	struct fl_verdict_in in, next;

	decide(state);
	again = json_object_get(row, "again");
	if (!again)
		return;
	in = input_of(vectors_get(row, "in"));
	next = input_of(vectors_get(again, "in"));
	next.steer.bucket = in.steer.second.bucket;
	fl_verdict_promote(&in);
	check_steer(&in.steer, &next.steer);
	next.steer = in.steer;
	decide_as(&next, vectors_get(again, "out"));
}

/* With nothing remembered, what is settled ends as it says and teaches nothing, whatever clock and window are. */
static void check_settled(struct fl_verdict_in *in, int *settled)
{
	static const fl_u32 clocks[] = {0, 1, 1000, UINT32_MAX};
	static const struct fl_bucket_memory nothing;
	struct fl_verdict_out out;
	size_t now, window;

	if (!fl_verdict_is_settled(in))
		return;
	++*settled;
	for (now = 0; now < 4; now++) {
		for (window = 0; window < 4; window++) {
			in->now = clocks[now];
			in->window = clocks[window];
			memset(&out, 0xa5, sizeof(out));
			fl_verdict_decide(in, &out);
			assert_int_equal(out.verdict, fl_verdict_settled(in));
			assert_false(out.learned);
			assert_int_equal(out.generation_seen, in->generation_seen);
			assert_memory_equal(&out.memory, &nothing, sizeof(nothing));
		}
	}
}

/* All classes and flags, as no server has checked them; of generations and buckets those that differ. */
static void settled(void **state)
{
	static const fl_u32 generations[] = {1, 5, 6, UINT32_MAX}, buckets[] = {0, FL_STEER_BUCKET_NONE};
	struct fl_verdict_in in = {.trusted = true};
	int packet, flags, hops, settled = 0;
	size_t seen, generation, bucket;

	(void)state;
	memset(&in.self, 1, sizeof(in.self));
	memset(&in.steer.previous, 2, sizeof(in.steer.previous));
	memset(&in.steer.second, 3, sizeof(in.steer.second));
	in.steer.since = 500;
	for (packet = FL_PACKET_SYN; packet <= FL_PACKET_REFUSED; packet++)
		for (flags = 0; flags < 256; flags++)
			for (hops = 0; hops <= 2 * FL_STEER_HOPS_MAX; hops++)
				for (generation = 0; generation < 4; generation++)
					for (seen = 0; seen < 8; seen++)
						for (bucket = 0; bucket < 2; bucket++) {
							in.packet = (enum fl_packet_class)packet;
							in.steer.flags = (fl_u8)flags;
							in.steer.hops = (fl_u8)(hops / 2);
							in.chaining = hops % 2;
							in.steer.generation = generations[generation];
							in.generation_seen = seen < 4 ? generations[seen] : 0;
							in.steer.bucket = buckets[bucket];
							check_settled(&in, &settled);
						}
	/* 4 classes, without MOVED 128 flags, and one without SECOND 64; 7 of hops, 10 of the generations, 2 buckets */
	assert_int_equal(settled, (4 * 128 + 64) * 7 * 10 * 2);
}

int main(int argc, char **argv)
{
	json_t *file = vectors_load(argc > 1 ? argv[1] : ".", "verdict.json");
	struct vectors_tests tests = {NULL, 0};
	int failed;

	vectors_add(&tests, file, "rows", decide);
	vectors_add(&tests, file, "passed", pass);
	vectors_add_plain(&tests, "what is settled", settled, NULL);
	failed = vectors_run("verdict", &tests);
	json_decref(file);
	return failed;
}
