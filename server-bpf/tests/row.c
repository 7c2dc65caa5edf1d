// SPDX-License-Identifier: Apache-2.0
#include "row.h"

#include <stdlib.h>
#include <string.h>

enum {
	TRIES = 20,
	DATAGRAM_LEN = 32,
};

static json_t *steer_vectors; /* for its malformed headers */
static bool (*runner)(const json_t *row, const struct row_inner *inner);

struct config row_config(const json_t *row)
{
	const json_t *in = vectors_get(row, "in");
	struct config config = rig_config_both();
	struct fl_address self = vectors_address(in, "self");

	*(fl_address_is_ipv4(&self) ? &config.program.self : &config.program.self6) = self;
	config.program.window = (fl_u32)vectors_number(in, "window");
	config.program.chaining = vectors_bool(in, "chaining");
	return config;
}

/* A header that is malformed as the row says. */
static void malformed_add(struct packet *packet, const json_t *in)
{
	const json_t *row;
	size_t i;

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

static void inner_add(struct packet *packet, const struct row_inner *inner)
{
	fl_u8 *ip = packet->data + packet->len;

	if (inner->tcp) {
		packet_add_tcp(packet, inner->tcp);
		return;
	}
	packet_add_udp(packet, inner->udp, DATAGRAM_LEN);
	if (!inner->is_later_fragment)
		return;
	fl_store_be16(ip + 6, 5); /* in units of 8 bytes */
	fl_store_be16(ip + 10, 0);
	fl_store_be16(ip + 10, packet_checksum(ip, 20, 0));
}

size_t row_packet(struct packet *packet, const json_t *row, fl_u16 service, const struct row_inner *inner)
{
	const json_t *in = vectors_get(row, "in");
	struct fl_address self = vectors_address(in, "self");
	bool is_ipv4 = fl_address_is_ipv4(&self), is_trusted = vectors_bool(in, "trusted");
	bool is_malformed = !vectors_is_null(in, "malformed");
	struct fl_address source = is_ipv4 ? packet_address(is_trusted ? RIG_MUX : "192.0.2.1")
					   : packet_address(is_trusted ? RIG_MUX6 : "2001:db8:77::1");
	fl_u8 gue[FL_GUE_BASE_LEN + FL_STEER_MAX_LEN];
	size_t inner_at;

	packet_begin_outer(packet, &source, &self, FL_GUE_PORT);
	if (is_malformed) {
		malformed_add(packet, in);
	} else {
		struct fl_steer steer = verdict_row_steer(in, service, RIG_BUCKET);

		packet_add_bytes(packet, gue, fl_steer_write(&steer, gue));
	}
	inner_at = packet->len;
	/* A header that is malformed by being short must stay the packet's end. */
	if (!is_malformed || verdict_row_error(in, "malformed") != FL_STEER_TRUNCATED)
		inner_add(packet, inner);
	packet_finish_outer(packet);
	return inner_at;
}

const json_t *row_last(const json_t *row)
{
	const json_t *again = json_object_get(row, "again");
	struct fl_address next = vectors_address(vectors_get(row, "out"), "next");
	struct fl_address self = vectors_address(vectors_get(row, "in"), "self");

	return again && fl_address_equal(&next, &self) ? again : row;
}

bool row_is_promoted(const json_t *row)
{
	return row_last(row) != row;
}

fl_u32 row_second_bucket(const json_t *row)
{
	return (fl_u32)vectors_number(vectors_get(vectors_get(vectors_get(row, "in"), "steer"), "second"), "bucket");
}

enum fl_counter row_counter(const json_t *row)
{
	static const enum fl_counter deliveries[] = {
	    [FL_PACKET_SYN] = FL_COUNTER_DELIVER_SYN,
	    [FL_PACKET_COOKIE_ACK] = FL_COUNTER_DELIVER_COOKIE_ACK,
	    [FL_PACKET_LOCAL_SOCKET] = FL_COUNTER_DELIVER_LOCAL_SOCKET,
	    [FL_PACKET_UNKNOWN] = FL_COUNTER_DELIVER_UNKNOWN,
	    [FL_PACKET_NO_RESET] = FL_COUNTER_DELIVER_NO_RESET,
	    [FL_PACKET_REFUSED] = FL_COUNTER_DELIVER_SYN,
	};
	const json_t *last = row_last(row), *in = vectors_get(last, "in");

	switch (verdict_row_verdict(vectors_get(last, "out"))) {
	case FL_VERDICT_DELIVER:
		return deliveries[verdict_row_class(in)];
	case FL_VERDICT_CHAIN:
		return FL_COUNTER_CHAIN;
	case FL_VERDICT_PASS:
		return FL_COUNTER_PASS_ON;
	case FL_VERDICT_DROP_STALE:
		return FL_COUNTER_DROP_STALE;
	case FL_VERDICT_DROP_UNTRUSTED:
		return FL_COUNTER_DROP_UNTRUSTED_SENDER;
	case FL_VERDICT_DROP_MALFORMED:
		return fl_counter_of_steer_error(verdict_row_error(in, "malformed"));
	default:
		return FL_COUNTERS;
	}
}

/* Rewrites the header, which begins at gue, as a decision says. */
static void rewrite(fl_u8 *gue, const fl_u8 *end, const json_t *out)
{
	if (verdict_row_verdict(out) == FL_VERDICT_PASS)
		assert_true(fl_steer_promote(gue, end));
	else
		assert_true(fl_steer_chain(gue, end));
	if (vectors_bool(out, "late"))
		assert_true(fl_steer_mark_late(gue, end));
}

static void check_header(const json_t *row, const struct packet *sent, size_t inner_at, const fl_u8 *chained)
{
	size_t gue_at = fl_load_be16(sent->data + 12) == 0x0800 ? PACKET_GUE_AT : PACKET_GUE_AT + PACKET_IPV6_MORE;
	struct packet copy = *sent;

	rewrite(copy.data + gue_at, copy.data + copy.len, vectors_get(row, "out"));
	if (row_is_promoted(row))
		rewrite(copy.data + gue_at, copy.data + copy.len, vectors_get(row_last(row), "out"));
	assert_memory_equal(chained, copy.data + gue_at, inner_at - gue_at);
}

void row_check_chained(const json_t *row, const struct packet *sent, size_t inner_at, const struct packet *chained)
{
	struct fl_address next = vectors_address(vectors_get(row_last(row), "out"), "next");
	bool was_ipv4 = fl_load_be16(sent->data + 12) == 0x0800, is_ipv4 = fl_address_is_ipv4(&next);
	int longer = (was_ipv4 - is_ipv4) * PACKET_IPV6_MORE;

	assert_int_equal(fl_load_be16(chained->data + 12), is_ipv4 ? 0x0800 : 0x86dd);
	assert_int_equal(chained->len, (int)sent->len + longer);
	if (is_ipv4)
		assert_memory_equal(chained->data + PACKET_OUTER_AT + 16, next.bytes + 12, 4);
	else
		assert_memory_equal(chained->data + PACKET_OUTER_AT + 24, next.bytes, 16);
	check_header(row, sent, inner_at, chained->data + (is_ipv4 ? PACKET_GUE_AT : PACKET_GUE_AT + PACKET_IPV6_MORE));
	assert_memory_equal(chained->data + (int)inner_at + longer, sent->data + inner_at, sent->len - inner_at);
}

static void check_memory(const json_t *out, const struct fl_bucket_memory *memory)
{
	static const struct fl_bucket_memory nothing;
	struct fl_bucket_memory expected = vectors_bool(out, "forgotten") ? nothing : verdict_row_memory(out);

	assert_memory_equal(memory ? memory : &nothing, &expected, sizeof(expected));
}

void row_check_state(const json_t *row, fl_u32 generation, fl_u64 learned, const struct fl_bucket_memory *memory)
{
	const json_t *out = vectors_get(row, "out"), *last = vectors_get(row_last(row), "out");
	fl_u64 lessons = vectors_bool(out, "learned");

	if (row_is_promoted(row))
		lessons += vectors_bool(last, "learned");
	assert_int_equal(generation, vectors_number(last, "generationSeen"));
	assert_int_equal(learned, lessons);
	check_memory(out, memory);
}

void row_check_second(const json_t *row, const struct fl_bucket_memory *memory)
{
	check_memory(vectors_get(row_last(row), "out"), memory);
}

/* The inner packets that are of the row's class; returns how many. */
static size_t inner_packets(const json_t *row, struct row_inner found[3])
{
	const struct rig_packets *packets = rig_packets(RIG_IPV4);

	switch (verdict_row_class(vectors_get(row, "in"))) {
	case FL_PACKET_SYN:
	case FL_PACKET_REFUSED:
		found[0].tcp = &packets->syn;
		return 1;
	case FL_PACKET_COOKIE_ACK:
		found[0].tcp = &packets->cookie_ack;
		return 1;
	case FL_PACKET_LOCAL_SOCKET:
		found[0].tcp = &packets->established;
		found[1].tcp = &packets->half_open;
		return 2;
	case FL_PACKET_UNKNOWN:
		found[0].tcp = &packets->unknown;
		found[1].tcp = &packets->bad_cookie;
		found[2].tcp = &packets->half_open_elsewhere;
		return 3;
	case FL_PACKET_NO_RESET:
		found[0].udp = &packets->udp_unconnected;
		found[1].udp = &packets->udp_connected;
		found[1].is_later_fragment = true;
		return 2;
	}
	return 0;
}

static void run(void **state)
{
	const json_t *row = *state;
	struct row_inner inner[3] = {0};
	size_t count = inner_packets(row, inner), i;
	int tries;

	for (i = 0; i < count; i++) {
		for (tries = 0; tries < TRIES && !runner(row, &inner[i]); tries++)
			;
		if (tries == TRIES)
			fail_msg("the row's second never lasted long enough");
	}
}

/* By configuration, then by time. */
static int compare(const void *a, const void *b)
{
	const json_t *left = *(json_t *const *)a, *right = *(json_t *const *)b;
	struct config l = row_config(left), r = row_config(right);
	fl_u64 l_now = vectors_number(vectors_get(left, "in"), "now");
	fl_u64 r_now = vectors_number(vectors_get(right, "in"), "now");
	int order = memcmp(&l.program, &r.program, sizeof(l.program));

	return order ? order : (l_now > r_now) - (l_now < r_now);
}

static void rows_shift(const json_t *row, fl_u64 earliest)
{
	const json_t *again = json_object_get(row, "again");

	if (vectors_number(vectors_get(row, "in"), "now") >= earliest)
		return;
	verdict_row_shift(row, earliest);
	if (again)
		verdict_row_shift(again, earliest);
}

/* Sorts the rows of both lists. Free with free(). */
static const json_t **rows_sorted(const json_t *file, fl_u64 earliest, size_t *count)
{
	const json_t *lists[] = {vectors_list(file, "rows"), vectors_list(file, "passed")}, *row;
	const json_t **sorted = calloc(json_array_size(lists[0]) + json_array_size(lists[1]), sizeof(*sorted));
	size_t list, i;

	*count = 0;
	for (list = 0; list < 2; list++) {
		json_array_foreach(lists[list], i, row)
		{
			rows_shift(row, earliest);
			sorted[(*count)++] = row;
		}
	}
	qsort(sorted, *count, sizeof(*sorted), compare);
	return sorted;
}

int rows_run(const char *group, const char *folder, fl_u64 earliest,
	     bool (*run_once)(const json_t *row, const struct row_inner *inner))
{
	json_t *file = vectors_load(folder, "verdict.json");
	struct vectors_tests tests = {NULL, 0};
	const json_t **sorted;
	size_t count, i;
	int failed;

	steer_vectors = vectors_load(folder, "steer.json");
	runner = run_once;
	sorted = rows_sorted(file, earliest, &count);
	for (i = 0; i < count; i++)
		vectors_add_plain(&tests, vectors_text(sorted[i], "name"), run, (void *)(uintptr_t)sorted[i]);
	failed = vectors_run(group, &tests);
	free(sorted);
	json_decref(steer_vectors);
	json_decref(file);
	return failed;
}
