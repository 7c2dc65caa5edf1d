/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vector files of protocol/vectors as cmocka tests: a row is a test, its name the row's sentence, its state the
 * row. Tests of every part use this; argv[1] is the folder of the files. Every getter ends the test (or, before the
 * tests run, the program) with the key's name if the key is missing or of another type.
 */
#ifndef FAIRLEAD_TESTS_VECTORS_H
#define FAIRLEAD_TESTS_VECTORS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>

#include <fairlead/hash.h>

struct vectors_tests {
	struct CMUnitTest *tests;
	size_t count;
};

struct vectors_bytes {
	fl_u8 *data; /* exactly len bytes on the heap, so that ASan sees a read beyond */
	size_t len;
};

/* The file's object, to be freed by json_decref(). */
json_t *vectors_load(const char *folder, const char *file);

/* Adds a test for each row of the list `key`; the rows must live until vectors_run() has returned. */
void vectors_add(struct vectors_tests *tests, const json_t *file, const char *key, CMUnitTestFunction function);

/* Adds a test that is no row. */
void vectors_add_plain(struct vectors_tests *tests, const char *name, CMUnitTestFunction function, void *state);

/* Runs and frees the tests; what main() returns. No tests at all is a failure. */
int vectors_run(const char *group, struct vectors_tests *tests);

const json_t *vectors_get(const json_t *row, const char *key);
const json_t *vectors_list(const json_t *row, const char *key);
fl_u64 vectors_number(const json_t *row, const char *key);
bool vectors_bool(const json_t *row, const char *key);
bool vectors_is_null(const json_t *row, const char *key);
const char *vectors_text(const json_t *row, const char *key);

/* Hex as bytes, to be freed by vectors_free(). */
struct vectors_bytes vectors_bytes(const json_t *row, const char *key);
void vectors_free(struct vectors_bytes *bytes);

/* 16 bytes in hex as a key. */
struct fl_siphash_key vectors_key(const json_t *row, const char *key);

/* An address in text, null is none. */
struct fl_address vectors_address(const json_t *row, const char *key);

/* The index of a word in a table of them, which may have holes. */
int vectors_word(const json_t *row, const char *key, const char *const *words, size_t count);

#endif
