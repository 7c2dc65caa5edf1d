/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule.h"

#include <stddef.h>
#include <stdlib.h>

enum { ROOM_MIN = 1024 };

static void place(struct schedule *schedule, uint32_t slot, struct due *due)
{
	schedule->heap[slot] = due;
	due->slot = slot;
}

static void rise(struct schedule *schedule, uint32_t slot, struct due *due)
{
	for (; slot > 1 && schedule->heap[slot / 2]->at > due->at; slot /= 2)
		place(schedule, slot, schedule->heap[slot / 2]);
	place(schedule, slot, due);
}

static void sink(struct schedule *schedule, uint32_t slot, struct due *due)
{
	for (uint32_t child = slot * 2; child <= schedule->count; child = slot * 2) {
		if (child < schedule->count && schedule->heap[child + 1]->at < schedule->heap[child]->at)
			child++;
		if (schedule->heap[child]->at >= due->at)
			break;
		place(schedule, slot, schedule->heap[child]);
		slot = child;
	}
	place(schedule, slot, due);
}

static bool grow(struct schedule *schedule)
{
	uint32_t room = schedule->room ? schedule->room * 2 : ROOM_MIN;
	struct due **heap;

	if (schedule->count + 1 < schedule->room)
		return true;
	heap = realloc(schedule->heap, room * sizeof(struct due *));
	if (!heap)
		return false;
	schedule->heap = heap;
	schedule->room = room;
	return true;
}

bool schedule_set(struct schedule *schedule, struct due *due, uint64_t at)
{
	uint64_t before = due->at;

	if (!due->slot && !grow(schedule))
		return false;
	due->at = at;
	if (!due->slot)
		rise(schedule, ++schedule->count, due);
	else if (at < before)
		rise(schedule, due->slot, due);
	else
		sink(schedule, due->slot, due);
	return true;
}

void schedule_unset(struct schedule *schedule, struct due *due)
{
	uint32_t slot = due->slot;
	struct due *last;

	if (!slot)
		return;
	due->slot = 0;
	last = schedule->heap[schedule->count--];
	if (last == due)
		return;
	if (slot > 1 && schedule->heap[slot / 2]->at > last->at)
		rise(schedule, slot, last);
	else
		sink(schedule, slot, last);
}

struct due *schedule_first(const struct schedule *schedule)
{
	return schedule->count ? schedule->heap[1] : NULL;
}

void schedule_free(struct schedule *schedule)
{
	free(schedule->heap);
	*schedule = (struct schedule){0};
}
