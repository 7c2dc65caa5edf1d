/* SPDX-License-Identifier: Apache-2.0 */
#include "control/member/unreachable.h"

#include <stdlib.h>
#include <string.h>

#include "config/address.h"
#include "ring/backend.h"

/* To the backends of a service. */
struct ways {
	unsigned backends, ready;
};

static int compare(const void *left, const void *right)
{
	return memcmp(&((const struct unreachable_entry *)left)->address,
		      &((const struct unreachable_entry *)right)->address, sizeof(struct fl_address));
}

static bool append(struct unreachable *list, const struct fl_address *address, bool is_loop, uint64_t now_ms)
{
	if (list->count == list->room) {
		size_t room = list->room ? 2 * list->room : 16;
		struct unreachable_entry *entries = realloc(list->entries, room * sizeof(*entries));

		if (!entries)
			return false;
		list->entries = entries;
		list->room = room;
	}
	list->entries[list->count++] =
	    (struct unreachable_entry){.address = *address, .since = now_ms, .is_loop = is_loop};
	return true;
}

/*
 * Appends a service's backends that have no header, and counts those that there are and those that can be sent to.
 * False: no memory.
 */
static bool collect(struct unreachable *list, const struct backends *backends, struct ways *ways, uint64_t now_ms)
{
	for (uint32_t i = 0; i < backends->count; i++) {
		const struct fl_delta_backend *one = &backends->list[i];
		const struct backend *row = backends_get(backends, one->id);

		if (!row || backend_is_removed(row))
			continue;
		ways->backends++;
		ways->ready += backend_state(row) == BACKEND_READY;
		if (backend_state(row) == BACKEND_READY)
			continue;
		if (!append(list, &one->address, backend_state(row) == BACKEND_LOOP, now_ms))
			return false;
	}
	return true;
}

/* Several services may have one backend. */
static void unite(struct unreachable *list)
{
	size_t kept = 0;

	if (list->count)
		qsort(list->entries, list->count, sizeof(*list->entries), compare);
	for (size_t i = 0; i < list->count; i++)
		if (!kept || compare(&list->entries[kept - 1], &list->entries[i]))
			list->entries[kept++] = list->entries[i];
	list->count = kept;
}

/* Takes over since when, and decides what is told. True: that differs. */
static bool decide(struct unreachable *list, const struct unreachable *before, uint64_t now_ms)
{
	size_t told_before = 0, same = 0, told = 0;

	for (size_t i = 0; i < before->count; i++)
		told_before += before->entries[i].is_told;
	for (size_t i = 0; i < list->count; i++) {
		struct unreachable_entry *entry = &list->entries[i];
		const struct unreachable_entry *old =
		    before->count ? bsearch(entry, before->entries, before->count, sizeof(*before->entries), compare)
				  : NULL;

		if (old)
			entry->since = old->since;
		entry->is_told = now_ms >= entry->since + UNREACHABLE_AFTER_MS;
		told += entry->is_told;
		same += entry->is_told && old && old->is_told && old->is_loop == entry->is_loop;
	}
	return told != told_before || same != told;
}

bool unreachable_run(struct unreachable *unreachable, struct service_sync *const *syncs, unsigned count,
		     uint64_t now_ms)
{
	struct unreachable next = {0};
	bool is_whole = true, changed;

	if (now_ms < unreachable->look_at)
		return false;
	unreachable->look_at = next.look_at = now_ms + UNREACHABLE_LOOK_MS;
	for (unsigned i = 0; i < count && is_whole; i++) {
		struct published_service *published = &syncs[i]->ring.published;
		const struct ring *ring = published_ring(published);
		struct ways ways = {0};

		if (ring)
			is_whole = collect(&next, ring_backends(ring), &ways, now_ms);
		published->had_way |= ways.ready > 0;
		published->is_cut_off = published->had_way && ways.backends && !ways.ready;
	}
	if (!is_whole) { /* what was known stays */
		free(next.entries);
		return false;
	}
	unite(&next);
	changed = decide(&next, unreachable, now_ms);
	free(unreachable->entries);
	*unreachable = next;
	return changed;
}

int unreachable_describe(const struct unreachable *unreachable, json_t *node)
{
	json_t *told = json_object();
	json_int_t more = 0;
	char text[ADDRESS_TEXT_MAX];
	int failed = !told;

	for (size_t i = 0; i < unreachable->count && !failed; i++) {
		const struct unreachable_entry *entry = &unreachable->entries[i];

		if (!entry->is_told)
			continue;
		if (json_object_size(told) == UNREACHABLE_TOLD)
			more++;
		else
			failed = json_object_set_new(told, address_print(&entry->address, text),
						     json_string(entry->is_loop ? "loop" : "no_neighbour"));
	}
	if (!failed && json_object_size(told))
		failed = json_object_set(node, "unreachable", told);
	if (!failed && more)
		failed = json_object_set_new(node, "unreachableMore", json_integer(more));
	json_decref(told);
	return failed;
}
