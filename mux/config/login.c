/* SPDX-License-Identifier: Apache-2.0 */
#include "config/login.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

#include "config/watched_file.h"

enum { PASSWORD_MIN = 8, PASSWORD_MAX = 256, LOGIN_FILE_MAX = 16384, SHA1_LEN = 20 };

static bool is_login(const char *text)
{
	const char *colon = strchr(text, ':');
	size_t user = colon ? (size_t)(colon - text) : 0, password = colon ? strlen(colon + 1) : 0;

	if (!user || user > LOGIN_USER_MAX || password < PASSWORD_MIN || password > PASSWORD_MAX)
		return false;
	for (const char *p = text; p < colon; p++)
		if (!isalnum((unsigned char)*p) && !strchr("._-", *p))
			return false;
	for (const char *p = colon + 1; *p; p++)
		if (!isgraph((unsigned char)*p))
			return false;
	return true;
}

static bool parse(char *text, size_t len, struct login *login)
{
	char *line;

	if (strlen(text) != len) /* a zero byte would hide the rest */
		return false;
	while ((line = watched_file_line(&text))) {
		if (login->count == LOGIN_LINES_MAX || !is_login(line))
			return false;
		strcpy(login->lines[login->count++], line);
	}
	return login->count >= LOGIN_LINES_MIN;
}

static int digest(const struct watched_file *file, const char *line, char out[LOGIN_DIGEST_MAX + 1], struct reason *why)
{
	unsigned char hash[SHA1_LEN];
	const gnutls_datum_t bytes = {hash, SHA1_LEN};
	size_t user = strcspn(line, ":") + 1;
	gnutls_datum_t text;
	int error = gnutls_hash_fast(GNUTLS_DIG_SHA1, line, strlen(line), hash);

	if (!error)
		error = gnutls_base64_encode2(&bytes, &text);
	if (error)
		return reason_set(
		    why, -EINVAL,
		    "%s: '%.160s' can't be used: SHA-1, by which ZooKeeper's access lists name a login, fails: "
		    "%s; allowed: where GnuTLS has SHA-1",
		    file->option, file->path, gnutls_strerror(error));
	memcpy(out, line, user);
	snprintf(out + user, LOGIN_DIGEST_MAX + 1 - user, "%.*s", (int)text.size, text.data);
	gnutls_free(text.data);
	return 0;
}

_Static_assert(LOGIN_LINES_MIN == 2 && LOGIN_LINES_MAX == 4 && PASSWORD_MIN == 8 && PASSWORD_MAX == 256,
	       "as said below");

int login_read(const char *name, const char *path, struct login *out, struct reason *why)
{
	const struct watched_file file = {
	    .option = name,
	    .path = path,
	    .forbidden = WATCHED_FILE_OWN,
	    .allowed =
		"what fairleadctl mux add prints: at most 16 KB, 2..4 lines USER:PASSWORD, the readers' first, "
		"then its own, a user of letters, digits, '.', '_', '-', a password of 8..256 visible characters",
	};
	size_t len = 0;
	char *text = watched_file_read(&file, LOGIN_FILE_MAX, &len, why);
	int error = -EINVAL;

	memset(out, 0, sizeof(*out));
	if (text)
		error = parse(text, len, out) ? 0 : watched_file_refuse(&file, why);
	for (unsigned i = 0; !error && i < out->count; i++)
		error = digest(&file, out->lines[i], out->digests[i], why);
	if (error)
		explicit_bzero(out, sizeof(*out));
	watched_file_free(text, len);
	return error;
}
