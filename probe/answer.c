/* SPDX-License-Identifier: Apache-2.0 */
#include "answer.h"

#include <string.h>
#include <strings.h>

enum {
	STATUS_SWITCHING = 101, /* final, though nobody asked for it: other bytes follow */
	STATUS_NO_CONTENT = 204,
	STATUS_NOT_MODIFIED = 304,
	LENGTH_DIGITS = 18, /* of a length, whatever the base: they fit */
};

static void fail(struct answer *answer)
{
	answer->state = ANSWER_MALFORMED;
}

static int digit(char c, unsigned base)
{
	int value = c >= '0' && c <= '9'                     ? c - '0'
		    : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
							     : -1;

	return value < (int)base ? value : -1;
}

/* A number at the beginning of text; returns its digits, 0 if there is none or it is too long. */
static size_t number(const char *text, unsigned base, uint64_t *out)
{
	size_t digits = 0;

	*out = 0;
	for (; digit(text[digits], base) >= 0; digits++) {
		if (digits == (base == 16 ? 15 : LENGTH_DIGITS))
			return 0;
		*out = *out * base + (unsigned)digit(text[digits], base);
	}
	return digits;
}

static void take_status(struct answer *answer, const char *line)
{
	uint64_t status = 0;
	bool is_http = !strncmp(line, "HTTP/1.", 7) && digit(line[7], 10) >= 0 && line[8] == ' ' &&
		       number(line + 9, 10, &status) == 3 && (!line[12] || line[12] == ' ');

	if (!is_http || status < CHECK_STATUS_MIN) {
		fail(answer);
		return;
	}
	answer->status = (unsigned)status;
	answer->has_length = answer->is_chunked = false;
	answer->left = 0;
	answer->state = ANSWER_HEADERS;
}

/* The value of the header if it has this name; NULL if not. */
static const char *value_of(const char *line, const char *name)
{
	size_t len = strlen(name);

	if (strncasecmp(line, name, len) || line[len] != ':')
		return NULL;
	return line + len + 1 + strspn(line + len + 1, " \t");
}

/* Whether the value is this word, and nothing but spaces after it. */
static bool ends_at(const char *text)
{
	return !text[strspn(text, " \t")];
}

static void take_length(struct answer *answer, const char *value)
{
	uint64_t length;
	size_t digits = number(value, 10, &length);

	if (!digits || !ends_at(value + digits) || (answer->has_length && answer->left != length)) {
		fail(answer);
		return;
	}
	answer->has_length = true;
	answer->left = length;
}

static void take_header(struct answer *answer, const char *line)
{
	const char *length = value_of(line, "Content-Length"), *coding = value_of(line, "Transfer-Encoding");

	if (length)
		take_length(answer, length);
	if (!coding)
		return;
	if (strncasecmp(coding, "chunked", 7) || !ends_at(coding + 7)) /* nobody asked for another one */
		fail(answer);
	else
		answer->is_chunked = true;
}

static void end_headers(struct answer *answer)
{
	unsigned status = answer->status;

	if (status < 200 && status != STATUS_SWITCHING)
		answer->state = ANSWER_STATUS;
	else if (status < 200 || status == STATUS_NO_CONTENT || status == STATUS_NOT_MODIFIED)
		answer->state = ANSWER_DONE;
	else if (answer->is_chunked)
		answer->state = ANSWER_CHUNK_SIZE;
	else if (!answer->has_length)
		answer->state = ANSWER_UNTIL_END;
	else
		answer->state = answer->left ? ANSWER_LENGTH : ANSWER_DONE;
}

static void take_chunk_size(struct answer *answer, const char *line)
{
	size_t digits = number(line, 16, &answer->left);

	if (!digits || (line[digits] != ';' && !ends_at(line + digits)))
		fail(answer);
	else
		answer->state = answer->left ? ANSWER_CHUNK : ANSWER_TRAILER;
}

/* A whole line, without its end; a long one is cut. */
static void take_line(struct answer *answer, const char *line)
{
	switch (answer->state) {
	case ANSWER_STATUS:
		take_status(answer, line);
		break;
	case ANSWER_HEADERS:
		if (line[0])
			take_header(answer, line);
		else
			end_headers(answer);
		break;
	case ANSWER_CHUNK_SIZE:
		take_chunk_size(answer, line);
		break;
	case ANSWER_CHUNK_END:
		answer->state = line[0] ? ANSWER_MALFORMED : ANSWER_CHUNK_SIZE;
		break;
	case ANSWER_TRAILER:
		if (!line[0])
			answer->state = ANSWER_DONE;
		break;
	default:
		fail(answer);
	}
}

/* Takes what is there of a line; returns how many bytes. */
static size_t take_of_line(struct answer *answer, const char *data, size_t len)
{
	const char *end = memchr(data, '\n', len);
	size_t part = end ? (size_t)(end - data) : len, taken = end ? part + 1 : len;
	size_t room = ANSWER_LINE_MAX - 1 - answer->line_len, kept = part < room ? part : room;

	if (taken > ANSWER_HEAD_MAX - answer->head_len || memchr(data, '\0', part)) {
		fail(answer);
		return taken;
	}
	answer->head_len += (uint32_t)taken;
	memcpy(answer->line + answer->line_len, data, kept);
	answer->line_len += (uint32_t)kept;
	if (!end)
		return taken;
	if (answer->line_len && answer->line[answer->line_len - 1] == '\r')
		answer->line_len--;
	answer->line[answer->line_len] = '\0';
	answer->line_len = 0;
	take_line(answer, answer->line);
	return taken;
}

/* Takes what is there of the body; returns how many bytes. */
static size_t take_of_body(struct answer *answer, const char *data, size_t len)
{
	if (answer->state != ANSWER_UNTIL_END && len > answer->left)
		len = (size_t)answer->left;
	answer->left -= answer->state == ANSWER_UNTIL_END ? 0 : len;
	if (!body_take(&answer->body, data, len))
		answer->state = ANSWER_DONE;
	else if (answer->state != ANSWER_UNTIL_END && !answer->left)
		answer->state = answer->state == ANSWER_CHUNK ? ANSWER_CHUNK_END : ANSWER_DONE;
	return len;
}

static bool is_over(const struct answer *answer)
{
	return answer->state == ANSWER_DONE || answer->state == ANSWER_MALFORMED;
}

void answer_take(struct answer *answer, const char *data, size_t len)
{
	while (len && !is_over(answer)) {
		bool is_body = answer->state == ANSWER_LENGTH || answer->state == ANSWER_UNTIL_END ||
			       answer->state == ANSWER_CHUNK;
		size_t taken = is_body ? take_of_body(answer, data, len) : take_of_line(answer, data, len);

		data += taken;
		len -= taken;
	}
}

void answer_end(struct answer *answer)
{
	if (answer->state == ANSWER_UNTIL_END)
		answer->state = ANSWER_DONE;
}
