/* SPDX-License-Identifier: Apache-2.0 */
#include "regions.h"

#include <stdlib.h>
#include <string.h>

void regions_init(struct regions *regions, uint32_t size)
{
	*regions = (struct regions){.size = size};
}

void regions_clear(struct regions *regions)
{
	free(regions->list);
	*regions = (struct regions){.size = regions->size};
}

/* The free part in front of list[i], or behind the last one. */
static struct region gap(const struct regions *regions, uint32_t i)
{
	const struct region *before = i ? &regions->list[i - 1] : NULL;
	uint32_t base = before ? before->base + before->size : 0;
	uint32_t end = i < regions->count ? regions->list[i].base : regions->size;

	return (struct region){.base = base, .size = end - base};
}

uint32_t regions_largest(const struct regions *regions)
{
	uint32_t largest = 0;

	for (uint32_t i = 0; i <= regions->count; i++)
		if (gap(regions, i).size > largest)
			largest = gap(regions, i).size;
	return largest;
}

static bool make_room(struct regions *regions)
{
	uint32_t room = regions->room ? 2 * regions->room : 16;
	struct region *list;

	if (regions->count < regions->room)
		return true;
	list = realloc(regions->list, room * sizeof(*list));
	if (!list)
		return false;
	regions->list = list;
	regions->room = room;
	return true;
}

bool regions_take(struct regions *regions, uint32_t size, struct region *out)
{
	uint32_t i = 0;

	while (i <= regions->count && gap(regions, i).size < size)
		i++;
	if (!size || i > regions->count || !make_room(regions))
		return false;
	*out = (struct region){.base = gap(regions, i).base, .size = size};
	memmove(&regions->list[i + 1], &regions->list[i], (regions->count - i) * sizeof(*out));
	regions->list[i] = *out;
	regions->count++;
	return true;
}

void regions_give(struct regions *regions, struct region *region)
{
	uint32_t i = 0;

	if (!region->size)
		return;
	while (regions->list[i].base != region->base)
		i++;
	memmove(&regions->list[i], &regions->list[i + 1], (--regions->count - i) * sizeof(*region));
	region->size = 0;
}
