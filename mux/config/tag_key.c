/* SPDX-License-Identifier: Apache-2.0 */
#include "config/tag_key.h"

#include <errno.h>
#include <string.h>

#include "config/hex.h"
#include "config/watched_file.h"

enum { KEY_FILE_MAX = 127 };

/* What the lines of a file say. */
struct lines {
	struct fl_siphash_key current, next;
	bool has_current, has_next;
};

static bool parse_key(const char *text, struct fl_siphash_key *out)
{
	uint8_t bytes[HEX_BYTES];
	bool is_key = hex_parse(text, strlen(text), HEX_EITHER, bytes);

	if (is_key)
		*out = fl_siphash_key_load(bytes);
	explicit_bzero(bytes, sizeof(bytes));
	return is_key;
}

static bool parse_line(const char *line, struct lines *lines)
{
	static const char current[] = "current ", next[] = "next ";

	if (!strncmp(line, next, strlen(next))) {
		if (lines->has_next)
			return false;
		return lines->has_next = parse_key(line + strlen(next), &lines->next);
	}
	if (lines->has_current)
		return false;
	if (!strncmp(line, current, strlen(current)))
		line += strlen(current);
	return lines->has_current = parse_key(line, &lines->current);
}

static bool parse(char *text, size_t len, struct tag_keys *out)
{
	struct lines lines = {0};
	char *rest = text;
	bool is_right = strlen(text) == len;

	if (len && text[len - 1] == '\n')
		text[len - 1] = 0;
	while (is_right && rest)
		is_right = parse_line(strsep(&rest, "\n"), &lines);
	is_right &= lines.has_current;
	if (lines.has_next)
		is_right &= fl_key_bit(&lines.current) != fl_key_bit(&lines.next);
	if (is_right) {
		out->current = lines.current;
		out->by_bit[fl_key_bit(&lines.current)] = lines.current;
		out->by_bit[!fl_key_bit(&lines.current)] = lines.has_next ? lines.next : lines.current;
	}
	explicit_bzero(&lines, sizeof(lines));
	return is_right;
}

int tag_key_read(const char *name, const char *path, struct tag_keys *out, struct reason *why)
{
	const struct watched_file file = {
	    .option = name,
	    .path = path,
	    .forbidden = WATCHED_FILE_OWN,
	    .allowed =
		"a file with 32 hex digits and nothing else, or with lines 'current HEX' and 'next HEX' whose first "
		"bytes differ in their last bit",
	};
	size_t len = 0;
	char *text = watched_file_read(&file, KEY_FILE_MAX, &len, why);
	int error = -EINVAL;

	if (text)
		error = parse(text, len, out) ? 0 : watched_file_refuse(&file, why);
	watched_file_free(text, len);
	return error;
}
