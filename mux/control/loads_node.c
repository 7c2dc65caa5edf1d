/* SPDX-License-Identifier: Apache-2.0 */
#include "control/loads_node.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

enum { FORMAT = 1 };

static const double LOAD_MAX = 1e12; /* of which floats still have sums */

/* 0: not the id of a backend. */
static uint16_t id_of(const char *text)
{
	size_t len = strlen(text);
	unsigned long id = len <= 5 && strspn(text, "0123456789") == len ? strtoul(text, NULL, 10) : 0;

	return id <= FL_BACKEND_MAX && *text != '0' ? (uint16_t)id : 0;
}

static int refuse_load(uint16_t id, const json_t *value, struct reason *why)
{
	if (!json_is_number(value))
		return reason_set(why, -EINVAL, "loads.%u is not a number; allowed: a number 0..1e12", id);
	return reason_set(why, -EINVAL, "loads.%u is %g; allowed: a number 0..1e12", id, json_number_value(value));
}

static int read_loads(const json_t *loads, float out[MAAT_IDS], struct reason *why)
{
	const char *name;
	json_t *value;

	if (!json_is_object(loads))
		return reason_set(why, -EINVAL, "loads is %s; allowed: an object", loads ? "not an object" : "missing");
	for (uint32_t id = 0; id < MAAT_IDS; id++)
		out[id] = -1;
	json_object_foreach((json_t *)(uintptr_t)loads, name, value)
	{
		double load = json_number_value(value);
		uint16_t id = id_of(name);

		if (!id)
			return reason_set(why, -EINVAL, "loads names backend '%.20s'; allowed: 1..%d", name,
					  FL_BACKEND_MAX);
		if (!json_is_number(value) || !(load >= 0 && load <= LOAD_MAX))
			return refuse_load(id, value, why);
		out[id] = (float)load;
	}
	return 0;
}

int loads_node_parse(const char *json, size_t len, float out[MAAT_IDS], struct reason *why)
{
	json_error_t at;
	json_t *root = json_loadb(json, len, JSON_REJECT_DUPLICATES, &at);
	const json_t *format = json_object_get(root, "format");
	int error;

	if (!root)
		return reason_set(why, -EINVAL, "loads is not JSON: line %d: %.160s", at.line, at.text);
	if (!json_is_integer(format))
		error =
		    reason_set(why, -EINVAL, "format is %s; allowed: %d", format ? "no integer" : "missing", FORMAT);
	else if (json_integer_value(format) != FORMAT)
		error = reason_set(why, -EINVAL, "format is %lld; allowed: %d", (long long)json_integer_value(format),
				   FORMAT);
	else
		error = read_loads(json_object_get(root, "loads"), out, why);
	json_decref(root);
	return error;
}
