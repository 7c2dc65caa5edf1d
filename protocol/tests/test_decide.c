/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict of version 2 (protocol/include/fairlead/decide.h), by rows: what a packet is and names, what the server has seen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <fairlead/decide.h>

enum { A = 1, B, C, SELF = 9, SELF6 = 10 };

struct row {
	const char *name;
	enum fl_packet_class packet;
	uint32_t generation, seen;
	uint8_t list[FL_LIST_MAX], left;
	bool late, quiet;
	enum fl_verdict verdict;
	uint8_t next, left_then, late_then, seen_then;
	uint8_t skipped; /* candidate after the one that cannot be reached; 0: verdict `end` */
	enum fl_verdict end;
};

#define U     FL_PACKET_UNKNOWN
#define ON    FL_VERDICT_CHAIN
#define OK    FL_VERDICT_DELIVER
#define STALE FL_VERDICT_DROP_STALE

static const struct row rows[] = {
    {"no list", U, 5, 5, {0}, 0, 0, 0, OK, 0, 0, 0, 5, 0, OK},
    {"no list, late mux", U, 4, 5, {0}, 0, 0, 0, STALE, 0, 0, 1, 5, 0, STALE},
    {"no list, marked late", U, 5, 5, {0}, 0, 1, 0, STALE, 0, 0, 1, 5, 0, STALE},
    {"no list, quiet server", U, 5, 0, {0}, 0, 0, 1, STALE, 0, 0, 1, 5, 0, STALE},
    {"a higher generation is learned", U, 6, 5, {0}, 0, 0, 0, OK, 0, 0, 0, 6, 0, OK},
    {"first of two", U, 5, 5, {A, B}, 2, 0, 0, ON, A, 1, 0, 5, B, ON},
    {"second of two", U, 5, 5, {A, B}, 1, 0, 0, ON, B, 0, 0, 5, 0, STALE},
    {"end of two", U, 5, 5, {A, B}, 0, 0, 0, OK, 0, 0, 0, 5, 0, OK},
    {"end of two, late", U, 5, 5, {A, B}, 0, 1, 0, STALE, 0, 0, 1, 5, 0, STALE},
    {"a late mux is marked", U, 4, 5, {A, B}, 2, 0, 0, ON, A, 1, 1, 5, B, ON},
    {"a mark stays", U, 6, 5, {A, B}, 2, 1, 0, ON, A, 1, 1, 6, B, ON},
    {"a quiet server marks", U, 6, 0, {A, B}, 2, 0, 1, ON, A, 1, 1, 6, B, ON},
    {"oneself is skipped", U, 5, 5, {SELF, B}, 2, 0, 0, ON, B, 0, 0, 5, 0, STALE},
    {"oneself by the other address, at the end", U, 5, 5, {A, SELF6}, 1, 0, 0, OK, 0, 0, 0, 5, 0, OK},
    {"six", U, 5, 5, {A, B, C, A, B, C}, 6, 0, 0, ON, A, 5, 0, 5, B, ON},
    {"last of six", U, 5, 5, {A, B, C, A, B, C}, 1, 0, 0, ON, C, 0, 0, 5, 0, STALE},
    {"SYN", FL_PACKET_SYN, 5, 5, {A}, 1, 0, 0, OK, 0, 1, 0, 5, 0, OK},
    {"local socket of a late mux", FL_PACKET_LOCAL_SOCKET, 4, 5, {A}, 1, 0, 0, OK, 0, 1, 1, 5, 0, OK},
    {"SYN cookie", FL_PACKET_COOKIE_ACK, 5, 5, {A}, 1, 0, 1, OK, 0, 1, 1, 5, 0, OK},
    {"refused SYN", FL_PACKET_REFUSED, 5, 5, {A}, 1, 0, 0, ON, A, 0, 0, 5, 0, OK},
    {"refused SYN at the end", FL_PACKET_REFUSED, 4, 5, {A}, 0, 0, 0, OK, 0, 0, 1, 5, 0, OK},
    {"datagram", FL_PACKET_NO_RESET, 5, 5, {A}, 1, 0, 0, ON, A, 0, 0, 5, 0, OK},
    {"datagram of a late mux at the end", FL_PACKET_NO_RESET, 4, 5, {0}, 0, 1, 1, OK, 0, 0, 1, 5, 0, OK},
};

