/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The distinct histories of a ring's buckets: their former owners, newest first. Many buckets share one, so a bucket has
 * the number of its history alone, and 0 if it has none. A history never changes. Control thread only.
 */
#ifndef FAIRLEAD_MUX_HISTORIES_H
#define FAIRLEAD_MUX_HISTORIES_H

#include <fairlead/list.h>
#include <fairlead/ring.h>

#include <stddef.h>

enum {
	HISTORY_MAX = FL_LIST_MAX,
	HISTORY_ENTRY_LEN = 6,                                 /* in a snapshot */
	HISTORY_LEN_MAX = 1 + HISTORY_ENTRY_LEN * HISTORY_MAX, /* and the number of entries */
};

struct history {
	uint32_t since[HISTORY_MAX]; /* Unix seconds; beyond count all is 0 */
	uint16_t owner[HISTORY_MAX];
	uint32_t count;
};

/* All zero: none. */
struct histories {
	uint32_t count, room;
	struct history *list; /* of number 1, 2, ... */
	uint32_t slots_count; /* a power of two */
	uint32_t *slots;      /* numbers by hash; 0: free */
	uint32_t oldest;      /* no entry is older */
};

static inline const struct history *histories_get(const struct histories *histories, uint32_t number)
{
	static const struct history none;

	return number ? &histories->list[number - 1] : &none;
}

/* The number of a history, which is added unless it is there. -ENOMEM: nothing has changed. */
int histories_add(struct histories *histories, const struct history *wanted, uint32_t *number);

/* False: no memory. */
bool histories_copy(struct histories *out, const struct histories *from);
void histories_clear(struct histories *histories);

static inline bool history_has(const struct history *history, uint16_t owner)
{
	for (uint32_t i = 0; i < history->count; i++)
		if (history->owner[i] == owner)
			return true;
	return false;
}

/* Behind the others; the caller knows that there is room. */
static inline void history_append(struct history *history, uint16_t owner, uint32_t since)
{
	history->owner[history->count] = owner;
	history->since[history->count++] = since;
}

#endif
