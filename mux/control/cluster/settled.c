/* SPDX-License-Identifier: Apache-2.0 */
#include "control/cluster/settled.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <fairlead/delta.h>

enum { FORMAT = 1, ENTRY_LEN = 8, ID_DIGITS_MAX = 5 };

static int compare(const void *left, const void *right)
{
	return (int)((const struct settled_entry *)left)->service - (int)((const struct settled_entry *)right)->service;
}

/* 0: not the id of a service. */
static uint16_t id_of(const char *text)
{
	size_t len = strlen(text);
	unsigned long id = len <= ID_DIGITS_MAX && strspn(text, "0123456789") == len ? strtoul(text, NULL, 10) : 0;

	return id <= UINT16_MAX && *text != '0' ? (uint16_t)id : 0;
}

static bool reserve(struct settled *out, size_t count)
{
	out->list = calloc(count ? count : 1, sizeof(*out->list));
	return out->list;
}

static int read_services(const json_t *services, struct settled *out, struct reason *why)
{
	const char *name;
	json_t *value;

	if (!json_is_object(services))
		return reason_set(why, -EINVAL, "services is %s; allowed: an object",
				  services ? "not an object" : "missing");
	if (!reserve(out, json_object_size(services)))
		return reason_set(why, -ENOMEM, "no memory");
	json_object_foreach((json_t *)(uintptr_t)services, name, value)
	{
		json_int_t generation = json_integer_value(value);
		uint16_t id = id_of(name);

		if (!id)
			return reason_set(why, -EINVAL, "services names '%.20s'; allowed: 1..%d", name, UINT16_MAX);
		if (generation < 1 || generation > UINT32_MAX)
			return reason_set(why, -EINVAL, "services.%u is %lld; allowed: an integer 1..%u", id,
					  (long long)generation, UINT32_MAX);
		out->list[out->count++] = (struct settled_entry){id, (uint32_t)generation};
	}
	qsort(out->list, out->count, sizeof(*out->list), compare);
	return 0;
}

int settled_parse(const char *json, size_t len, struct settled *out, struct reason *why)
{
	json_error_t at;
	json_t *root = json_loadb(json, len, JSON_REJECT_DUPLICATES, &at);
	const json_t *format = json_object_get(root, "format");
	int error;

	*out = (struct settled){0};
	if (!root)
		return reason_set(why, -EINVAL, "not JSON: line %d: %.160s", at.line, at.text);
	if (!json_is_integer(format) || json_integer_value(format) != FORMAT)
		error = reason_set(why, -EINVAL, "format is %s; allowed: %d", format ? "another" : "missing", FORMAT);
	else
		error = read_services(json_object_get(root, "services"), out, why);
	json_decref(root);
	if (error)
		settled_clear(out);
	return error;
}

int settled_load(const uint8_t *data, size_t len, struct settled *out, struct reason *why)
{
	uint32_t last = 0;

	*out = (struct settled){0};
	if (len % ENTRY_LEN || len / ENTRY_LEN > UINT16_MAX)
		return reason_set(why, -EINVAL, "settled generations of %zu bytes; allowed: %d for each of %d services",
				  len, ENTRY_LEN, UINT16_MAX);
	if (!reserve(out, len / ENTRY_LEN))
		return reason_set(why, -ENOMEM, "no memory");
	for (size_t at = 0; at < len; at += ENTRY_LEN) {
		uint32_t id = fl_load_le32(data + at), generation = fl_load_le32(data + at + 4);

		if (id <= last || id > UINT16_MAX || !generation) {
			settled_clear(out);
			return reason_set(why, -EINVAL,
					  "settled generation %u of service %u after %u; allowed: 1 and more, ids that "
					  "ascend from 1",
					  generation, id, last);
		}
		out->list[out->count++] = (struct settled_entry){(uint16_t)id, generation};
		last = id;
	}
	return 0;
}

uint8_t *settled_store(const struct settled *settled, size_t *len)
{
	uint8_t *bytes = malloc((size_t)settled->count * ENTRY_LEN + 1);

	*len = (size_t)settled->count * ENTRY_LEN;
	for (unsigned i = 0; bytes && i < settled->count; i++) {
		fl_store_le32(bytes + (size_t)i * ENTRY_LEN, settled->list[i].service);
		fl_store_le32(bytes + (size_t)i * ENTRY_LEN + 4, settled->list[i].generation);
	}
	return bytes;
}

bool settled_copy(struct settled *to, const struct settled *from)
{
	struct settled copy = {.count = from->count};

	if (!reserve(&copy, from->count))
		return false;
	if (from->count)
		memcpy(copy.list, from->list, from->count * sizeof(*from->list));
	settled_clear(to);
	*to = copy;
	return true;
}

bool settled_set(struct settled *settled, uint16_t service, uint32_t generation)
{
	struct settled_entry *list;
	unsigned at = 0;

	while (at < settled->count && settled->list[at].service < service)
		at++;
	if (at == settled->count || settled->list[at].service != service) {
		if (!generation)
			return true;
		list = realloc(settled->list, (settled->count + 1) * sizeof(*list));
		if (!list)
			return false;
		settled->list = list;
		memmove(list + at + 1, list + at, (settled->count++ - at) * sizeof(*list));
	} else if (!generation) {
		settled->count--;
		memmove(settled->list + at, settled->list + at + 1, (settled->count - at) * sizeof(*settled->list));
		return true;
	}
	settled->list[at] = (struct settled_entry){service, generation};
	return true;
}

void settled_clear(struct settled *settled)
{
	free(settled->list);
	*settled = (struct settled){0};
}

bool settled_equal(const struct settled *a, const struct settled *b)
{
	if (a->count != b->count)
		return false;
	for (unsigned i = 0; i < a->count; i++)
		if (a->list[i].service != b->list[i].service || a->list[i].generation != b->list[i].generation)
			return false;
	return true;
}

uint32_t settled_find(const struct settled *settled, uint16_t service)
{
	const struct settled_entry key = {.service = service}, *found = NULL;

	if (settled->count)
		found = bsearch(&key, settled->list, settled->count, sizeof(key), compare);
	return found ? found->generation : 0;
}
