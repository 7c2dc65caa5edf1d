/* SPDX-License-Identifier: Apache-2.0 */
/* decide.h against decide.json, and along a whole list. */
#include <string.h>

#include <fairlead/decide.h>

#include "vectors.h"

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
    [FL_VERDICT_DROP_FLOOD] = "drop_flood",
};

/* The text at this place of a list of addresses, as a row's key would have it. */
static struct fl_address address_at(const json_t *list, size_t i)
{
	json_t *one = json_pack("{sO}", "address", json_array_get(list, i));
	struct fl_address address = vectors_address(one, "address");

	json_decref(one);
	return address;
}

static struct fl_decide_in input(const json_t *row)
{
	const json_t *candidates = vectors_list(row, "candidates"), *self = vectors_list(row, "self");
	struct fl_decide_in in = {
	    .packet = (enum fl_packet_class)vectors_word(row, "packet", packets, sizeof(packets) / sizeof(*packets)),
	    .trusted = vectors_bool(row, "trusted"),
	    .quiet = vectors_bool(row, "quiet"),
	    .malformed = vectors_is_null(row, "malformed") ? FL_LIST_OK : FL_LIST_LENGTH,
	    .list = {.generation = (fl_u32)vectors_number(row, "generation"),
		     .flags = vectors_bool(row, "late") ? FL_LIST_LATE : 0,
		     .left = (fl_u8)vectors_number(row, "left"),
		     .count = (fl_u8)json_array_size(candidates)},
	    .generation_seen = (fl_u32)vectors_number(row, "seen"),
	    .self = {address_at(self, 0), address_at(self, 1)},
	};

	for (fl_u8 i = 0; i < in.list.count; i++)
		in.list.candidate[i] = address_at(candidates, i);
	return in;
}

static void check(const struct fl_decide_out *out, const json_t *expected)
{
	struct fl_address next = vectors_address(expected, "next");

	assert_int_equal(out->verdict, vectors_word(expected, "verdict", verdicts, FL_VERDICTS));
	assert_memory_equal(&out->next, &next, sizeof(next));
	if (out->verdict != FL_VERDICT_CHAIN)
		return;
	assert_int_equal(out->left, vectors_number(expected, "left"));
	assert_int_equal(out->late, vectors_bool(expected, "late"));
}

static void decided(void **state)
{
	const json_t *row = *state, *given = vectors_get(row, "in"), *expected = vectors_get(row, "out");
	struct fl_decide_in in = input(given), without_quiet = in;
	struct fl_decide_out out, other;

	fl_decide(&in, &out);
	check(&out, expected);
	assert_int_equal(out.generation_seen, vectors_number(expected, "seen"));
	if (!fl_decide_asks_quiet(in.packet)) {
		without_quiet.quiet = !in.quiet;
		fl_decide(&without_quiet, &other);
		assert_int_equal(other.verdict, out.verdict);
	}
	if (out.verdict != FL_VERDICT_CHAIN)
		return;
	fl_decide_skip(&in, &out);
	check(&out, vectors_get(row, "skipped"));
}

static struct fl_address address(uint8_t server)
{
	return (struct fl_address){{0xfd, [15] = server}};
}

/* Whatever a header says, a packet takes at most FL_LIST_MAX hops. */
static void left_only_falls(void **state)
{
	(void)state;
	for (uint8_t count = 0; count <= FL_LIST_MAX; count++)
		for (uint8_t left = 0; left <= count; left++) {
			struct fl_decide_in in = {.packet = FL_PACKET_UNKNOWN,
						  .trusted = true,
						  .list = {.generation = 1, .count = count, .left = left}};
			struct fl_decide_out out;
			unsigned hops = 0;

			for (uint8_t i = 0; i < count; i++)
				in.list.candidate[i] = address((uint8_t)(i + 1));
			for (fl_decide(&in, &out); out.verdict == FL_VERDICT_CHAIN; fl_decide(&in, &out), hops++)
				in.list.left = out.left;
			assert_int_equal(hops, left);
		}
}

