/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/head.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* What else a name and a method may have (RFC 9110, 5.6.2). */
static const char token[] = "!#$%&'*+-.^_`|~";
static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

static const struct {
	const char *field, *allowed;
} faults[] = {
    [HEAD_VERSION] = {"version", "HTTP/1.1"},
    [HEAD_METHOD] = {"method", "GET"},
    [HEAD_TARGET] = {"target", "a path of visible ASCII, where %XX is no control character"},
    [HEAD_NAME] = {"name of a header", "letters, digits and !#$%&'*+-.^_`|~"},
    [HEAD_VALUE] = {"value of a header", "no control characters"},
    [HEAD_HOST] = {"Host", "one, with a name or an address, and a port"},
    [HEAD_TWICE] = {"Authorization or Content-Type", "at most one of each"},
    [HEAD_BODY] = {"body", "no Content-Length, Transfer-Encoding, Trailer or Expect"},
};

const char *head_fault_field(enum head_fault fault)
{
	return faults[fault].field;
}

const char *head_fault_allowed(enum head_fault fault)
{
	return faults[fault].allowed;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10 : -1;
}

static bool is_control(unsigned char c)
{
	return c < ' ' || c == 0x7f;
}

enum head_fault head_check_target(const char *target)
{
	if (target[0] != '/')
		return HEAD_TARGET;
	for (const char *at = target; *at; at++) {
		unsigned char c = (unsigned char)*at;

		if (c <= ' ' || c >= 0x7f || c == '#')
			return HEAD_TARGET;
		if (c == '%' && (digit(at[1]) < 0 || digit(at[2]) < 0 ||
				 is_control((unsigned char)(digit(at[1]) << 4 | digit(at[2])))))
			return HEAD_TARGET;
	}
	return HEAD_OK;
}

static bool consists_of(const char *text, size_t len, const char *more)
{
	for (size_t i = 0; i < len; i++)
		if (!text[i] || (!strchr(letters, text[i]) && !strchr(more, text[i])))
			return false;
	return len;
}

struct review {
	enum head_fault fault;
	unsigned hosts, authorizations, types;
	bool has_body;
};

static enum MHD_Result look_at(void *context, enum MHD_ValueKind kind, const char *name, size_t name_len,
			       const char *value, size_t value_len)
{
	static const char *const framing[] = {"Content-Length", "Transfer-Encoding", "Trailer", "Expect"};
	struct review *review = context;

	(void)kind;
	for (size_t i = 0; i < value_len; i++)
		if (is_control((unsigned char)value[i]) && value[i] != '\t')
			review->fault = HEAD_VALUE;
	if (!consists_of(name, name_len, token))
		review->fault = HEAD_NAME;
	else if (!strcasecmp(name, "Host") && (review->hosts++ || !consists_of(value, value_len, ".-_:[]%")))
		review->fault = HEAD_HOST;
	else if ((!strcasecmp(name, "Authorization") && review->authorizations++) ||
		 (!strcasecmp(name, "Content-Type") && review->types++))
		review->fault = HEAD_TWICE;
	for (size_t i = 0; i < sizeof(framing) / sizeof(framing[0]); i++)
		review->has_body |= !strcasecmp(name, framing[i]);
	return review->fault ? MHD_NO : MHD_YES;
}

enum head_fault head_check(struct MHD_Connection *connection, const char *method, const char *version)
{
	struct review review = {0};

	if (strcmp(version, MHD_HTTP_VERSION_1_1))
		return HEAD_VERSION;
	if (!consists_of(method, strlen(method), token))
		return HEAD_METHOD;
	MHD_get_connection_values_n(connection, MHD_HEADER_KIND, look_at, &review);
	if (review.fault)
		return review.fault;
	if (!review.hosts)
		return HEAD_HOST;
	return review.has_body ? HEAD_BODY : HEAD_OK;
}
