/* SPDX-License-Identifier: Apache-2.0 */
/* Answers by HTTP, each whole, byte by byte, and in two pieces cut at every place: what the probe makes of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "answer.h"

enum { STILL = -1 }; /* not whole: the connection may not end here */

#define OK_HEAD "HTTP/1.1 200 OK\r\n"

static const struct {
	const char *text;
	int state; /* when the connection has ended */
	unsigned status;
	size_t len; /* of the body */
	const char *wanted;
	bool is_right;
} rows[] = {
    {OK_HEAD "Content-Length: 5\r\n\r\nhello", ANSWER_DONE, 200, 5, "ell", true},
    {OK_HEAD "Content-Length: 5\r\n\r\nhello more", ANSWER_DONE, 200, 5, "more", false},
    {OK_HEAD "content-LENGTH:\t5 \r\n\r\nhello", ANSWER_DONE, 200, 5, "", true},
    {OK_HEAD "Content-Length: 0\r\n\r\n", ANSWER_DONE, 200, 0, "x", false},
    {OK_HEAD "Content-Length: 5\r\n\r\nhell", STILL, 200, 4, "hell", true},
    {OK_HEAD "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", ANSWER_DONE, 200, 5, "", true},
    {OK_HEAD "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", ANSWER_MALFORMED, 200, 0, "", true},
    {OK_HEAD "Content-Length: -5\r\n\r\nhello", ANSWER_MALFORMED, 200, 0, "", true},
    {OK_HEAD "Content-Length: 5x\r\n\r\nhello", ANSWER_MALFORMED, 200, 0, "", true},
    {OK_HEAD "Content-Length: 1111111111111111111\r\n\r\nhello", ANSWER_MALFORMED, 200, 0, "", true},
    {OK_HEAD "\r\nuntil the end", ANSWER_DONE, 200, 13, "the end", true},
    {"HTTP/1.0 503 Service Unavailable\n\nbare line feeds", ANSWER_DONE, 503, 15, "feeds", true},
    {"HTTP/1.1 404\r\nContent-Length: 1\r\n\r\n-", ANSWER_DONE, 404, 1, "", true},
    {"HTTP/1.1 204 No Content\r\n\r\nthe next", ANSWER_DONE, 204, 0, "", true},
    {"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", ANSWER_DONE, 304, 0, "", true},
    {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" OK_HEAD "Content-Length: 1\r\n\r\n1",
     ANSWER_DONE, 200, 1, "1", true},
    {"HTTP/1.1 103 Early Hints\r\nContent-Length: 7\r\n\r\n" OK_HEAD "\r\n1", ANSWER_DONE, 200, 1, "1", true},
    {"HTTP/1.1 101 Switching Protocols\r\n\r\n\x01\x02", ANSWER_DONE, 101, 0, "", true},
    {"HTTP/1.1 100 Continue\r\n\r\n", STILL, 100, 0, "", true},
    {OK_HEAD "Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n", ANSWER_DONE, 200, 5, "hello",
     true},
    {OK_HEAD "Transfer-Encoding: Chunked \r\nContent-Length: 1\r\n\r\n00A \r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n",
     ANSWER_DONE, 200, 10, "789", true},
    {OK_HEAD "Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n0\r\n", STILL, 200, 3, "", true},
    {OK_HEAD "Transfer-Encoding: chunked\r\n\r\n3\r\nhello\r\n0\r\n\r\n", ANSWER_MALFORMED, 200, 3, "", true},
    {OK_HEAD "Transfer-Encoding: chunked\r\n\r\n\r\n", ANSWER_MALFORMED, 200, 0, "", true},
    {OK_HEAD "Transfer-Encoding: chunked\r\n\r\n-1\r\n", ANSWER_MALFORMED, 200, 0, "", true},
    {OK_HEAD "Transfer-Encoding: chunked\r\n\r\n1000000000000000\r\n", ANSWER_MALFORMED, 200, 0, "", true},
    {OK_HEAD "Transfer-Encoding: gzip, chunked\r\n\r\n", ANSWER_MALFORMED, 200, 0, "", true},
    {OK_HEAD "no colon\r\n folded: 1\r\nContent-Lengthy: 9\r\n\r\n1", ANSWER_DONE, 200, 1, "", true},
    {"", STILL, 0, 0, "", true},
    {"HTTP/1.1 200 OK", STILL, 0, 0, "", true},
    {OK_HEAD "Content-Length: 5\r\n", STILL, 200, 0, "", true},
    {"<html>\r\n", ANSWER_MALFORMED, 0, 0, "", true},
    {"\r\n" OK_HEAD "\r\n", ANSWER_MALFORMED, 0, 0, "", true},
    {"SSH-2.0-OpenSSH_9.2\r\n", ANSWER_MALFORMED, 0, 0, "", true},
    {"HTTP/2 200\r\n\r\n", ANSWER_MALFORMED, 0, 0, "", true},
    {"HTTP/1.1 2000 OK\r\n\r\n", ANSWER_MALFORMED, 0, 0, "", true},
    {"HTTP/1.1 20 OK\r\n\r\n", ANSWER_MALFORMED, 0, 0, "", true},
    {"HTTP/1.1 099 OK\r\n\r\n", ANSWER_MALFORMED, 0, 0, "", true},
    {"HTTP/1.1 200OK\r\n\r\n", ANSWER_MALFORMED, 0, 0, "", true},
    {"HTTP/1.1  200 OK\r\n\r\n", ANSWER_MALFORMED, 0, 0, "", true},
};

