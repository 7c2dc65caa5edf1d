/* SPDX-License-Identifier: Apache-2.0 */
/* Files of keys, tokens and logins. Some are read again once they have changed: replaced, renamed over, or written to. */
#ifndef FAIRLEAD_MUX_WATCHED_FILE_H
#define FAIRLEAD_MUX_WATCHED_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "config/reason.h"

enum watched_file_modes {
	WATCHED_FILE_OWN = 077,   /* only its owner may read it */
	WATCHED_FILE_GROUP = 037, /* its group, too, as it is of systemd's credentials */
};

struct watched_file {
	const char *option;  /* such as --http-key, for messages */
	const char *path;    /* the caller's */
	unsigned forbidden;  /* what its mode must not have, enum watched_file_modes; 0: it is no secret */
	const char *allowed; /* what its content must be, for messages; NULL: only its length is said */
	struct stat seen;    /* as it was when it was last looked at; all 0: not yet, or it was not there */
};

/* Whether it is another one than when this was last asked. A file that is gone counts as a change once. */
bool watched_file_has_changed(struct watched_file *file);

/*
 * Reads the whole file, of at most max bytes, and ends it with a zero byte. Returns the bytes, which the caller frees
 * by watched_file_free(), and their number without that zero. NULL and why on failure.
 */
char *watched_file_read(const struct watched_file *file, size_t max, size_t *len, struct reason *why);

/* Its content is refused: -EINVAL and why, which says what is allowed. */
int watched_file_refuse(const struct watched_file *file, struct reason *why);

/*
 * The next line of text that is neither empty nor a comment (#), without its CR; *text is moved behind it. NULL: none is
 * left.
 */
char *watched_file_line(char **text);

/* Overwrites and frees what watched_file_read() returned; NULL is allowed. */
void watched_file_free(char *text, size_t len);

#endif
