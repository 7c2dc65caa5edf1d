/* SPDX-License-Identifier: Apache-2.0 */
#include "vectors.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Set while a row's test runs: getters then fail that test instead of the program. */
static bool is_running;

static void give_up(const char *what, const char *key)
{
	if (is_running)
		fail_msg("%s: %s", key, what);
	fprintf(stderr, "%s: %s\n", key, what);
	exit(1);
}

static void *allocate(void *old, size_t size)
{
	void *p = realloc(old, size ? size : 1);

	if (!p)
		give_up("out of memory", "vectors");
	return p;
}

json_t *vectors_load(const char *folder, const char *file)
{
	json_error_t error;
	char path[4096];
	json_t *json;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	json = json_load_file(path, 0, &error);
	if (!json)
		give_up(error.text, path);
	if (vectors_number(json, "format") != 1)
		give_up("format is not 1", path);
	return json;
}

void vectors_add_plain(struct vectors_tests *tests, const char *name, CMUnitTestFunction function, void *state)
{
	struct CMUnitTest test = {name, function, NULL, NULL, state};

	tests->tests = allocate(tests->tests, (tests->count + 1) * sizeof(test));
	tests->tests[tests->count++] = test;
}

void vectors_add(struct vectors_tests *tests, const json_t *file, const char *key, CMUnitTestFunction function)
{
	const json_t *rows = vectors_list(file, key), *row;
	size_t i;

	if (json_array_size(rows) == 0)
		give_up("has no rows", key);
	json_array_foreach(rows, i, row)
	    vectors_add_plain(tests, vectors_text(row, "name"), function, (void *)(uintptr_t)row);
}

int vectors_run(const char *group, struct vectors_tests *tests)
{
	int failed;

	if (!tests->count)
		give_up("no tests", group);
	is_running = true;
	failed = _cmocka_run_group_tests(group, tests->tests, tests->count, NULL, NULL);
	is_running = false;
	free(tests->tests);
	tests->tests = NULL;
	return failed;
}

const json_t *vectors_get(const json_t *row, const char *key)
{
	const json_t *value = json_object_get(row, key);

	if (!value)
		give_up("is missing", key);
	return value;
}

const json_t *vectors_list(const json_t *row, const char *key)
{
	const json_t *value = vectors_get(row, key);

	if (!json_is_array(value))
		give_up("is not a list", key);
	return value;
}

fl_u64 vectors_number(const json_t *row, const char *key)
{
	const json_t *value = vectors_get(row, key);

	if (!json_is_integer(value) || json_integer_value(value) < 0)
		give_up("is not a number of 0 or more", key);
	return (fl_u64)json_integer_value(value);
}

bool vectors_bool(const json_t *row, const char *key)
{
	const json_t *value = vectors_get(row, key);

	if (!json_is_boolean(value))
		give_up("is neither true nor false", key);
	return json_is_true(value);
}

bool vectors_is_null(const json_t *row, const char *key)
{
	return json_is_null(vectors_get(row, key));
}

const char *vectors_text(const json_t *row, const char *key)
{
	const json_t *value = vectors_get(row, key);

	if (!json_is_string(value))
		give_up("is not a text", key);
	return json_string_value(value);
}

struct vectors_bytes vectors_bytes(const json_t *row, const char *key)
{
	const char *hex = vectors_text(row, key);
	size_t len = strlen(hex), i;
	struct vectors_bytes bytes = {allocate(NULL, len / 2), len / 2};
	unsigned int byte;

	for (i = 0; i < bytes.len; i++) {
		if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
			give_up("is not hex", key);
		bytes.data[i] = (fl_u8)byte;
	}
	if (len % 2)
		give_up("is not hex of whole bytes", key);
	return bytes;
}

void vectors_free(struct vectors_bytes *bytes)
{
	free(bytes->data);
	bytes->data = NULL;
	bytes->len = 0;
}

struct fl_siphash_key vectors_key(const json_t *row, const char *key)
{
	struct vectors_bytes bytes = vectors_bytes(row, key);
	struct fl_siphash_key loaded;

	if (bytes.len != 16)
		give_up("is not 16 bytes", key);
	loaded = fl_siphash_key_load(bytes.data);
	vectors_free(&bytes);
	return loaded;
}

struct fl_address vectors_address(const json_t *row, const char *key)
{
	struct fl_address address = {{0}};
	const char *text;
	fl_u8 ipv4[4];

	if (vectors_is_null(row, key))
		return address;
	text = vectors_text(row, key);
	if (inet_pton(AF_INET, text, ipv4) == 1)
		return fl_address_from_ipv4(ipv4);
	if (inet_pton(AF_INET6, text, address.bytes) != 1)
		give_up("is not an address", key);
	return address;
}

int vectors_word(const json_t *row, const char *key, const char *const *words, size_t count)
{
	const char *word = vectors_text(row, key);
	size_t i;

	for (i = 0; i < count; i++)
		if (words[i] && !strcmp(words[i], word))
			return (int)i;
	give_up(word, key);
	return -1;
}
