// SPDX-License-Identifier: Apache-2.0
/*
 * Every row of verdict.json against the module, with real sockets and packets on a real wire: the row's memory and
 * generation are restored, the machine's clock is set to its second, its packet is sent, and counter, packet, memory
 * and generation must be the row's. "local_socket" is asked twice, of an established and of a half-open connection.
 * Each run is a service of its own, so that no row sees what another one taught.
 *
 * What the module forgets on purpose (a move beyond its window, by a packet without MOVED) is no difference to the row.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vectors.h"
#include "stand.h"

enum {
	TRIES = 20,
};

static const struct {
	const char *name;
	size_t at; /* of a struct packet_tcp in struct rig_packets */
	size_t also_at;
	enum fl_counter delivery;
} classes[] = {
    {"syn", offsetof(struct rig_packets, syn), offsetof(struct rig_packets, syn), FL_COUNTER_DELIVER_SYN},
    {"cookie_ack", offsetof(struct rig_packets, cookie_ack), offsetof(struct rig_packets, cookie_ack),
     FL_COUNTER_DELIVER_COOKIE_ACK},
    {"local_socket", offsetof(struct rig_packets, established), offsetof(struct rig_packets, half_open),
     FL_COUNTER_DELIVER_LOCAL_SOCKET},
    {"unknown", offsetof(struct rig_packets, unknown), offsetof(struct rig_packets, bad_cookie),
     FL_COUNTER_DELIVER_UNKNOWN},
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
};

static json_t *steer_vectors;
static fl_u16 service; /* of the current run */
static struct config current;

static struct fl_bucket_memory memory_of(const json_t *memory)
{
	struct fl_bucket_memory m = {
	    .since = (fl_u32)vectors_number(memory, "since"),
	    .generation = (fl_u32)vectors_number(memory, "generation"),
	    .previous = vectors_address(memory, "previous"),
	};

	return m;
}

static void configure(const json_t *in)
{
	struct config config = rig_config_both();
	struct fl_address self = vectors_address(in, "self");

	*(fl_address_is_ipv4(&self) ? &config.program.self : &config.program.self6) = self;
	config.program.window = (fl_u32)vectors_number(in, "window");
	config.program.chaining = vectors_bool(in, "chaining");
	if (memcmp(&config.program, &current.program, sizeof(config.program)))
		stand_set(&config);
	current = config;
}

