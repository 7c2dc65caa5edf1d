/* SPDX-License-Identifier: Apache-2.0 */
/* Heads of requests, well-formed or not, whole and byte by byte. The malformed ones of protocol/vectors run against the
 * servers (test_http_malformed.py). */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "observe/head.h"

#define LINE "GET /a HTTP/1.1\r\n"
#define HOST "Host: mux\r\n"

/* head_end() of the bytes as they come one by one, which is what it is of all at once. */
static ssize_t end_of(const char *bytes, size_t len)
{
	ssize_t end = 0;

	for (size_t n = 1; n <= len && !end; n++)
		end = head_end(bytes, n - 1, n);
	assert_int_equal(end, head_end(bytes, 0, len));
	return end;
}

static enum head_fault read_head(char *bytes, size_t len, struct head *out)
{
	ssize_t end = end_of(bytes, len);

	assert_int_not_equal(end, 0);
	return end < 0 ? (enum head_fault) - end : head_parse(bytes, (size_t)end, out);
}

/* The text, and what is wrong with it. A NUL in it is written as \1. */
static const struct row {
	const char *text;
	enum head_fault fault;
} rows[] = {
    {LINE HOST "\r\n", HEAD_OK},
    {LINE HOST "\r\nPOST /b HTTP/1.1\r\n\x02", HEAD_OK}, /* what follows is not looked at */
    {LINE "hOST:mux:1\r\n\r\n", HEAD_OK},
    {LINE "Host: \t[2001:db8::1]:9108\t \r\n\r\n", HEAD_OK},
    {LINE HOST "X-A:\r\nX-A: b\tc\xe4\r\n\r\n", HEAD_OK},
    {"QUERY /a HTTP/1.1\r\n" HOST "\r\n", HEAD_OK}, /* the listener refuses the method */
    {LINE HOST "\n", HEAD_BYTE},
    {"GET /a HTTP/1.1\n", HEAD_BYTE},
    {"\n", HEAD_BYTE},
    {LINE "Host: mux\r\r\n", HEAD_BYTE},
    {LINE "Host: mux\rX", HEAD_BYTE},
    {LINE "X-A: \1", HEAD_BYTE},
    {"GET /a\1 HTTP/1.1", HEAD_BYTE},
    {LINE "X-A: \x7f", HEAD_BYTE},
    {"\x16\x03\x01", HEAD_BYTE}, /* TLS in place of HTTP */
    {"\r\n\r\n", HEAD_LINE},
    {"\r\n" LINE HOST "\r\n", HEAD_LINE},
    {"GET\r\n" HOST "\r\n", HEAD_LINE},
    {"GET /a\r\n" HOST "\r\n", HEAD_LINE},
    {"GET /a  HTTP/1.1\r\n" HOST "\r\n", HEAD_VERSION},
    {"GET /a HTTP/1.1 \r\n" HOST "\r\n", HEAD_VERSION},
    {"GET /a HTTP/1.0\r\n" HOST "\r\n", HEAD_VERSION},
    {"GET /a HTTP/2\r\n" HOST "\r\n", HEAD_VERSION},
    {"GET /a http/1.1\r\n" HOST "\r\n", HEAD_VERSION},
    {" GET HTTP/1.1\r\n" HOST "\r\n", HEAD_METHOD},
    {"G(T /a HTTP/1.1\r\n" HOST "\r\n", HEAD_METHOD},
    {"G\xe4T /a HTTP/1.1\r\n" HOST "\r\n", HEAD_METHOD},
    {"GET  HTTP/1.1\r\n" HOST "\r\n", HEAD_TARGET},
    {"GET a HTTP/1.1\r\n" HOST "\r\n", HEAD_TARGET},
    {"GET * HTTP/1.1\r\n" HOST "\r\n", HEAD_TARGET},
    {"GET http://mux/a HTTP/1.1\r\n" HOST "\r\n", HEAD_TARGET},
    {"GET /a#b HTTP/1.1\r\n" HOST "\r\n", HEAD_TARGET},
    {"GET /a\tb HTTP/1.1\r\n" HOST "\r\n", HEAD_TARGET},
    {"GET /\xe4 HTTP/1.1\r\n" HOST "\r\n", HEAD_TARGET},
    {"GET /a?b=%00 HTTP/1.1\r\n" HOST "\r\n", HEAD_TARGET},
    {"GET /a?b=%0d%0a HTTP/1.1\r\n" HOST "\r\n", HEAD_TARGET},
    {"GET /a?b=%7F HTTP/1.1\r\n" HOST "\r\n", HEAD_TARGET},
    {"GET /a?b=% HTTP/1.1\r\n" HOST "\r\n", HEAD_TARGET},
    {"GET /a?b=%4 HTTP/1.1\r\n" HOST "\r\n", HEAD_TARGET},
    {"GET /a?b=%4g HTTP/1.1\r\n" HOST "\r\n", HEAD_TARGET},
    {"GET /a?b&b&b&b&b&b&b&b&b&b&b&b&b&b&b&b&b HTTP/1.1\r\n" HOST "\r\n", HEAD_TARGET},
    {LINE HOST " X-A: b\r\n\r\n", HEAD_NAME},
    {LINE HOST "\tb\r\n\r\n", HEAD_NAME},
    {LINE HOST " \r\n\r\n", HEAD_NAME},
    {LINE " " HOST "\r\n", HEAD_NAME},
    {LINE HOST "X-A\r\n\r\n", HEAD_NAME},
    {LINE HOST "X-A : b\r\n\r\n", HEAD_NAME},
    {LINE HOST ": b\r\n\r\n", HEAD_NAME},
    {LINE HOST "X(A: b\r\n\r\n", HEAD_NAME},
    {LINE "\r\n", HEAD_HOST},
    {LINE "Host:\r\n\r\n", HEAD_HOST},
    {LINE "Host: a b\r\n\r\n", HEAD_HOST},
    {LINE "Host: a, b\r\n\r\n", HEAD_HOST},
    {LINE HOST HOST "\r\n", HEAD_HOST},
    {LINE HOST "Authorization: a\r\nauthorization: a\r\n\r\n", HEAD_TWICE},
    {LINE HOST "Content-Type: a\r\nContent-Type: a\r\n\r\n", HEAD_TWICE},
    {LINE HOST "Content-Length: 0\r\n\r\n", HEAD_BODY},
    {LINE HOST "transfer-encoding: chunked\r\n\r\n", HEAD_BODY},
    {LINE HOST "Trailer: X-A\r\n\r\n", HEAD_BODY},
    {LINE HOST "Expect: 100-continue\r\n\r\n", HEAD_BODY},
};

