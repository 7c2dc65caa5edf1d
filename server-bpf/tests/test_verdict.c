// SPDX-License-Identifier: Apache-2.0
/*
 * Every row of verdict.json against the XDP program, with real sockets: the row's memory and generation are put into
 * the maps, its packet goes through the program by BPF_PROG_TEST_RUN, and action, counter, packet, memory and
 * generation must be the row's. "local_socket" is asked twice, of an established and of a half-open connection.
 *
 * The row's `now` is the program's own clock: it is loaded with an offset that brings its second about, and a row
 * counts only if that second has lasted until its end. Rows are run in the order of their configurations, of which
 * each has a program of its own.
 *
 * What the program forgets on purpose (a move beyond its window, by a packet without MOVED) is no difference to the
 * row: such memory decides nothing any more, and test_act.c has the case.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <linux/bpf.h>

#include "rig.h"
#include "../program.h"
#include "../skeleton.h"
#include "vectors.h"

enum {
	LOAD_TRIES = 20,
	TRY_SECONDS_MAX = 8,
};

static const struct {
	const char *name;
	size_t at; /* of a struct packet_tcp in struct rig_packets */
	size_t also_at;
} classes[] = {
    {"syn", offsetof(struct rig_packets, syn), offsetof(struct rig_packets, syn)},
    {"cookie_ack", offsetof(struct rig_packets, cookie_ack), offsetof(struct rig_packets, cookie_ack)},
    {"local_socket", offsetof(struct rig_packets, established), offsetof(struct rig_packets, half_open)},
    {"unknown", offsetof(struct rig_packets, unknown), offsetof(struct rig_packets, bad_cookie)},
};

static const struct {
	const char *packet;
	enum fl_counter counter;
} deliveries[] = {
    {"syn", FL_COUNTER_DELIVER_SYN},
    {"cookie_ack", FL_COUNTER_DELIVER_COOKIE_ACK},
    {"local_socket", FL_COUNTER_DELIVER_LOCAL_SOCKET},
    {"unknown", FL_COUNTER_DELIVER_UNKNOWN},
};

static json_t *steer_vectors;
static struct fl_server *program; /* of the current configuration */
static struct config program_config;

static void program_load_for(const struct config *config, fl_u64 now, fl_u64 lead)
{
	struct config shifted = *config;

	/* After `lead` seconds the program's clock will show `now`. */
	shifted.program.clock_offset = ((fl_u64)time(NULL) - now + lead) * 1000000000;
	if (program)
		program_close(program);
	program = rig_load(&shifted);
	program_config = *config;
}

static bool is_loaded_for(const struct config *config)
{
	return program && program_config.program.window == config->program.window &&
	       program_config.program.chaining == config->program.chaining &&
	       fl_address_equal(&program_config.program.self, &config->program.self) &&
	       fl_address_equal(&program_config.program.self6, &config->program.self6);
}

/* Has a program whose clock shows now; it may go on to the next second at any time. */
static void program_at(const struct config *config, fl_u64 now)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	fl_u64 lead = 1;

	if (is_loaded_for(config) && rig_clock(program) == now)
		return;
	program_load_for(config, now, lead);
	while (rig_clock(program) != now) {
		/* Not there yet (below zero wraps to the far end), or the loading took longer than the lead. */
		if ((long long)(rig_clock(program) - now) > 0 && rig_clock(program) - now < 3600) {
			if (++lead > TRY_SECONDS_MAX)
				fail_msg("loading the program takes longer than %d s", TRY_SECONDS_MAX);
			program_load_for(config, now, lead);
		}
		nanosleep(&pause, NULL);
	}
}

static struct fl_bucket_memory memory_of(const json_t *memory)
{
	struct fl_bucket_memory m = {
	    .since = (fl_u32)vectors_number(memory, "since"),
	    .generation = (fl_u32)vectors_number(memory, "generation"),
	    .previous = vectors_address(memory, "previous"),
	};

	return m;
}

static bool memory_is_zero(const struct fl_bucket_memory *memory)
{
	static const struct fl_bucket_memory zero;

	return !memcmp(memory, &zero, sizeof(zero));
}

