/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/bearer.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

static bool is_token(const char *text)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	return len >= BEARER_TOKEN_MIN && len <= BEARER_TOKEN_MAX;
}

static int refuse(const char *option, const char *path, struct reason *why)
{
	return reason_set(why, -EINVAL,
			  "%s: '%.120s' is not allowed; allowed: 1..%d lines, each a token of %d..%d visible "
			  "characters or a comment (#)",
			  option, path, BEARER_TOKENS_MAX, BEARER_TOKEN_MIN, BEARER_TOKEN_MAX);
}

int bearer_read(const struct watched_file *file, struct bearer *out, struct reason *why)
{
	size_t len = 0;
	char *text = watched_file_read(file, BEARER_FILE_MAX, &len, why), *rest = text, *token;
	struct bearer read = {0};
	int error = 0;

	if (!text)
		return -EINVAL;
	if (strlen(text) != len)
		error = -EINVAL;
	while (!error && (token = watched_file_line(&rest)))
		if (read.count == BEARER_TOKENS_MAX || !is_token(token) ||
		    gnutls_hash_fast(GNUTLS_DIG_SHA256, token, strlen(token), read.digests[read.count++]))
			error = -EINVAL;
	if (error || !read.count)
		error = refuse(file->option, file->path, why);
	else
		*out = read;
	watched_file_free(text, len);
	return error;
}

int bearer_first(const char *option, const char *path, char out[BEARER_TOKEN_MAX + 1], struct reason *why)
{
	const struct watched_file file = {.option = option, .path = path, .forbidden = WATCHED_FILE_GROUP};
	size_t len = 0;
	char *text = watched_file_read(&file, BEARER_FILE_MAX, &len, why), *rest = text, *token;
	int error = 0;

	if (!text)
		return -EINVAL;
	token = watched_file_line(&rest);
	if (token && is_token(token))
		strcpy(out, token);
	else
		error = refuse(option, path, why);
	watched_file_free(text, len);
	return error;
}

enum bearer_verdict bearer_check(const struct bearer *bearer, const char *header)
{
	static const char scheme[] = "Bearer ";
	uint8_t digest[BEARER_DIGEST];
	unsigned equal = 0;

	if (!header || strncasecmp(header, scheme, strlen(scheme)))
		return BEARER_MISSING;
	header += strlen(scheme);
	header += strspn(header, " ");
	if (gnutls_hash_fast(GNUTLS_DIG_SHA256, header, strlen(header), digest))
		return BEARER_WRONG;
	for (unsigned i = 0; i < bearer->count; i++)
		equal |= gnutls_memcmp(digest, bearer->digests[i], BEARER_DIGEST) == 0;
	return equal ? BEARER_RIGHT : BEARER_WRONG;
}
