/* SPDX-License-Identifier: Apache-2.0 */
#include "config/tag_key.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DIGITS = 32 };

static bool parse(const char *text, struct fl_siphash_key *out)
{
	uint8_t bytes[DIGITS / 2];

	if (strspn(text, "0123456789abcdefABCDEF") != DIGITS || (text[DIGITS] && strcmp(text + DIGITS, "\n")))
		return false;
	for (size_t i = 0; i < sizeof(bytes); i++) {
		char digits[3] = {text[2 * i], text[2 * i + 1], 0};

		bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	*out = fl_siphash_key_load(bytes);
	explicit_bzero(bytes, sizeof(bytes));
	return true;
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