static void test_each_fault_is_known(void **state)
{
	bool is_covered[HEAD_FAULTS] = {[HEAD_LENGTH] = true};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[256];
		size_t len = strlen(rows[i].text);
		enum head_fault fault;
		struct head head;

		snprintf(text, sizeof(text), "%s", rows[i].text);
		for (char *nul; (nul = memchr(text, '\1', len));)
			*nul = 0;
		fault = read_head(text, len, &head);
		if (fault != rows[i].fault)
			fail_msg("row %zu, '%s': %d instead of %d", i, rows[i].text, (int)fault, (int)rows[i].fault);
		is_covered[fault] = true;
	}
	for (int i = 0; i < HEAD_FAULTS; i++) {
		assert_true(is_covered[i]);
		assert_true(!i || (head_refusals[i].field && head_refusals[i].allowed));
	}
}

static void test_hosts_that_are_addresses(void **state)
{
	static const struct {
		const char *host;
		bool is_address;
	} hosts[] = {
	    {"localhost", true},
	    {"LocalHost:9108", true},
	    {"127.0.0.1", true},
	    {"127.0.0.1:9108", true},
	    {"[::1]", true},
	    {"[::1]:9108", true},
	    {"10.1.0.11:9108", true},
	    {"mux", false},
	    {"a.example", false},
	    {"a.example:9108", false},
	    {"localhost.a.example", false},
	    {"127.0.0.1.a.example", false},
	    {"[a.example]", false},
	    {"[", false},
	    {":9108", false},
	    {"127.1", false},
	    {"[::1].a.example", false},
	    {"[::1", false},
	    {"localhost:a.example", false},
	    {"[localhost]", false},
	    {"[127.0.0.1]", false},
	    {"127.0.0.1:", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		char text[256];
		struct head head;

		snprintf(text, sizeof(text), LINE "Host: %s\r\n\r\n", hosts[i].host);
		assert_int_equal(read_head(text, strlen(text), &head), HEAD_OK);
		assert_string_equal(head.host, hosts[i].host);
		if (head_host_is_address(&head) != hosts[i].is_address)
			fail_msg("'%s'", hosts[i].host);
	}
}

static void test_what_is_in_a_head(void **state)
{
	char text[] =
	    "GET /a%62?c=d+e%3D%25&f&=g&&c=h&%c3%a4=%2b HTTP/1.1\r\nHost: mux\r\nAuthorization: \tBearer x  \r\n"
	    "X: y\r\n\r\nrest";
	struct head head;

	(void)state;
	assert_int_equal(read_head(text, sizeof(text) - 1, &head), HEAD_OK);
	assert_string_equal(head.method, "GET");
	assert_string_equal(head.path, "/a%62");
	assert_string_equal(head.authorization, "Bearer x");
	assert_int_equal(head.count, 5);
	assert_string_equal(head_argument(&head, "c"), "d e=%");
	assert_null(head_argument(&head, "f"));
	assert_string_equal(head.arguments[1].name, "f");
	assert_string_equal(head_argument(&head, ""), "g");
	assert_string_equal(head_argument(&head, "\xc3\xa4"), "+");
	assert_null(head_argument(&head, "i"));
	assert_string_equal(text + sizeof(text) - 5, "rest");
}

/* A head of len bytes is allowed up to HEAD_MAX of them. */
static void test_the_longest(void **state)
{
	static const char before[] = LINE HOST "X: ", after[] = "\r\n\r\n";

	(void)state;
	for (size_t len = HEAD_MAX - 1; len <= HEAD_MAX + 1; len++) {
		char text[HEAD_MAX + 1];
		struct head head;

		memset(text, 'x', len);
		memcpy(text, before, strlen(before));
		memcpy(text + len - strlen(after), after, strlen(after));
		assert_int_equal(read_head(text, len, &head), len <= HEAD_MAX ? HEAD_OK : HEAD_LENGTH);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_fault_is_known),
	    cmocka_unit_test(test_hosts_that_are_addresses),
	    cmocka_unit_test(test_what_is_in_a_head),
	    cmocka_unit_test(test_the_longest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
