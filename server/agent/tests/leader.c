// SPDX-License-Identifier: Apache-2.0
#include "leader.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base64.h"

#include "vectors.h"

void leader_begin(struct leader *leader, const char *memory)
{
	*leader = (struct leader){0};
	snprintf(leader->memory, sizeof(leader->memory), "%s", memory);
}

bool known_has(const struct known *known, fl_u64 hash)
{
	for (size_t i = 0; i < known->count; i++)
		if (known->hashes[i] == hash)
			return true;
	return false;
}

static void add(struct known *known, fl_u64 hash)
{
	if (known_has(known, hash))
		return;
	assert_true(known->count < LEADER_HASHES_MAX);
	known->hashes[known->count++] = hash;
}

static void drop(struct known *known, fl_u64 hash)
{
	for (size_t i = 0; i < known->count; i++)
		if (known->hashes[i] == hash)
			known->hashes[i--] = known->hashes[--known->count];
}

/* Adds or drops each hash of the list `key`. */
static void apply(struct known *known, const json_t *connections, const char *key,
		  void change(struct known *known, fl_u64 hash))
{
	const char *text = vectors_text(connections, key);
	size_t len = strlen(text);
	fl_u8 *bytes = malloc(len / 4 * 3 + 1);
	long got = base64_read(text, len, bytes);

	assert_true(got >= 0 && got % 8 == 0);
	for (long i = 0; i < got; i += 8)
		change(known, fl_load_le64(bytes + i));
	free(bytes);
}

void leader_hear(struct leader *leader, const json_t *connections)
{
	if (strcmp(vectors_text(connections, "memory"), leader->memory))
		return;
	if (!vectors_bool(connections, "whole")) {
		if (!leader->is_complete)
			return;
		apply(&leader->known, connections, "closed", drop);
		apply(&leader->known, connections, "opened", add);
		return;
	}
	if (vectors_bool(connections, "first")) {
		leader->is_whole = true;
		leader->whole.count = 0;
	}
	if (!leader->is_whole)
		return;
	assert_string_equal(vectors_text(connections, "closed"), "");
	apply(&leader->whole, connections, "opened", add);
	apply(&leader->known, connections, "opened", add);
	if (!vectors_bool(connections, "last"))
		return;
	leader->known = leader->whole;
	leader->is_whole = false;
	leader->is_complete = true;
}
