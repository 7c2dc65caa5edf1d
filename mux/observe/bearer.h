/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bearer tokens (RFC 6750) that a program accepts: a file with one a line, read again when it changes. So a token is
 * replaced by adding the new one, giving it to the clients, and then taking the old one out.
 *
 * Kept and compared are SHA-256 digests, all of them each time, in constant time: how long it takes says nothing of how
 * much of a token is right, nor which one it is.
 */
#ifndef FAIRLEAD_MUX_BEARER_H
#define FAIRLEAD_MUX_BEARER_H

#include <stdint.h>

#include "config/watched_file.h"

enum bearer_limits {
	BEARER_TOKENS_MAX = 16,
	BEARER_TOKEN_MIN = 16,
	BEARER_TOKEN_MAX = 256,
	BEARER_FILE_MAX = 8192,
	BEARER_DIGEST = 32,
};

enum bearer_verdict {
	BEARER_RIGHT,
	BEARER_MISSING, /* no header Authorization, or of another kind */
	BEARER_WRONG,
};

struct bearer {
	unsigned count;
	uint8_t digests[BEARER_TOKENS_MAX][BEARER_DIGEST];
};

/*
 * Reads lines of BEARER_TOKEN_MIN to BEARER_TOKEN_MAX visible characters; empty ones and those that begin with '#' are
 * passed over. -EINVAL and why on failure, which leaves out as it is; why contains nothing of the file.
 */
int bearer_read(const struct watched_file *file, struct bearer *out, struct reason *why);

/* The file's first token, for a client of it. */
int bearer_first(const char *option, const char *path, char out[BEARER_TOKEN_MAX + 1], struct reason *why);

/* header: the request's Authorization, NULL if it has none. */
enum bearer_verdict bearer_check(const struct bearer *bearer, const char *header);

#endif
