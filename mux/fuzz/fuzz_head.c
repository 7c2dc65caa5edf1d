/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heads of requests. Input: where the bytes are split, 2 bytes; the bytes. What is accepted has the one form that all
 * read alike, as a second look at its lines says; the end is found where the bytes have it, however they came; and
 * nothing behind it is touched.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "observe/head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool property)
{
	if (!property)
		__builtin_trap();
}

static bool begins(const char *line, const char *name)
{
	return !strncasecmp(line, name, strlen(name));
}

static bool is_within(const char *part, const char *text, size_t len)
{
	return part >= text && part < text + len && memchr(part, 0, (size_t)(text + len - part));
}

/* The bytes of a head that was accepted, before it was changed; they end with a NUL in place of the empty line. */
static void check_lines(const char *text, const struct head *head)
{
	const char *path = text + strlen(head->method) + 1, *version = strchr(path, ' ');
	unsigned hosts = 0, authorizations = 0;

	require(begins(text, head->method) && path[-1] == ' ' && path[0] == '/');
	require(!strncmp(path, head->path, strlen(head->path)) && strchr("? ", path[strlen(head->path)]));
	require(version && !strncmp(version, " HTTP/1.1\r\n", 11));
	for (const char *line = version + 11; *line; line = strchr(line, '\n') + 1) {
		size_t name = strcspn(line, ": \t\r\n");

		require(name && line[name] == ':');
		hosts += begins(line, "host:");
		authorizations += begins(line, "authorization:");
		require(!begins(line, "content-length:") && !begins(line, "transfer-encoding:"));
		require(!begins(line, "trailer:") && !begins(line, "expect:"));
	}
	require(hosts == 1 && authorizations == !!head->authorization);
}

static void check_parts(const struct head *head, const char *text, size_t len)
{
	require(is_within(head->method, text, len) && is_within(head->path, text, len));
	require(!head->authorization || is_within(head->authorization, text, len));
	require(head->count <= HEAD_ARGUMENTS_MAX);
	for (unsigned i = 0; i < head->count; i++) {
		require(is_within(head->arguments[i].name, text, len));
		require(!head->arguments[i].value || is_within(head->arguments[i].value, text, len));
		require(head_argument(head, head->arguments[i].name) || i || !head->arguments[i].value);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char bytes[HEAD_MAX], before[HEAD_MAX + 1];
	size_t len = size < 2 ? 0 : size - 2, split;
	enum head_fault fault;
	struct head head;
	ssize_t end, first;

	if (!len || len > HEAD_MAX)
		return 0;
	memcpy(bytes, data + 2, len);
	memcpy(before, bytes, len);
	split = (data[0] << 8 | data[1]) % len;
	end = head_end(bytes, 0, len);
	first = head_end(bytes, 0, split);
	require(end == (first ? first : head_end(bytes, split, len)));
	if (end <= 0)
		return 0;
	require(memmem(bytes, len, "\r\n\r\n", 4) == bytes + end - 4);
	for (ssize_t i = 0; i < end; i++)
		require(bytes[i] && (bytes[i] == '\n') == (i && bytes[i - 1] == '\r'));
	fault = head_parse(bytes, (size_t)end, &head);
	require(!memcmp(bytes + end, before + end, len - (size_t)end));
	if (fault) {
		require(fault < HEAD_FAULTS && head_refusals[fault].field && head_refusals[fault].allowed);
		return 0;
	}
	before[end - 2] = 0;
	check_lines(before, &head);
	check_parts(&head, bytes, (size_t)end);
	return 0;
}