static void expect_row(size_t row, const struct answer *answer, size_t cut)
{
	bool is_over = answer->state == ANSWER_DONE || answer->state == ANSWER_MALFORMED;

	if ((is_over ? (int)answer->state : STILL) != rows[row].state || answer->status != rows[row].status ||
	    answer->body.len != rows[row].len || body_is_right(&answer->body) != rows[row].is_right)
		fail_msg("row %zu, cut at %zu: state %d, status %u, %zu bytes, %s: %s", row, cut, answer->state,
			 answer->status, answer->body.len, body_is_right(&answer->body) ? "right" : "not right",
			 rows[row].text);
}

static void answers_in_any_pieces(void **state)
{
	(void)state;
	for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		size_t len = strlen(rows[row].text);
		struct answer bytes = {.body.wanted = rows[row].wanted};

		for (size_t i = 0; i < len; i++)
			answer_take(&bytes, rows[row].text + i, 1);
		answer_end(&bytes);
		expect_row(row, &bytes, SIZE_MAX);
		for (size_t cut = 0; cut <= len; cut++) {
			struct answer answer = {.body.wanted = rows[row].wanted};

			answer_take(&answer, rows[row].text, cut);
			answer_take(&answer, rows[row].text + cut, len - cut);
			answer_end(&answer);
			expect_row(row, &answer, cut);
		}
	}
}

/* Bytes of `piece` until the answer is over, at most `most`. */
static size_t flood(struct answer *answer, const char *piece, size_t most)
{
	size_t sent = 0;

	while (sent < most && answer->state != ANSWER_DONE && answer->state != ANSWER_MALFORMED) {
		answer_take(answer, piece, strlen(piece));
		sent += strlen(piece);
	}
	return sent;
}

static void endless_answers_have_limits(void **state)
{
	static const struct {
		const char *head, *piece;
		enum answer_state state;
		size_t least, most;
	} floods[] = {
	    {OK_HEAD "\r\n", "0123456789abcdef", ANSWER_DONE, BODY_MAX, BODY_MAX},
	    {OK_HEAD "Content-Length: 999999999\r\n\r\n", "0123456789abcdef", ANSWER_DONE, BODY_MAX, BODY_MAX},
	    {OK_HEAD, "X: 1\r\n", ANSWER_MALFORMED, ANSWER_HEAD_MAX - 32, ANSWER_HEAD_MAX},
	    {OK_HEAD "X: ", "0123456789abcdef", ANSWER_MALFORMED, ANSWER_HEAD_MAX - 64, ANSWER_HEAD_MAX},
	    {"", "HTTP/1.1 100 Continue\r\n\r\n", ANSWER_MALFORMED, ANSWER_HEAD_MAX - 32, ANSWER_HEAD_MAX + 32},
	    {OK_HEAD "Transfer-Encoding: chunked\r\n\r\n", "1\r\n1\r\n", ANSWER_MALFORMED, ANSWER_HEAD_MAX,
	     2 * ANSWER_HEAD_MAX},
	    {OK_HEAD "Transfer-Encoding: chunked\r\n\r\n0\r\n", "X: 1\r\n", ANSWER_MALFORMED, ANSWER_HEAD_MAX - 64,
	     ANSWER_HEAD_MAX},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(floods) / sizeof(floods[0]); i++) {
		struct answer answer = {.body.wanted = "never"};
		size_t sent;

		answer_take(&answer, floods[i].head, strlen(floods[i].head));
		sent = flood(&answer, floods[i].piece, 4 * BODY_MAX);
		if (answer.state != floods[i].state || sent < floods[i].least || sent > floods[i].most)
			fail_msg("flood %zu: state %d after %zu bytes", i, answer.state, sent);
		assert_false(body_is_right(&answer.body));
	}
}

static void a_nul_in_a_line_is_malformed(void **state)
{
	struct answer answer = {.body.wanted = ""};

	(void)state;
	answer_take(&answer, "HTTP/1.1 200\0 OK\r\n", 18);
	assert_int_equal(answer.state, ANSWER_MALFORMED);
}

/* A text of which most is in one piece, and the rest in another; and one behind what is looked at. */
static void the_body_is_searched_across_pieces(void **state)
{
	static char filler[BODY_MAX];
	char wanted[CHECK_TEXT_MAX + 1] = "";

	(void)state;
	memset(filler, 'a', sizeof(filler));
	memset(wanted, 'a', CHECK_TEXT_MAX - 1);
	wanted[CHECK_TEXT_MAX - 1] = 'b';
	for (size_t cut = 0; cut <= CHECK_TEXT_MAX; cut++) {
		struct body body = {.wanted = wanted};

		assert_true(body_take(&body, filler, 300));
		assert_true(body_take(&body, wanted, cut));
		assert_true(body_take(&body, wanted + cut, CHECK_TEXT_MAX - cut));
		assert_true(body_is_right(&body));
	}
	for (int over = 0; over < 2; over++) {
		struct body body = {.wanted = "aab"};

		assert_true(body_take(&body, filler, BODY_MAX - 3 + (size_t)over));
		assert_false(body_take(&body, "aab", 3));
		assert_int_equal(body_is_right(&body), !over);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(answers_in_any_pieces),
	    cmocka_unit_test(endless_answers_have_limits),
	    cmocka_unit_test(a_nul_in_a_line_is_malformed),
	    cmocka_unit_test(the_body_is_searched_across_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
