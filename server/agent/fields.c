// SPDX-License-Identifier: Apache-2.0
#include "fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "refusal.h"

enum {
	SHOWN_MAX = 100, /* bytes of a value in a message */
};

bool fields_refuse(const char *where, const char *key, const char *value, const char *allowed)
{
	char field[256], shown[SHOWN_MAX + 4];

	snprintf(field, sizeof(field), "%s in %s", key, where);
	snprintf(shown, sizeof(shown), "%.*s%s", SHOWN_MAX, value, strlen(value) > SHOWN_MAX ? "..." : "");
	refusal_print(field, shown, allowed);
	return false;
}

static bool refuse(const char *where, const char *key, const json_t *value, const char *allowed)
{
	char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;

	fields_refuse(where, key, text ? text : "", allowed);
	free(text);
	return false;
}

json_t *fields_parse(const char *where, const char *text, size_t len)
{
	json_error_t error;
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);

	if (!root) {
		fields_refuse(where, "JSON", error.text, "a JSON object without duplicate keys");
		return NULL;
	}
	if (!json_is_object(root)) {
		refuse(where, "JSON", root, "an object");
		json_decref(root);
		return NULL;
	}
	return root;
}

bool fields_number(const char *where, const json_t *object, const char *key, json_int_t min, json_int_t max,
		   json_int_t *out)
{
	const json_t *value = json_object_get(object, key);
	char allowed[80];

	*out = json_integer_value(value);
	if (json_is_integer(value) && *out >= min && *out <= max)
		return true;
	snprintf(allowed, sizeof(allowed), "a whole number from %" JSON_INTEGER_FORMAT " to %" JSON_INTEGER_FORMAT, min,
		 max);
	return refuse(where, key, value, allowed);
}

bool fields_text(const char *where, const json_t *object, const char *key, size_t max, const char **out)
{
	const json_t *value = json_object_get(object, key);
	char allowed[64];

	*out = json_string_value(value);
	if (*out && **out && json_string_length(value) <= max)
		return true;
	snprintf(allowed, sizeof(allowed), "a string of 1 to %zu characters", max);
	return refuse(where, key, value, allowed);
}

bool fields_word(const char *where, const json_t *object, const char *key, const char *const *words, unsigned *out)
{
	const json_t *value = json_object_get(object, key);
	const char *text = json_string_value(value);
	char allowed[128] = "";

	for (*out = 0; words[*out]; ++*out) {
		if (text && !strcmp(text, words[*out]))
			return true;
		snprintf(allowed + strlen(allowed), sizeof(allowed) - strlen(allowed), "%s%s", *out ? ", " : "",
			 words[*out]);
	}
	return refuse(where, key, value, allowed);
}

bool fields_list(const char *where, const json_t *object, const char *key, json_type type, size_t max,
		 const json_t **out)
{
	const json_t *list = json_object_get(object, key), *one;
	char allowed[80];
	size_t i;
	bool is_right = json_is_array(list) && json_array_size(list) <= max;

	json_array_foreach(list, i, one) is_right = is_right && json_typeof(one) == type;
	*out = list;
	if (is_right)
		return true;
	snprintf(allowed, sizeof(allowed), "a list of at most %zu %s", max,
		 type == JSON_STRING ? "strings" : "objects");
	return refuse(where, key, list, allowed);
}