/* GUE base and steer header of a row, or a malformed header of its kind. */
static void steer_add(struct packet *packet, const json_t *in)
{
	const json_t *row, *json = vectors_get(in, "steer");
	struct fl_steer steer = {.inner_protocol = FL_GUE_PROTO_IPV4, .service = service, .bucket = RIG_BUCKET};
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

/* The packet of a row as a mux sends it; returns where the inner packet begins. */
static size_t packet_make(struct packet *packet, const json_t *in, const struct packet_tcp *tcp)
{
	struct fl_address self = vectors_address(in, "self");
	bool is_ipv4 = fl_address_is_ipv4(&self), is_trusted = vectors_bool(in, "trusted");
	struct fl_address source = is_ipv4 ? packet_address(is_trusted ? RIG_MUX : "192.0.2.1")
					   : packet_address(is_trusted ? RIG_MUX6 : "2001:db8:77::1");
	size_t inner_at;

	packet_begin_outer(packet, &source, &self, FL_GUE_PORT);
	steer_add(packet, in);
	inner_at = packet->len;
	/* A header that is malformed by being short must stay the packet's end. */
	if (vectors_is_null(in, "malformed") || strcmp(vectors_text(in, "malformed"), "truncated"))
		packet_add_tcp(packet, tcp);
	packet_finish_outer(packet);
	return inner_at;
}

static void check_exit(const json_t *row, const struct packet *sent, size_t inner_at, enum fl_counter counter,
		       enum fl_counter delivery)
{
	const json_t *in = vectors_get(row, "in"), *out = vectors_get(row, "out");
	const char *verdict = vectors_text(out, "verdict");

	if (!strcmp(verdict, "deliver")) {
		assert_int_equal(counter, delivery);
		stand_expect_delivered(sent->data + inner_at, sent->len - inner_at);
	} else if (!strcmp(verdict, "chain")) {
		struct fl_address next = vectors_address(out, "next");
		struct packet chained;

		assert_int_equal(counter, FL_COUNTER_CHAIN);
		stand_expect_chained(&chained);
		if (fl_address_is_ipv4(&next))
			assert_memory_equal(chained.data + PACKET_OUTER_AT + 16, next.bytes + 12, 4);
		else
			assert_memory_equal(chained.data + PACKET_OUTER_AT + 24, next.bytes, 16);
		assert_int_equal(chained.len - stand_gue_at(&chained), sent->len - stand_gue_at(sent));
		inner_at += stand_gue_at(&chained) - stand_gue_at(sent);
		assert_memory_equal(chained.data + inner_at, sent->data + sent->len - (chained.len - inner_at),
				    chained.len - inner_at);
	} else if (!strcmp(verdict, "drop_stale")) {
		assert_int_equal(counter, FL_COUNTER_DROP_STALE);
	} else if (!strcmp(verdict, "drop_untrusted")) {
		assert_int_equal(counter, FL_COUNTER_DROP_UNTRUSTED_SENDER);
	} else if (!strcmp(verdict, "drop_malformed")) {
		int error = vectors_word(in, "malformed", errors, FL_STEER_ERRORS);

		assert_int_equal(counter, fl_counter_of_steer_error((enum fl_steer_error)error));
	} else {
		fail_msg("unknown verdict '%s'", verdict);
	}
}

static void check_state(const json_t *in, const json_t *out, const struct fl_memory_key *key)
{
	struct fl_bucket_memory expected = memory_of(vectors_get(out, "memory")), memory = {0};
	bool remembered = stand_memory(key, &memory);
	bool over = vectors_number(in, "now") >= (fl_u64)expected.since + vectors_number(in, "window");

	assert_int_equal(stand_generation(service), vectors_number(out, "generationSeen"));
	assert_int_equal(stand_learned(), vectors_bool(out, "learned"));
	if (remembered || stand_learned() || !over)
		assert_memory_equal(&memory, &expected, sizeof(memory));
}

static void restore(const json_t *in, const struct fl_memory_key *key)
{
	static const struct fl_bucket_memory none;
	struct fl_bucket_memory memory = memory_of(vectors_get(in, "memory"));
	fl_u32 generation = (fl_u32)vectors_number(in, "generationSeen");

	if (memcmp(&memory, &none, sizeof(none)))
		assert_int_equal(module_restore_memory(stand_client(), key, &memory), 0);
	if (generation)
		assert_int_equal(module_restore_service(stand_client(), service, generation), 0);
}

/* Runs one row with one packet; false if the clock moved on meanwhile and it must be run again. */
static bool run_once(const json_t *row, const struct packet_tcp *tcp, enum fl_counter delivery)
{
	const json_t *in = vectors_get(row, "in"), *out = vectors_get(row, "out");
	struct fl_memory_key key = {.service = ++service, .bucket = RIG_BUCKET};
	fl_u64 now = vectors_number(in, "now");
	struct packet packet;
	size_t inner_at;
	enum fl_counter counter;

	configure(in);
	inner_at = packet_make(&packet, in, tcp);
	restore(in, &key);
	stand_clock_set(now);
	counter = stand_send(&packet);
	if (stand_clock() != now)
		return false;
	check_exit(row, &packet, inner_at, counter, delivery);
	check_state(in, out, &key);
	return true;
}

static void run_with(const json_t *row, size_t at, enum fl_counter delivery)
{
	const struct packet_tcp *tcp = (const void *)((const char *)rig_packets(RIG_IPV4) + at);
	int tries;

	for (tries = 0; tries < TRIES; tries++)
		if (run_once(row, tcp, delivery))
			return;
	fail_msg("the row's second never lasted long enough");
}

static void run(void **state)
{
	const json_t *row = *state;
	const char *packet = vectors_text(vectors_get(row, "in"), "packet");
	size_t i;

	for (i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		if (strcmp(classes[i].name, packet))
			continue;
		run_with(row, classes[i].at, classes[i].delivery);
		if (classes[i].also_at != classes[i].at)
			run_with(row, classes[i].also_at, classes[i].delivery);
		return;
	}
	fail_msg("unknown packet class '%s'", packet);
}

/* A virtual machine's clock cannot stand before its own start. */
static bool is_expressible(const json_t *row)
{
	return vectors_number(vectors_get(row, "in"), "now") >= 1000;
}

int main(int argc, char **argv)
{
	const char *folder = argc > 1 ? argv[1] : ".";
	json_t *file = vectors_load(folder, "verdict.json");
	const json_t *row;
	struct vectors_tests tests = {NULL, 0};
	size_t i;

	steer_vectors = vectors_load(folder, "steer.json");
	stand_open();
	json_array_foreach(vectors_list(file, "rows"), i, row)
	{
		if (!is_expressible(row))
			printf("ok 0 - %s # SKIP the machine would have been started before 1970\n",
			       vectors_text(row, "name"));
		else
			vectors_add_plain(&tests, vectors_text(row, "name"), run, (void *)(uintptr_t)row);
	}
	fflush(stdout);
	return vectors_run("verdict by the module", &tests);
}
