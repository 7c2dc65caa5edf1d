/* SPDX-License-Identifier: Apache-2.0 */
#include "control/service/arrays_list.h"

#include <errno.h>
#include <string.h>

#include <jansson.h>

enum { FORMAT = 1 };

static int refuse(struct reason *why, const char *key, const char *allowed)
{
	return reason_set(why, -EINVAL, "latest_arrays: %s is wrong or missing; allowed: %s", key, allowed);
}

/* An integer lowest .. 2^32 - 1. */
static bool read_number(const json_t *value, uint32_t lowest, uint32_t *out)
{
	json_int_t number = json_is_integer(value) ? json_integer_value(value) : -1;

	*out = number >= lowest && number <= UINT32_MAX ? (uint32_t)number : 0;
	return number >= lowest && number <= UINT32_MAX;
}

uint32_t arrays_source_next(const struct arrays_source *source, uint32_t generation)
{
	uint32_t i = 0;

	if (!generation)
		return source->whole;
	while (i < source->patches_count && source->patches[i] <= generation)
		i++;
	return i < source->patches_count ? source->patches[i] : 0;
}

bool arrays_source_has(const struct arrays_source *source, uint32_t generation)
{
	if (generation == source->whole)
		return generation;
	for (uint32_t i = 0; i < source->patches_count; i++)
		if (source->patches[i] == generation)
			return true;
	return false;
}

uint32_t arrays_source_end(const struct arrays_source *source)
{
	return source->patches_count ? source->patches[source->patches_count - 1] : source->whole;
}

/* Reads whole and patches under these keys. */
static int read_any_source(const json_t *node, const char *whole_key, const char *patches_key,
			   struct arrays_source *out, struct reason *why)
{
	const json_t *patches = json_object_get(node, patches_key);
	uint32_t last;

	if (!read_number(json_object_get(node, whole_key), 1, &out->whole))
		return refuse(why, whole_key, "1..4294967295");
	if (!json_is_array(patches) || json_array_size(patches) > ARRAYS_PATCHES_MAX)
		return refuse(why, patches_key, "a list of at most 256 generations");
	last = out->whole;
	for (size_t i = 0; i < json_array_size(patches); i++) {
		uint32_t *patch = &out->patches[i];

		if (last == UINT32_MAX || !read_number(json_array_get(patches, i), last + 1, patch))
			return refuse(why, patches_key, "generations that ascend from that of the whole arrays");
		last = *patch;
		out->patches_count++;
	}
	return 0;
}

/* The same; they must lead to this generation. */
static int read_source(const json_t *node, const char *whole_key, const char *patches_key, uint32_t generation,
		       struct arrays_source *out, struct reason *why)
{
	int error = read_any_source(node, whole_key, patches_key, out, why);

	if (!error && arrays_source_end(out) != generation)
		return reason_set(why, -EINVAL, "latest_arrays: %s leads to generation %u; allowed: %u", patches_key,
				  arrays_source_end(out), generation);
	return error;
}

/* Those before, where there are any to read: on the way to the newest, or by keys of their own. */
static int read_previous(const json_t *node, struct arrays_list *out, struct reason *why)
{
	uint32_t previous = out->version.previous;

	if (!previous)
		return 0;
	if (!arrays_source_has(&out->newest, previous))
		return read_source(node, "previousWhole", "previousPatches", previous, &out->previous, why);
	out->previous = out->newest;
	while (arrays_source_end(&out->previous) != previous)
		out->previous.patches_count--;
	return 0;
}

static int read_list(const json_t *node, struct arrays_list *out, struct reason *why)
{
	const json_t *previous = json_object_get(node, "previous");
	struct arrays_version *version = &out->version;
	uint32_t format;
	int error;

	if (!read_number(json_object_get(node, "format"), FORMAT, &format) || format != FORMAT)
		return refuse(why, "format", "1");
	if (!read_number(json_object_get(node, "generation"), 0, &version->newest))
		return refuse(why, "generation", "0..4294967295");
	if (!version->newest)
		return read_any_source(node, "aheadWhole", "aheadPatches", &out->ahead, why);
	version->has_previous = previous;
	if (previous && (!read_number(previous, 0, &version->previous) || version->previous >= version->newest))
		return refuse(why, "previous", "absent, or below generation");
	error = read_source(node, "whole", "patches", version->newest, &out->newest, why);
	if (!error)
		error = read_previous(node, out, why);
	if (!error && json_object_get(node, "aheadWhole"))
		error = read_any_source(node, "aheadWhole", "aheadPatches", &out->ahead, why);
	return error;
}

int arrays_list_parse(const char *text, size_t len, struct arrays_list *out, struct reason *why)
{
	json_error_t wrong;
	json_t *node = json_loadb(text, len, JSON_REJECT_DUPLICATES, &wrong);
	int error;

	memset(out, 0, sizeof(*out));
	if (!json_is_object(node))
		error =
		    reason_set(why, -EINVAL, "latest_arrays: no JSON object: %s", node ? "another value" : wrong.text);
	else
		error = read_list(node, out, why);
	json_decref(node);
	if (error)
		memset(out, 0, sizeof(*out));
	return error;
}

bool arrays_list_follows(const struct arrays_list *list, uint32_t generation)
{
	const struct arrays_source *newest = &list->newest;

	if (list->version.has_previous)
		return generation == list->version.previous;
	if (newest->patches_count > 1)
		return generation == newest->patches[newest->patches_count - 2];
	return newest->patches_count && generation == newest->whole;
}
