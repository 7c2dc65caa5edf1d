/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/histories.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <fairlead/delta.h>

enum { ROOM_FIRST = 64 };

static uint64_t hash_of(const struct history *history)
{
	uint64_t hash = history->count;

	for (uint32_t i = 0; i < history->count; i++)
		hash = fl_sum_entry(hash, history->owner[i], history->since[i]);
	return hash;
}

/* The slot of a history, or the free one where it belongs. */
static uint32_t *slot_of(const struct histories *histories, const struct history *wanted)
{
	uint32_t at = (uint32_t)hash_of(wanted) & (histories->slots_count - 1);

	while (histories->slots[at] && memcmp(&histories->list[histories->slots[at] - 1], wanted, sizeof(*wanted)) != 0)
		at = (at + 1) & (histories->slots_count - 1);
	return &histories->slots[at];
}

static bool grow(struct histories *histories)
{
	uint32_t room = histories->room ? 2 * histories->room : ROOM_FIRST;
	struct history *list = realloc(histories->list, room * sizeof(*list));
	uint32_t *slots = list ? calloc(2 * (size_t)room, sizeof(*slots)) : NULL;

	if (list)
		histories->list = list;
	if (!slots)
		return false;
	free(histories->slots);
	histories->slots = slots;
	histories->slots_count = 2 * room;
	histories->room = room;
	for (uint32_t i = 0; i < histories->count; i++)
		*slot_of(histories, &list[i]) = i + 1;
	return true;
}

int histories_add(struct histories *histories, const struct history *wanted, uint32_t *number)
{
	uint32_t *slot;

	*number = 0;
	if (!wanted->count)
		return 0;
	if (histories->count == histories->room && !grow(histories))
		return -ENOMEM;
	slot = slot_of(histories, wanted);
	if (!*slot) {
		for (uint32_t i = 0; i < wanted->count; i++)
			if ((!histories->count && !i) || wanted->since[i] < histories->oldest)
				histories->oldest = wanted->since[i];
		histories->list[histories->count] = *wanted;
		*slot = ++histories->count;
	}
	*number = *slot;
	return 0;
}

bool histories_copy(struct histories *out, const struct histories *from)
{
	*out = *from;
	out->list = malloc((from->room + !from->room) * sizeof(*out->list));
	out->slots = malloc((from->slots_count + !from->slots_count) * sizeof(*out->slots));
	if (!out->list || !out->slots) {
		histories_clear(out);
		return false;
	}
	if (from->count)
		memcpy(out->list, from->list, from->count * sizeof(*out->list));
	if (from->slots_count)
		memcpy(out->slots, from->slots, from->slots_count * sizeof(*out->slots));
	return true;
}

void histories_clear(struct histories *histories)
{
	free(histories->list);
	free(histories->slots);
	*histories = (struct histories){0};
}
