// SPDX-License-Identifier: Apache-2.0
/*
 * tag.json against the XDP program with the cluster's key: a packet with the right tag goes on to the verdict, one with
 * a wrong tag or none is dropped under that reason and teaches nothing, and one that is sent on gets a new tag.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <linux/bpf.h>

#include "program.h"
#include "rig.h"
#include "vectors.h"

static struct fl_server *with_key, *without_key; /* neither chains */
static struct fl_server *chaining, *passing;

static struct packet packet_make(const char *source, const char *destination, const struct vectors_bytes *bytes)
{
	struct fl_address from = packet_address(source), to = packet_address(destination);
	struct packet packet;

	packet_begin_outer(&packet, &from, &to, FL_GUE_PORT);
	packet_add_bytes(&packet, bytes->data, bytes->len);
	packet_finish_outer(&packet);
	return packet;
}

/* It goes on to the verdict as an unknown connection's packet, or a later fragment. */
static void check_accepted(struct fl_server *program, const struct vectors_bytes *bytes)
{
	bool is_late = bytes->data[FL_STEER_AT_FLAGS] & FL_STEER_LATE;
	struct packet packet = packet_make(RIG_MUX, RIG_SELF, bytes);
	enum fl_counter counter;

	assert_int_equal(rig_run(program, &packet), is_late ? XDP_DROP : XDP_PASS);
	counter = rig_counter_bumped(program);
	if (is_late)
		assert_int_equal(counter, FL_COUNTER_DROP_STALE);
	else
		assert_true(counter == FL_COUNTER_DELIVER_UNKNOWN || counter == FL_COUNTER_DELIVER_NO_RESET);
}

static void row(void **state)
{
	struct vectors_bytes bytes = vectors_bytes(*state, "bytes");
	struct packet packet = packet_make(RIG_MUX, RIG_SELF, &bytes), whole = packet;
	bool is_right = !strcmp(vectors_text(*state, "result"), "right");
	fl_u64 learned;

	rig_memory_set(with_key, NULL);
	rig_generation_set(with_key, 0);
	learned = rig_counter(with_key, FL_COUNTER_LEARNED);
	if (is_right) {
		check_accepted(with_key, &bytes);
	} else {
		bool is_missing = !strcmp(vectors_text(*state, "result"), "missing");

		assert_int_equal(rig_run(with_key, &packet), XDP_DROP);
		rig_check_counted(with_key, is_missing ? FL_COUNTER_DROP_UNTRUSTED_TAG_MISSING
						       : FL_COUNTER_DROP_UNTRUSTED_TAG_WRONG);
		assert_int_equal(packet.len, whole.len);
		assert_memory_equal(packet.data, whole.data, whole.len);
		assert_int_equal(rig_generation_get(with_key), 0);
		assert_int_equal(rig_counter(with_key, FL_COUNTER_LEARNED), learned);
	}
	vectors_free(&bytes);
}

/* Without a key tags are ignored. */
static void ignored(void **state)
{
	struct vectors_bytes bytes = vectors_bytes(*state, "bytes");

	rig_memory_set(without_key, NULL);
	rig_generation_set(without_key, 0);
	check_accepted(without_key, &bytes);
	vectors_free(&bytes);
}

/* On to a server of each family: from there it is the row's packet again. seen: the highest generation. */
static void check_chained(const json_t *row, fl_u32 seen)
{
	static const char *const next[RIG_FAMILIES] = {"10.1.0.21", "2001:db8:1::21"};
	struct vectors_bytes before = vectors_bytes(row, "before"), after = vectors_bytes(row, "after");
	int family;

	for (family = 0; family < RIG_FAMILIES; family++) {
		size_t gue_at = PACKET_GUE_AT + (family == RIG_IPV4 ? 0 : PACKET_IPV6_MORE);
		struct fl_bucket_memory moved = {
		    .since = (fl_u32)time(NULL), .generation = UINT32_MAX, .previous = packet_address(next[family])};
		struct packet packet = packet_make(RIG_MUX, RIG_SELF, &before);

		rig_memory_set(chaining, &moved);
		rig_generation_set(chaining, seen);
		assert_int_equal(rig_run(chaining, &packet), XDP_TX);
		rig_check_counted(chaining, FL_COUNTER_CHAIN);
		assert_int_equal(packet.len, gue_at + after.len);
		assert_memory_equal(packet.data + gue_at, after.data, after.len);
	}
	vectors_free(&before);
	vectors_free(&after);
}

