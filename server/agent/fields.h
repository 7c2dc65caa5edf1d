/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members of JSON objects, read strictly. Each function returns false after printing a refusal that names the member
 * and `where`, its place in the document. Keys that the reader does not know are ignored: controllers may be newer.
 */
#ifndef FAIRLEAD_AGENT_FIELDS_H
#define FAIRLEAD_AGENT_FIELDS_H

#include <jansson.h>
#include <stdbool.h>

/* Parses a whole document, an object; NULL if it is none. */
json_t *fields_parse(const char *where, const char *text, size_t len);

bool fields_number(const char *where, const json_t *object, const char *key, json_int_t min, json_int_t max,
		   json_int_t *out);

/* A string of 1 to max bytes; out is the object's. */
bool fields_text(const char *where, const json_t *object, const char *key, size_t max, const char **out);

/* A string that is one of the words; *out is its place in the list, which ends with NULL. */
bool fields_word(const char *where, const json_t *object, const char *key, const char *const *words, unsigned *out);

/* A list of at most max objects or strings (`type`). */
bool fields_list(const char *where, const json_t *object, const char *key, json_type type, size_t max,
		 const json_t **out);

/* Prints that the member is not allowed; returns false. */
bool fields_refuse(const char *where, const char *key, const char *value, const char *allowed);

#endif
