/* SPDX-License-Identifier: Apache-2.0 */
#include "notice/removals.h"

#include <errno.h>
#include <stdlib.h>

/* Whether the change says anything of a server: that it is dead, or in the pool. */
static bool has_news(const struct delta *change, const struct fl_address *server)
{
	for (uint32_t i = 0; i < change->backends_count; i++) {
		const struct fl_delta_backend *backend = &change->backends[i];
		bool is_in = !(backend->flags & FL_BACKEND_REMOVED);

		if ((is_in || (!change->snapshot && removal_is_of(backend))) &&
		    fl_address_equal(&backend->address, server))
			return true;
	}
	return false;
}

static uint32_t count_new(const struct delta *change)
{
	uint32_t count = 0;

	for (uint32_t i = 0; !change->snapshot && i < change->backends_count; i++)
		count += removal_is_of(&change->backends[i]);
	return count;
}

int removals_note(struct removals *removals, const struct delta *change, uint32_t now, uint32_t window)
{
	uint32_t room = removals->count + count_new(change), count = 0;
	struct removal *list;

	if (!room)
		return 0;
	list = malloc(room * sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < removals->count; i++) {
		const struct removal *old = &removals->list[i];

		if (now < (uint64_t)old->since + window && !has_news(change, &old->server))
			list[count++] = *old;
	}
	for (uint32_t i = 0; !change->snapshot && i < change->backends_count; i++)
		if (removal_is_of(&change->backends[i]))
			list[count++] = (struct removal){.server = change->backends[i].address,
							 .generation = change->generation,
							 .since = change->committed};
	free(removals->list);
	*removals = (struct removals){count, list};
	return 0;
}

void removals_free(struct removals *removals)
{
	free(removals->list);
	*removals = (struct removals){0};
}
