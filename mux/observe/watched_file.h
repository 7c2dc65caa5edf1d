/* SPDX-License-Identifier: Apache-2.0 */
/* A file that is read again once it has changed: replaced, renamed over, or written to. */
#ifndef FAIRLEAD_MUX_WATCHED_FILE_H
#define FAIRLEAD_MUX_WATCHED_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "config/reason.h"

struct watched_file {
	const char *option; /* such as --http-key, for messages */
	const char *path;   /* the caller's */
	bool is_secret;     /* its mode must be 0640 or narrower; systemd's credentials have such a one */
	struct stat seen;   /* as it was when it was last looked at; all 0: not yet, or it was not there */
};

/* Whether it is another one than when this was last asked. A file that is gone counts as a change once. */
bool watched_file_has_changed(struct watched_file *file);

/*
 * Reads the whole file, of at most max bytes, and ends it with a zero byte. Returns the bytes, which the caller frees
 * by watched_file_free(), and their number without that zero. NULL and why on failure.
 */
char *watched_file_read(const struct watched_file *file, size_t max, size_t *len, struct reason *why);

/* Overwrites and frees what watched_file_read() returned; NULL is allowed. */
void watched_file_free(char *text, size_t len);

#endif