/* GUE base and steer header of a row, or of a malformed header of its kind. */
static void steer_add(struct packet *packet, const json_t *in)
{
	const json_t *row, *json = vectors_get(in, "steer");
	struct fl_steer steer = {.inner_protocol = FL_GUE_PROTO_IPV4, .service = RIG_SERVICE, .bucket = RIG_BUCKET};
	fl_u8 gue[FL_GUE_BASE_LEN + FL_STEER_MAX_LEN];
	size_t i;

	if (json_is_null(json)) {
		json_array_foreach(vectors_list(steer_vectors, "malformed"), i, row)
		{
			struct vectors_bytes bytes;

			if (strcmp(vectors_text(row, "error"), vectors_text(in, "malformed")))
				continue;
			bytes = vectors_bytes(row, "bytes");
			packet_add_bytes(packet, bytes.data, bytes.len);
			vectors_free(&bytes);
			return;
		}
		fail_msg("steer.json has no header that is malformed by '%s'", vectors_text(in, "malformed"));
	}
	steer.generation = (fl_u32)vectors_number(json, "generation");
	steer.hops = (fl_u8)vectors_number(json, "hops");
	if (json_is_null(json_object_get(json, "bucket")))
		steer.bucket = FL_STEER_BUCKET_NONE;
	if (!vectors_is_null(json, "since")) {
		steer.flags = FL_STEER_MOVED;
		steer.since = (fl_u32)vectors_number(json, "since");
		steer.previous = vectors_address(json, "previous");
	}
	packet_add_bytes(packet, gue, fl_steer_write(&steer, gue));
}

/* The packet of a row as a mux sends it; *inner_at is where the inner packet begins. */
static void packet_make(struct packet *packet, const json_t *in, const struct packet_tcp *tcp, size_t *inner_at)
{
	struct fl_address self = vectors_address(in, "self");
	bool is_ipv4 = fl_address_is_ipv4(&self), is_trusted = vectors_bool(in, "trusted");
	struct fl_address source = is_ipv4 ? packet_address(is_trusted ? RIG_MUX : "192.0.2.1")
					   : packet_address(is_trusted ? RIG_MUX6 : "2001:db8:77::1");

	packet_begin_outer(packet, &source, &self, FL_GUE_PORT);
	steer_add(packet, in);
	*inner_at = packet->len;
	/* A header that is malformed by being short must stay the packet's end. */
	if (vectors_is_null(in, "malformed") || strcmp(vectors_text(in, "malformed"), "truncated"))
		packet_add_tcp(packet, tcp);
	packet_finish_outer(packet);
}

static enum fl_counter delivery_counter(const char *packet)
{
	size_t i;

	for (i = 0; i < sizeof(deliveries) / sizeof(deliveries[0]); i++)
		if (!strcmp(deliveries[i].packet, packet))
			return deliveries[i].counter;
	fail_msg("unknown packet class '%s'", packet);
	return FL_COUNTERS;
}

static void check_malformed(const json_t *in, enum fl_counter counter)
{
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
	};
	int error = vectors_word(in, "malformed", errors, FL_STEER_ERRORS);

	assert_int_equal(counter, fl_counter_of_steer_error((enum fl_steer_error)error));
}

/* Action, counter and packet. */
static void check_exit(const json_t *in, const json_t *out, const struct packet *before, const struct packet *after,
		       size_t inner_at, int action)
{
	enum fl_counter counter = rig_counter_bumped(program);
	const char *verdict = vectors_text(out, "verdict");

	if (!strcmp(verdict, "deliver")) {
		assert_int_equal(action, XDP_PASS);
		assert_int_equal(counter, delivery_counter(vectors_text(in, "packet")));
		assert_int_equal(after->len, PACKET_ETH_LEN + before->len - inner_at);
		assert_memory_equal(after->data, before->data, 12);
		assert_int_equal(fl_load_be16(after->data + 12), 0x0800);
		assert_memory_equal(after->data + PACKET_ETH_LEN, before->data + inner_at, before->len - inner_at);
	} else if (!strcmp(verdict, "chain")) {
		struct fl_address next = vectors_address(out, "next");
		bool was_ipv4 = fl_load_be16(before->data + 12) == 0x0800, is_ipv4 = fl_address_is_ipv4(&next);
		int longer = (was_ipv4 - is_ipv4) * PACKET_IPV6_MORE;

		assert_int_equal(action, XDP_TX);
		assert_int_equal(counter, FL_COUNTER_CHAIN);
		assert_int_equal(after->len, (int)before->len + longer);
		assert_int_equal(fl_load_be16(after->data + 12), is_ipv4 ? 0x0800 : 0x86dd);
		if (is_ipv4)
			assert_memory_equal(after->data + PACKET_OUTER_AT + 16, next.bytes + 12, 4);
		else
			assert_memory_equal(after->data + PACKET_OUTER_AT + 24, next.bytes, 16);
	} else {
		assert_int_equal(action, XDP_DROP);
		assert_int_equal(after->len, before->len);
		assert_memory_equal(after->data, before->data, before->len);
		if (!strcmp(verdict, "drop_stale"))
			assert_int_equal(counter, FL_COUNTER_DROP_STALE);
		else if (!strcmp(verdict, "drop_untrusted"))
			assert_int_equal(counter, FL_COUNTER_DROP_UNTRUSTED_SENDER);
		else if (!strcmp(verdict, "drop_malformed"))
			check_malformed(in, counter);
		else
			fail_msg("unknown verdict '%s'", verdict);
	}
}

