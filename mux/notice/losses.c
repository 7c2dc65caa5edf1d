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

/* The owners that a delta takes buckets from. */
static void raise_moved(uint32_t *since, const struct delta *delta, const struct ring *ring)
{
	for (uint32_t i = 0; i < delta->runs_count; i++) {
		const struct fl_delta_run *run = &delta->runs[i];

		if (delta->order == FL_DELTA_BY_OWNER && run->owner != run->current)
			raise(since, run->owner, delta->committed);
		for (uint32_t bucket = run->start;
		     ring && delta->order == FL_DELTA_BY_NUMBER && bucket - run->start < run->count; bucket++)
			if (fl_row_current(image_row(&ring->image, bucket)) != run->current)
				raise(since, fl_row_current(image_row(&ring->image, bucket)), delta->committed);
	}
}

/* All that an image's histories name. */
static void raise_named(uint32_t *since, const struct histories *histories)
{
	for (uint32_t i = 0; i < histories->count; i++)
		for (uint32_t j = 0; j < histories->list[i].count; j++)
			raise(since, histories->list[i].owner[j], histories->list[i].since[j]);
}

static void raise_all(uint32_t *since, const struct delta *delta, const struct ring *ring)
{
	for (uint32_t i = 0; ring && i < ring_buckets(ring); i++)
		raise(since, fl_row_current(image_row(&ring->image, i)),
		      delta->snapshot ? delta->image.committed : delta->committed);
	for (uint32_t i = 0; delta->snapshot && i < delta->buckets; i++)
		raise(since, delta->image.current[i], delta->image.committed);
}

/* They are told nothing. */
static void drop_dead(uint32_t *since, const struct delta *delta)
{
	for (uint32_t i = 0; i < delta->backends_count; i++)
		if (delta->backends[i].flags & FL_BACKEND_DEAD)
			since[delta->backends[i].id] = 0;
}

int losses_note(struct losses *losses, const struct losses_change *change, uint32_t now, uint32_t window)
{
	uint32_t *since = calloc(IDS, sizeof(*since)), count = 0;
	struct notice_owner *list;

	if (!since)
		return -ENOMEM;
	for (uint32_t i = 0; i < losses->count; i++)
		since[losses->list[i].id] = losses->list[i].since;
	if (change->delta->snapshot)
		raise_named(since, &change->delta->image.histories);
	else
		raise_moved(since, change->delta, change->ring);
	if (change->all_lose)
		raise_all(since, change->delta, change->ring);
	drop_dead(since, change->delta);
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