static void chained(void **state)
{
	check_chained(*state, 0);
}

static void late(void **state)
{
	check_chained(*state, UINT32_MAX);
}

/* The packet with one byte of the GUE payload changed is dropped for its tag. */
static void check_refused_with(const struct vectors_bytes *bytes, size_t at)
{
	struct packet packet = packet_make(RIG_MUX, RIG_SELF, bytes);
	size_t gue_at = packet.len - bytes->len;

	packet.data[gue_at + at] ^= 0x55;
	assert_int_equal(rig_run(with_key, &packet), XDP_DROP);
	rig_check_counted(with_key, FL_COUNTER_DROP_UNTRUSTED_TAG_WRONG);
}

/* A right tag that the program remembers vouches for this message and no other, and no other tag for the message. */
static void remembered(void **state)
{
	struct vectors_bytes bytes = vectors_bytes(*state, "bytes");
	struct fl_steer steer = {0};
	size_t at, tag_at, inner_at;

	if (strcmp(vectors_text(*state, "result"), "right")) {
		vectors_free(&bytes);
		return;
	}
	assert_int_equal(fl_steer_parse(bytes.data, bytes.data + bytes.len, &steer), FL_STEER_OK);
	tag_at = FL_STEER_AT_SINCE + fl_steer_before_tag(steer.flags);
	inner_at = steer.header_len + (steer.inner_protocol == FL_GUE_PROTO_IPV4 ? 12U : 8U);
	rig_memory_set(with_key, NULL);
	rig_generation_set(with_key, 0);
	check_accepted(with_key, &bytes);
	check_accepted(with_key, &bytes);
	for (at = FL_STEER_AT_SERVICE; at < FL_STEER_AT_GENERATION + 4; at++)
		if (fl_load_be32(bytes.data + FL_STEER_AT_GENERATION) >= 256 || at != FL_STEER_AT_GENERATION + 3 ||
		    bytes.data[at] != 0x55) /* a generation of 0 is malformed */
			check_refused_with(&bytes, at);
	for (at = tag_at; at < tag_at + FL_STEER_TAG_LEN; at++)
		check_refused_with(&bytes, at);
	for (at = inner_at; at < inner_at + 8; at++)
		check_refused_with(&bytes, at);
	check_accepted(with_key, &bytes);
	vectors_free(&bytes);
}

/* Passed on. The rows' first moves are from this very server, which is no move: nothing else can be done. */
static void promoted(void **state)
{
	struct vectors_bytes before = vectors_bytes(*state, "before"), after = vectors_bytes(*state, "after");
	struct packet packet = packet_make(RIG_MUX, RIG_FORMER, &before);
	size_t gue_at;

	rig_memory_set(passing, NULL);
	assert_int_equal(rig_run(passing, &packet), XDP_TX);
	rig_check_counted(passing, FL_COUNTER_PASS_ON);
	gue_at = fl_load_be16(packet.data + 12) == 0x0800 ? PACKET_GUE_AT : PACKET_GUE_AT + PACKET_IPV6_MORE;
	assert_int_equal(packet.len, gue_at + after.len);
	assert_memory_equal(packet.data + gue_at, after.data, after.len);
	vectors_free(&before);
	vectors_free(&after);
}

int main(int argc, char **argv)
{
	json_t *file = vectors_load(argc > 1 ? argv[1] : ".", "tag.json");
	struct config config = rig_config_both();
	struct vectors_tests tests = {NULL, 0};
	int failed;

	rig_open();
	config.program.chaining = 0;
	without_key = rig_load(&config);
	config.program.tagged = 1;
	config.program.tag_key = vectors_key(file, "key");
	with_key = rig_load(&config);
	config.program.chaining = 1;
	chaining = rig_load(&config);
	rig_become_former(&config);
	passing = rig_load(&config);
	vectors_add(&tests, file, "rows", row);
	vectors_add(&tests, file, "rows", ignored);
	vectors_add(&tests, file, "rows", remembered);
	vectors_add(&tests, file, "chained", chained);
	vectors_add(&tests, file, "promoted", promoted);
	vectors_add(&tests, file, "late", late);
	failed = vectors_run("tags by the XDP program", &tests);
	program_close(passing);
	program_close(chaining);
	program_close(with_key);
	program_close(without_key);
	json_decref(file);
	return failed;
}