static void check_state(const json_t *in, const json_t *out, fl_u64 learned)
{
	struct fl_bucket_memory expected = memory_of(vectors_get(out, "memory")), memory = {0};
	bool is_remembered = rig_memory_get(program, &memory);
	bool is_over = vectors_number(in, "now") >= (fl_u64)expected.since + vectors_number(in, "window");

	assert_int_equal(rig_generation_get(program), vectors_number(out, "generationSeen"));
	assert_int_equal(learned, vectors_bool(out, "learned"));
	if (!is_remembered && !learned && is_over)
		return;
	assert_memory_equal(&memory, &expected, sizeof(memory));
}

/* Runs one row with one packet; false if the clock moved on meanwhile and it must be run again. */
static bool run_once(const json_t *row, const struct config *config, const struct packet_tcp *tcp)
{
	const json_t *in = vectors_get(row, "in"), *out = vectors_get(row, "out");
	struct fl_bucket_memory memory = memory_of(vectors_get(in, "memory"));
	fl_u64 now = vectors_number(in, "now"), learned;
	struct packet before, after;
	size_t inner_at;
	int action;

	packet_make(&before, in, tcp, &inner_at);
	after = before;
	program_at(config, now);
	rig_memory_set(program, memory_is_zero(&memory) ? NULL : &memory);
	rig_generation_set(program, (fl_u32)vectors_number(in, "generationSeen"));
	learned = rig_counter(program, FL_COUNTER_LEARNED);
	action = rig_run(program, &after);
	if (rig_clock(program) != now)
		return false;
	check_exit(in, out, &before, &after, inner_at, action);
	check_state(in, out, rig_counter(program, FL_COUNTER_LEARNED) - learned);
	return true;
}

static struct config config_of(const json_t *row)
{
	const json_t *in = vectors_get(row, "in");
	struct config config = rig_config_both();
	struct fl_address self = vectors_address(in, "self");

	*(fl_address_is_ipv4(&self) ? &config.program.self : &config.program.self6) = self;
	config.program.window = (fl_u32)vectors_number(in, "window");
	config.program.chaining = vectors_bool(in, "chaining");
	return config;
}

static void run_until_in_time(const json_t *row, const struct config *config, size_t at)
{
	const struct packet_tcp *tcp = (const void *)((const char *)rig_packets(RIG_IPV4) + at);
	int tries;

	for (tries = 0; tries < LOAD_TRIES; tries++)
		if (run_once(row, config, tcp))
			return;
	fail_msg("the row's second never lasted long enough");
}

static void run(void **state)
{
	const json_t *row = *state;
	const char *packet = vectors_text(vectors_get(row, "in"), "packet");
	struct config config = config_of(row);
	size_t i;

	for (i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		if (strcmp(classes[i].name, packet))
			continue;
		run_until_in_time(row, &config, classes[i].at);
		if (classes[i].also_at != classes[i].at)
			run_until_in_time(row, &config, classes[i].also_at);
		return;
	}
	fail_msg("unknown packet class '%s'", packet);
}

static int compare(const void *a, const void *b)
{
	const json_t *left = *(json_t *const *)a, *right = *(json_t *const *)b;
	struct config l = config_of(left), r = config_of(right);
	fl_u64 l_now = vectors_number(vectors_get(left, "in"), "now");
	fl_u64 r_now = vectors_number(vectors_get(right, "in"), "now");
	int order = memcmp(&l.program, &r.program, sizeof(l.program));

	return order ? order : (l_now > r_now) - (l_now < r_now);
}

int main(int argc, char **argv)
{
	const char *folder = argc > 1 ? argv[1] : ".";
	json_t *file = vectors_load(folder, "verdict.json");
	const json_t *rows = vectors_list(file, "rows"), *row;
	const json_t **sorted;
	struct vectors_tests tests = {NULL, 0};
	size_t i;
	int failed;

	steer_vectors = vectors_load(folder, "steer.json");
	rig_open();
	sorted = calloc(json_array_size(rows), sizeof(*sorted));
	json_array_foreach(rows, i, row) sorted[i] = row;
	qsort(sorted, json_array_size(rows), sizeof(*sorted), compare);
	for (i = 0; i < json_array_size(rows); i++)
		vectors_add_plain(&tests, vectors_text(sorted[i], "name"), run, (void *)(uintptr_t)sorted[i]);
	failed = vectors_run("verdict by the XDP program", &tests);
	if (program)
		program_close(program);
	free(sorted);
	json_decref(steer_vectors);
	json_decref(file);
	return failed;
}
