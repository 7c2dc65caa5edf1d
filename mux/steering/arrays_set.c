/* SPDX-License-Identifier: Apache-2.0 */
#include "steering/arrays_set.h"

#include <errno.h>

static void *keep(const struct arrays_set *set, void *arrays)
{
	return arrays ? set->method->keep(arrays) : NULL;
}

void arrays_set_copy(struct arrays_set *to, const struct arrays_set *from)
{
	struct arrays_set copy = *from;

	copy.newest = keep(from, from->newest);
	copy.previous = keep(from, from->previous);
	arrays_set_clear(to);
	*to = copy;
}

void arrays_set_clear(struct arrays_set *set)
{
	if (set->newest)
		set->method->free(set->newest);
	if (set->previous)
		set->method->free(set->previous);
	*set = (struct arrays_set){0};
}

static void learn(struct arrays_file *file, const void *arrays, const struct arrays_set *from)
{
	if (arrays && arrays == from->newest && from->newest_file.len)
		*file = from->newest_file;
	if (arrays && arrays == from->previous && from->previous_file.len)
		*file = from->previous_file;
}

void arrays_set_learn_files(struct arrays_set *set, const struct arrays_set *from)
{
	learn(&set->newest_file, set->newest, from);
	learn(&set->previous_file, set->previous, from);
}

void *arrays_set_find(const struct arrays_set *set, uint32_t generation)
{
	if (set->newest && set->version.newest == generation)
		return set->newest;
	return set->previous && set->version.previous == generation ? set->previous : NULL;
}

int arrays_set_pair(const struct arrays_set *set, void **out, struct reason *why)
{
	void *newest, *previous;

	*out = NULL;
	if (!set->newest)
		return 0;
	newest = keep(set, set->newest);
	previous = keep(set, set->previous);
	*out = set->method->pair(newest, previous, set->version.has_previous && !set->version.previous);
	if (*out)
		return 0;
	set->method->free(newest);
	if (previous)
		set->method->free(previous);
	return reason_set(why, -ENOMEM, "no memory for the arrays of generation %u", set->version.newest);
}

uint64_t arrays_set_memory(const struct arrays_set *set)
{
	return set->newest ? set->method->memory(set->newest, set->previous) : 0;
}
