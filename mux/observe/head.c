/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/head.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "config/address.h"
#include "config/hex.h"

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
static const char in_token[] = "!#$%&'*+-.^_`|~"; /* besides letters and digits (RFC 9110, 5.6.2) */
static const char in_host[] = ".-_:[]%";

const struct head_refusal head_refusals[HEAD_FAULTS] = {
    [HEAD_LENGTH] = {"head", "at most 8192 bytes"},
    [HEAD_BYTE] = {"byte of the head", "no control characters, and lines that end in CR LF"},
    [HEAD_LINE] = {"request line", "METHOD TARGET HTTP/1.1, with single spaces"},
    [HEAD_VERSION] = {"version", "HTTP/1.1"},
    [HEAD_METHOD] = {"method", "GET"},
    [HEAD_TARGET] = {"target", "a path of visible ASCII, where %XX is no control character; up to 16 arguments"},
    [HEAD_NAME] = {"header", "NAME: VALUE on one line, NAME of letters, digits and !#$%&'*+-.^_`|~"},
    [HEAD_HOST] = {"Host", "one, with a name or an address, and a port"},
    [HEAD_TWICE] = {"Authorization or Content-Type", "at most one of each"},
    [HEAD_BODY] = {"body", "no Content-Length, Transfer-Encoding, Trailer or Expect"},
};

static bool is_control(unsigned char c)
{
	return c < ' ' || c == 0x7f;
}

ssize_t head_end(const char *bytes, size_t from, size_t len)
{
	for (size_t i = from; i < len; i++) {
		bool is_after_cr = i && bytes[i - 1] == '\r';

		if (i == HEAD_MAX)
			return -HEAD_LENGTH;
		if (is_after_cr != (bytes[i] == '\n'))
			return -HEAD_BYTE;
		if (is_control((unsigned char)bytes[i]) && bytes[i] != '\t' && bytes[i] != '\r' && bytes[i] != '\n')
			return -HEAD_BYTE;
		if (i >= 3 && bytes[i] == '\n' && bytes[i - 2] == '\n')
			return (ssize_t)i + 1;
	}
	return len < HEAD_MAX ? 0 : -HEAD_LENGTH;
}

static bool consists_of(const char *text, const char *more)
{
	for (const char *at = text; *at; at++)
		if (!strchr(letters, *at) && !strchr(more, *at))
			return false;
	return *text;
}

/* The byte that an escape stands for; -1: it is none. */
static int escaped(const char *at)
{
	int high = at[0] == '%' ? hex_digit(at[1], HEX_EITHER) : -1,
	    low = high >= 0 ? hex_digit(at[2], HEX_EITHER) : -1;

	return low >= 0 ? high << 4 | low : -1;
}

static bool is_target(const char *target)
{
	for (const char *at = target; *at; at++) {
		unsigned char c = (unsigned char)*at;

		if (c <= ' ' || c >= 0x7f || c == '#')
			return false;
		if (c == '%' && (escaped(at) < 0 || is_control((unsigned char)escaped(at))))
			return false;
	}
	return target[0] == '/';
}

static void unescape(char *text)
{
	char *out = text;

	for (const char *at = text; *at; at++) {
		int byte = escaped(at);

		*out++ = byte >= 0 ? (char)byte : *at == '+' ? ' ' : *at;
		at += byte >= 0 ? 2 : 0;
	}
	*out = 0;
}

static enum head_fault take_target(char *target, struct head *out)
{
	char *query = target, *argument;

	if (!is_target(target))
		return HEAD_TARGET;
	out->path = strsep(&query, "?");
	while ((argument = strsep(&query, "&"))) {
		char *value = argument, *name;

		if (!*argument)
			continue;
		name = strsep(&value, "=");
		if (out->count == HEAD_ARGUMENTS_MAX)
			return HEAD_TARGET;
		unescape(name);
		if (value)
			unescape(value);
		out->arguments[out->count++] = (struct head_argument){name, value};
	}
	return HEAD_OK;
}

static enum head_fault take_line(char *version, struct head *out)
{
	char *method = strsep(&version, " "), *target = strsep(&version, " ");

	if (!version)
		return HEAD_LINE;
	if (strcmp(version, "HTTP/1.1"))
		return HEAD_VERSION;
	if (!consists_of(method, in_token))
		return HEAD_METHOD;
	out->method = method;
	return take_target(target, out);
}

const char *head_argument(const struct head *head, const char *name)
{
	for (unsigned i = 0; i < head->count; i++)
		if (!strcmp(head->arguments[i].name, name))
			return head->arguments[i].value;
	return NULL;
}

struct seen {
	bool type, body;
};

static char *trim(char *value)
{
	char *end = value + strlen(value);

	while (end > value && strchr(" \t", end[-1]))
		*--end = 0;
	return value + strspn(value, " \t");
}

static enum head_fault take_header(char *value, struct seen *seen, struct head *out)
{
	static const char *const framing[] = {"Content-Length", "Transfer-Encoding", "Trailer", "Expect"};
	const char *name = strsep(&value, ":");

	if (!value || !consists_of(name, in_token))
		return HEAD_NAME;
	value = trim(value);
	for (size_t i = 0; i < sizeof(framing) / sizeof(framing[0]); i++)
		seen->body |= !strcasecmp(name, framing[i]);
	if (!strcasecmp(name, "Host")) {
		if (out->host || !consists_of(value, in_host))
			return HEAD_HOST;
		out->host = value;
	} else if (!strcasecmp(name, "Authorization")) {
		if (out->authorization)
			return HEAD_TWICE;
		out->authorization = value;
	} else if (!strcasecmp(name, "Content-Type")) {
		if (seen->type)
			return HEAD_TWICE;
		seen->type = true;
	}
	return HEAD_OK;
}

/* *rest is moved behind it. NULL: there is none. */
static char *next_line(char **rest)
{
	char *line = *rest, *end = strstr(line, "\r\n");

	if (!end)
		return NULL;
	*end = 0;
	*rest = end + 2;
	return line;
}

enum head_fault head_parse(char *bytes, size_t len, struct head *out)
{
	struct seen seen = {0};
	char *rest = bytes, *line;
	enum head_fault fault;

	*out = (struct head){0};
	bytes[len - 2] = 0; /* the empty line; other NULs there are not */
	line = next_line(&rest);
	fault = line ? take_line(line, out) : HEAD_LINE;
	while (!fault && (line = next_line(&rest)))
		fault = take_header(line, &seen, out);
	if (fault)
		return fault;
	if (!out->host)
		return HEAD_HOST;
	return seen.body ? HEAD_BODY : HEAD_OK;
}

/* Whether a port or nothing follows. */
static bool ends_with_port(const char *text)
{
	return !*text || (*text == ':' && text[1 + strspn(text + 1, "0123456789")] == 0);
}

bool head_host_is_address(const struct head *head)
{
	bool is_bracketed = *head->host == '[';
	const char *start = head->host + is_bracketed;
	size_t len = strcspn(start, is_bracketed ? "]" : ":");
	struct fl_address address;
	char name[ADDRESS_TEXT_MAX];

	if (len >= sizeof(name) || (is_bracketed && !start[len]) || !ends_with_port(start + len + is_bracketed))
		return false;
	memcpy(name, start, len);
	name[len] = 0;
	if (!address_parse(name, &address))
		return !is_bracketed && !strcasecmp(name, "localhost");
	return is_bracketed == !fl_address_is_ipv4(&address);
}
