/* SPDX-License-Identifier: Apache-2.0 */
#include "config/tag_key.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "config/hex.h"

static bool parse(const char *text, struct fl_siphash_key *out)
{
	size_t len = strlen(text);
	uint8_t bytes[HEX_BYTES];
	bool is_key = hex_parse(text, len && text[len - 1] == '\n' ? len - 1 : len, HEX_EITHER, bytes);

	if (is_key)
		*out = fl_siphash_key_load(bytes);
	explicit_bzero(bytes, sizeof(bytes));
	return is_key;
}

/* Checks the mode of the open file, not of its name, which may refer to another file by then. */
int tag_key_read(const char *name, const char *path, struct fl_siphash_key *out, struct reason *why)
{
	char text[64] = "";
	FILE *file = fopen(path, "re");
	struct stat stat;
	int error = 0;

	if (!file || fstat(fileno(file), &stat) || !S_ISREG(stat.st_mode))
		error =
		    reason_set(why, -EINVAL, "%s: '%s' is not allowed; allowed: a file that can be read", name, path);
	else if (stat.st_mode & 077)
		error = reason_set(why, -EINVAL, "%s: '%s' has mode %04o; allowed: 0600 or narrower", name, path,
				   (unsigned)stat.st_mode & 07777);
	else if (!fread(text, 1, sizeof(text) - 1, file) || !parse(text, out))
		error = reason_set(why, -EINVAL,
				   "%s: '%s' is not allowed; allowed: a file with 32 hex digits and nothing else", name,
				   path);
	explicit_bzero(text, sizeof(text));
	if (file)
		fclose(file);
	return error;
}