/* The same with the header itself: each hop writes it, and the next reads the order that the mux wrote. */
static void the_header_leads_along_the_list(void **state)
{
	(void)state;
	for (uint8_t count = 0; count <= FL_LIST_MAX; count++) {
		struct fl_list list = {.inner_protocol = FL_LIST_GUE_IPV6,
				       .flags = FL_LIST_IPV6,
				       .count = count,
				       .left = count,
				       .generation = 1};
		fl_u8 header[FL_LIST_MAX_LEN];
		struct fl_decide_out out;
		fl_u32 len;

		for (uint8_t i = 0; i < count; i++)
			list.candidate[i] = address((uint8_t)(i + 1));
		len = fl_list_write(&list, header);
		for (uint8_t hop = 0;; hop++) {
			struct fl_decide_in in = {.packet = FL_PACKET_UNKNOWN, .trusted = true, .self = {address(hop)}};

			in.malformed = fl_list_parse(header, header + len, len, false, true, &in.list);
			assert_int_equal(in.malformed, FL_LIST_OK);
			fl_decide(&in, &out);
			if (out.verdict != FL_VERDICT_CHAIN)
				break;
			assert_int_equal(out.next.bytes[15], hop + 1);
			assert_true(fl_list_forward(header, header + len, &in.list, &in.self[0], out.left, out.late));
		}
		assert_int_equal(out.verdict, FL_VERDICT_DELIVER);
		for (uint8_t i = 0; i < count; i++)
			assert_int_equal(header[FL_LIST_AT_CANDIDATES + i * 16 + 15], i);
	}
}

/* A flooded server drops what it would send on, and nothing else. */
static void flooded(void **state)
{
	(void)state;
	for (int packet = FL_PACKET_SYN; packet <= FL_PACKET_REFUSED; packet++)
		for (uint8_t left = 0; left < 3; left++) {
			struct fl_decide_in in = {.packet = (enum fl_packet_class)packet,
						  .trusted = true,
						  .list = {.count = 3, .left = left, .generation = 1},
						  .self = {address(9)}};
			struct fl_decide_out out, of_flood;

			for (uint8_t i = 0; i < 3; i++)
				in.list.candidate[i] = address((uint8_t)(i + 1));
			fl_decide(&in, &out);
			assert_int_equal(fl_decide_asks_flooded(&in), packet == FL_PACKET_UNKNOWN);
			in.flooded = true;
			fl_decide(&in, &of_flood);
			assert_int_equal(of_flood.verdict,
					 out.verdict == FL_VERDICT_CHAIN ? FL_VERDICT_DROP_FLOOD : out.verdict);
			assert_int_equal(of_flood.generation_seen, 1);
		}
}

/* A server that has seen a generation above all (a service's that had the id before) drops what it would reset. */
static void high_generation(void **state)
{
	(void)state;
	for (int packet = FL_PACKET_SYN; packet <= FL_PACKET_REFUSED; packet++)
		for (uint8_t row = 0; row < 12; row++) {
			struct fl_decide_in in = {.packet = (enum fl_packet_class)packet,
						  .trusted = true,
						  .generation_seen = 5,
						  .list = {.count = 1,
							   .left = row & 1,
							   .flags = row & 2 ? FL_LIST_LATE : 0,
							   .generation = 4 + row / 4U},
						  .self = {address(9)}};
			struct fl_decide_out out, high;
			bool is_drop;

			in.list.candidate[0] = address(1);
			fl_decide(&in, &out);
			in.generation_seen = 1000;
			fl_decide(&in, &high);
			is_drop = packet == FL_PACKET_UNKNOWN && out.verdict == FL_VERDICT_DELIVER;
			assert_int_equal(high.verdict, is_drop ? FL_VERDICT_DROP_STALE : out.verdict);
			assert_true(high.late);
			assert_int_equal(high.generation_seen, 1000);
		}
}

int main(int argc, char **argv)
{
	json_t *file = vectors_load(argc > 1 ? argv[1] : ".", "decide.json");
	struct vectors_tests tests = {NULL, 0};
	int failed;

	vectors_add(&tests, file, "rows", decided);
	vectors_add_plain(&tests, "left only falls", left_only_falls, NULL);
	vectors_add_plain(&tests, "a flooded server", flooded, NULL);
	vectors_add_plain(&tests, "a generation above all", high_generation, NULL);
	vectors_add_plain(&tests, "the header leads along the list", the_header_leads_along_the_list, NULL);
	failed = vectors_run("decide", &tests);
	json_decref(file);
	return failed;
}