static struct fl_address address(uint8_t server)
{
	return (struct fl_address){{0xfd, [15] = server}};
}

static struct fl_decide_in input(const struct row *row)
{
	struct fl_decide_in in = {
	    .packet = row->packet,
	    .trusted = true,
	    .quiet = row->quiet,
	    .list = {.generation = row->generation, .left = row->left, .flags = row->late ? FL_LIST_LATE : 0},
	    .generation_seen = row->seen,
	    .self = {address(SELF), address(SELF6)}};

	for (; in.list.count < FL_LIST_MAX && row->list[in.list.count]; in.list.count++)
		in.list.candidate[in.list.count] = address(row->list[in.list.count]);
	return in;
}

static void each_row(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		struct fl_decide_in in = input(row);
		struct fl_decide_out out;

		print_message("# %s\n", row->name);
		fl_decide(&in, &out);
		assert_int_equal(out.verdict, row->verdict);
		assert_int_equal(out.next.bytes[15], row->next);
		assert_int_equal(out.left, row->left_then);
		assert_int_equal(out.late, row->late_then);
		assert_int_equal(out.generation_seen, row->seen_then);
		if (out.verdict != FL_VERDICT_CHAIN)
			continue;
		fl_decide_skip(&in, &out);
		assert_int_equal(out.verdict, row->end);
		assert_int_equal(out.next.bytes[15], row->skipped);
		assert_true(out.late);
	}
}

static void untrusted_and_malformed_teach_nothing(void **state)
{
	struct fl_decide_in in = input(&rows[4]);
	struct fl_decide_out out;

	(void)state;
	in.malformed = FL_LIST_LENGTH;
	fl_decide(&in, &out);
	assert_int_equal(out.verdict, FL_VERDICT_DROP_MALFORMED);
	assert_int_equal(out.generation_seen, in.generation_seen);
	in.trusted = false;
	fl_decide(&in, &out);
	assert_int_equal(out.verdict, FL_VERDICT_DROP_UNTRUSTED);
	assert_int_equal(out.generation_seen, in.generation_seen);
}

/* A server of one family has no address of the other: `::` in a list is not that one's, it cannot be sent to. */
static void no_address_is_not_oneself(void **state)
{
	(void)state;
	for (int family = 0; family < 2; family++) {
		struct fl_decide_in in = {
		    .packet = U, .trusted = true, .list = {.generation = 5, .count = 1, .left = 1}};
		struct fl_decide_out out;

		in.self[family] = address(SELF);
		fl_decide(&in, &out);
		assert_int_equal(out.verdict, FL_VERDICT_CHAIN);
		assert_true(fl_address_is_none(&out.next));
		fl_decide_skip(&in, &out);
		assert_int_equal(out.verdict, FL_VERDICT_DROP_STALE);
	}
}

/* Whatever a header says, a packet takes at most FL_LIST_MAX hops. */
static void left_only_falls(void **state)
{
	(void)state;
	for (uint8_t count = 0; count <= FL_LIST_MAX; count++)
		for (uint8_t left = 0; left <= count; left++) {
			struct fl_decide_in in = {
			    .packet = U, .trusted = true, .list = {.generation = 1, .count = count, .left = left}};
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
			struct fl_decide_in in = {.packet = U, .trusted = true, .self = {address(hop)}};

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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_row), cmocka_unit_test(untrusted_and_malformed_teach_nothing),
	    cmocka_unit_test(no_address_is_not_oneself), cmocka_unit_test(left_only_falls),
	    cmocka_unit_test(the_header_leads_along_the_list)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
