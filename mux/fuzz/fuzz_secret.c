/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a file with a secret: the cluster's key or ZooKeeper logins. The first byte selects which, and the
 * file's mode. An error's reason contains nothing of the file; accepted secrets equal what was written.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/login.h"
#include "config/tag_key.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LOGIN = 1, WIDE = 2 };

static void require(bool property)
{
	if (!property)
		__builtin_trap();
}

static int file = -1;

static void write_file(const void *data, size_t size)
{
	require(!ftruncate(file, 0) && pwrite(file, data, size, 0) == (ssize_t)size);
}

static int read_secret(const char *path, bool is_login, struct reason *why)
{
	static struct login login;
	struct tag_keys keys;

	return is_login ? login_read("--secret", path, &login, why) : tag_key_read("--secret", path, &keys, why);
}

/* The reason is the same for any content, so it discloses nothing of it. */
static void check_refusal(const struct reason *why, const char *path, bool is_login)
{
	struct reason other = {""};

	write_file("?", 1);
	require(read_secret(path, is_login, &other) && !strcmp(why->text, other.text));
	require(!strncmp(why->text, "--secret: ", 10));
}

/* Whether the file has this key. */
static bool has_digits(const struct fl_siphash_key *key, const char *content, size_t len)
{
	char text[33];

	for (int i = 0; i < 16; i++)
		snprintf(text + 2 * i, 3, "%02x", (unsigned)((i < 8 ? key->k0 : key->k1) >> i % 8 * 8) & 0xff);
	for (size_t at = 0; at + 32 <= len; at++)
		if (!strncasecmp(text, content + at, 32))
			return true;
	return false;
}

static void check_key(const char *path, const char *content, size_t len)
{
	struct tag_keys keys = {0};
	struct reason why = {""};

	if (tag_key_read("--secret", path, &keys, &why)) {
		check_refusal(&why, path, false);
		return;
	}
	require(!memcmp(&keys.current, tag_keys_of(&keys, fl_key_bit(&keys.current)), sizeof(keys.current)));
	for (int i = 0; i < 2; i++)
		require(has_digits(&keys.by_bit[i], content, len));
}

/* Whether the file has this line. */
static bool has_line(const char *content, size_t len, const char *line, size_t line_len)
{
	for (size_t at = 0; at + line_len <= len; at++) {
		size_t end = at + line_len;

		if ((at && content[at - 1] != '\n') || memcmp(content + at, line, line_len))
			continue;
		if (end == len || content[end] == '\n' ||
		    (content[end] == '\r' && (end + 1 == len || content[end + 1] == '\n')))
			return true;
	}
	return false;
}

/* Each login is a line of the file. */
static void check_login(const char *path, const char *content, size_t len)
{
	static struct login login;
	struct reason why = {""};

	memset(&login, 0xa5, sizeof(login));
	if (login_read("--secret", path, &login, &why)) {
		require(!login.count && !login.lines[0][0]);
		check_refusal(&why, path, true);
		return;
	}
	require(login.count >= LOGIN_LINES_MIN && login.count <= LOGIN_LINES_MAX);
	for (unsigned i = 0; i < login.count; i++) {
		size_t line = strnlen(login.lines[i], LOGIN_TEXT_MAX + 1);

		require(line <= LOGIN_TEXT_MAX && has_line(content, len, login.lines[i], line));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[32];

	if (!size)
		return 0;
	if (file < 0)
		file = memfd_create("secret", 0);
	require(file >= 0 && !fchmod(file, data[0] & WIDE ? 0640 : 0600));
	write_file(data + 1, size - 1);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	(data[0] & LOGIN ? check_login : check_key)(path, (const char *)data + 1, size - 1);
	return 0;
}
