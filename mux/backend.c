/* SPDX-License-Identifier: Apache-2.0 */
#include "backend.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "encap.h"

/* A table with room for n list entries and no rows. */
static struct backends *table(uint32_t n)
{
	struct backends *backends = calloc(1, sizeof(*backends));

	if (!backends)
		return NULL;
	backends->list = calloc(n ? n : 1, sizeof(*backends->list));
	if (!backends->list) {
		free(backends);
		return NULL;
	}
	return backends;
}

/* Pages that nobody touches cost nothing, so that sparse ids are cheap. */
static bool make_rows(struct backends *backends)
{
	backends->size = backends->count ? backends->list[backends->count - 1].id + 1U : 1;
	backends->rows_bytes = (uint64_t)backends->size * sizeof(*backends->rows);
	backends->rows = mmap(NULL, backends->rows_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (backends->rows == MAP_FAILED)
		backends->rows = NULL;
	return backends->rows;
}

/*
 * The row of a backend. A removed one keeps the row that it had: packets of a burst that is under way still take it,
 * and MOVED its address, but nobody looks for a host that may be no more.
 */
static void make_row(struct backend *row, const struct fl_delta_backend *b, const struct backends *old,
		     uint16_t service, const struct next_hops *hops)
{
	const struct backend *before = old ? backends_get(old, b->id) : NULL;
	bool removed = b->flags & FL_BACKEND_REMOVED;
	struct fl_address address = before ? encap_destination(before) : (struct fl_address){{0}};
	struct next_hop hop = {0};

	if (removed && before && fl_address_equal(&address, &b->address)) {
		*row = *before;
		row->removed = 1;
		return;
	}
	if (!removed)
		hops->lookup(hops->context, &b->address, &hop);
	encap_template(row, service, &b->address, &hop);
	row->removed = removed;
}

static void fill_rows(struct backends *backends, const struct backends *old, uint16_t service,
		      const struct next_hops *hops)
{
	for (uint32_t i = 0; i < backends->count; i++)
		make_row(&backends->rows[backends->list[i].id], &backends->list[i], old, service, hops);
}

/*
 * Rows of a table that a delta has changed: all others keep theirs, next hops that have changed since come by
 * backends_refresh(). One backend more among 64 K costs a copy of 4 MB in place of 64 K templates.
 */
static void change_rows(struct backends *backends, const struct backends *old, const struct delta *delta,
			const struct next_hops *hops)
{
	memcpy(backends->rows, old->rows,
	       (size_t)old->size * sizeof(*old->rows)); /* its ids are in the new list, too */
	for (uint32_t i = 0; i < delta->backends_count; i++)
		make_row(&backends->rows[delta->backends[i].id], &delta->backends[i], old, (uint16_t)delta->service,
			 hops);
}

const struct fl_delta_backend *backends_find(const struct fl_delta_backend *list, uint32_t count, uint16_t id)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (list[middle].id == id)
			return &list[middle];
		if (list[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

uint32_t backends_merge(const struct fl_delta_backend *a, uint32_t a_count, const struct fl_delta_backend *b,
			uint32_t b_count, struct fl_delta_backend *out)
{
	uint32_t i = 0, j = 0, n = 0;

	while (i < a_count || j < b_count) {
		if (j == b_count || (i < a_count && a[i].id < b[j].id)) {
			out[n++] = a[i++];
			continue;
		}
		if (i < a_count && a[i].id == b[j].id)
			i++;
		out[n++] = b[j++];
	}
	return n;
}

bool backends_differ(const struct backends *backends, const struct delta *delta)
{
	for (uint32_t i = 0; i < delta->backends_count; i++) {
		const struct fl_delta_backend *b = &delta->backends[i];
		const struct fl_delta_backend *before = backends_find(backends->list, backends->count, b->id);

		if (!before || before->flags != b->flags || !fl_address_equal(&before->address, &b->address))
			return true;
	}
	return false;
}

struct backends *backends_new(const struct backends *old, const struct delta *delta, const struct next_hops *hops,
			      struct why *why)
{
	uint32_t old_count = old && !delta->snapshot ? old->count : 0;
	struct backends *backends;

	backends = table(old_count + delta->backends_count);
	if (!backends)
		goto no_memory;
	backends->count = backends_merge(old_count ? old->list : NULL, old_count, delta->backends,
					 delta->backends_count, backends->list);
	if (!make_rows(backends))
		goto no_memory;
	if (old && !delta->snapshot)
		change_rows(backends, old, delta, hops);
	else
		fill_rows(backends, NULL, (uint16_t)delta->service, hops);
	return backends;

no_memory:
	backends_free(backends);
	why_refuse(why, -ENOMEM, "no memory for a table of %u backends", old_count + delta->backends_count);
	errno = ENOMEM;
	return NULL;
}

struct backends *backends_refresh(const struct backends *old, uint16_t service, const struct next_hops *hops,
				  int *error)
{
	struct backends *backends = NULL;
	bool differs = false;

	*error = 0;
	for (uint32_t i = 0; i < old->count && !differs; i++) {
		const struct fl_delta_backend *b = &old->list[i];
		struct backend now;

		make_row(&now, b, old, service, hops);
		differs = memcmp(&now, &old->rows[b->id], sizeof(now)) != 0;
	}
	if (!differs)
		return NULL;
	backends = table(old->count);
	if (!backends)
		goto no_memory;
	memcpy(backends->list, old->list, old->count * sizeof(*old->list));
	backends->count = old->count;
	if (!make_rows(backends))
		goto no_memory;
	fill_rows(backends, old, service, hops);
	return backends;

no_memory:
	backends_free(backends);
	*error = -ENOMEM;
	return NULL;
}

void backends_free(struct backends *backends)
{
	if (!backends)
		return;
	if (backends->rows)
		munmap(backends->rows, backends->rows_bytes);
	free(backends->list);
	free(backends);
}

bool backends_is_live(const struct backends *backends, uint16_t id)
{
	const struct backend *backend = backends_get(backends, id);

	return backend && !backend->removed;
}

bool backends_address(const struct backends *backends, uint16_t id, struct fl_address *out)
{
	const struct fl_delta_backend *found = backends_find(backends->list, backends->count, id);

	if (found)
		*out = found->address;
	return found;
}
