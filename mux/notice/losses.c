/* SPDX-License-Identifier: Apache-2.0 */
#include "notice/losses.h"

#include <errno.h>
#include <stdlib.h>

enum { IDS = FL_BACKEND_MAX + 1 };

static void raise(uint32_t *since, uint16_t id, uint32_t to)
{
	if (since[id] < to)
		since[id] = to;
}

static bool is_open(uint32_t since, uint32_t now, uint32_t window)
{
	return since && now < (uint64_t)since + window;
}

int losses_note(struct losses *losses, const struct delta *change, uint32_t now, uint32_t window)
{
	uint32_t *since = calloc(IDS, sizeof(*since)), count = 0;
	struct notice_owner *list;

	if (!since)
		return -ENOMEM;
	for (uint32_t i = 0; i < losses->count; i++)
		since[losses->list[i].id] = losses->list[i].since;
	for (uint32_t i = 0; !change->snapshot && i < change->runs_count; i++)
		raise(since, change->runs[i].previous, change->committed);
	for (uint32_t i = 0; change->snapshot && i < change->buckets; i++)
		raise(since, change->previous[i], change->since[i]);
	for (uint32_t id = 1; id < IDS; id++)
		count += is_open(since[id], now, window);
	list = malloc((count + !count) * sizeof(*list));
	if (!list) {
		free(since);
		return -ENOMEM;
	}
	count = 0;
	for (uint32_t id = 1; id < IDS; id++)
		if (is_open(since[id], now, window))
			list[count++] = (struct notice_owner){(uint16_t)id, since[id]};
	free(since);
	free(losses->list);
	*losses = (struct losses){count, list};
	return 0;
}

void losses_free(struct losses *losses)
{
	free(losses->list);
	*losses = (struct losses){0};
}
