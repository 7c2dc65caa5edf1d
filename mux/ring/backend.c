/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/backend.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "ring/backend_list.h"
#include "ring/huge.h"

enum {
	ROWS_MIN = 64,
	SPARSE_MIN = 16384, /* ids: from here on, untouched pages take no memory */
	MTU_MASK = 0xffff,
};

static bool is_sparse(uint32_t size)
{
	return size >= SPARSE_MIN;
}

/* Leaves room for later ids. Large tables take memory by the page that is touched, so sparse ids are cheap. */
static struct backends *rows_new(uint32_t ids)
{
	struct backends *backends;
	uint32_t size = ROWS_MIN;
	uint64_t bytes;

	while (size < ids)
		size *= 2;
	bytes = sizeof(*backends) + (uint64_t)size * sizeof(*backends->rows);
	if (is_sparse(size)) {
		backends = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (backends == MAP_FAILED)
			return NULL;
	} else {
		backends = huge_alloc(bytes);
		if (!backends)
			return NULL;
	}
	backends->size = size;
	backends->bytes = bytes;
	return backends;
}

static uint32_t ids_of(const struct fl_delta_backend *list, uint32_t count)
{
	return count ? list[count - 1].id + 1U : 1;
}

/* A table with room for so many list entries, and for so many ids. */
static struct backends *table(const struct encap *encap, uint32_t entries, uint32_t ids)
{
	struct backends *backends = rows_new(ids);

	if (!backends)
		return NULL;
	backends->encap = encap;
	backends->narrowest = MTU_MASK;
	backends->room = entries ? entries : 1;
	backends->list = calloc(backends->room, sizeof(*backends->list));
	if (!backends->list) {
		backends_free(backends);
		return NULL;
	}
	return backends;
}

void backend_fill(struct backend *line, const struct encap *encap, uint16_t service, const struct fl_address *address,
		  const struct next_hop *hop)
{
	memset(line, 0, sizeof(*line));
	encap->fill(&line->outer, service, address, hop);
	line->port = hop->port;
	line->mtu = hop->mtu;
	line->vlan = hop->vlan;
	if (hop->loop)
		line->state = BACKEND_LOOP;
	else
		line->state = hop->resolved ? BACKEND_READY : BACKEND_NO_NEIGHBOUR;
}

/*
 * The row of a backend. A removed backend keeps its old row: packets in flight still use it, and lists its address, but
 * no next hop is resolved for a host that may be gone.
 */
static void make_row(struct backend *row, const struct encap *encap, const struct fl_delta_backend *b,
		     const struct backends *old, uint16_t service, const struct next_hops *hops)
{
	const struct backend *before = old ? backends_get(old, b->id) : NULL;
	bool removed = b->flags & FL_BACKEND_REMOVED;
	struct fl_address address = before ? encap_destination(&before->outer) : (struct fl_address){{0}};
	struct next_hop hop = {0};

	if (removed && before && fl_address_equal(&address, &b->address)) {
		*row = *before;
		row->removed = 1;
		row->foreign = b->flags / FL_BACKEND_FOREIGN & 1;
		return;
	}
	if (!removed)
		hops->lookup(hops->context, &b->address, &hop);
	backend_fill(row, encap, service, &b->address, &hop);
	row->removed = removed;
	row->foreign = b->flags / FL_BACKEND_FOREIGN & 1;
}

/* Counts one more line. The MTU towards a backend that was removed before this mux started is unknown, 0. */
static void narrow(struct backends *backends, const struct backend *row)
{
	uint32_t mtu = backends->narrowest & MTU_MASK, flags = backends->narrowest & ~(uint32_t)MTU_MASK;

	if (row->mtu && row->mtu < mtu)
		mtu = row->mtu;
	if (row->outer.ipv6)
		flags |= BACKENDS_IPV6;
	if (row->state != BACKEND_READY)
		flags |= BACKENDS_UNREADY;
	__atomic_store_n(&backends->narrowest, flags | mtu, __ATOMIC_RELAXED);
}

uint32_t backends_room(const struct backends *backends, uint8_t count, uint8_t flags)
{
	const struct encap_template widest = {.ipv6 = flags & FL_LIST_IPV6 ? 1 : 0};

	return encap_room(backends->encap->overhead(&widest, count, flags), (uint16_t)backends_narrowest(backends));
}

uint32_t backends_room_longest(const struct backends *backends, uint8_t flags)
{
	const uint8_t ipv6 = backends_narrowest(backends) & BACKENDS_IPV6 ? FL_LIST_IPV6 : 0;

	return backends_room(backends, encap_candidates(backends->encap), (flags & FL_LIST_TAG) | ipv6);
}

/* Of all lines. */
static void sum_up(struct backends *backends)
{
	for (uint32_t i = 0; i < backends->count; i++)
		narrow(backends, &backends->rows[backends->list[i].id]);
}

static void fill_rows(struct backends *backends, const struct backends *old, uint16_t service,
		      const struct next_hops *hops)
{
	for (uint32_t i = 0; i < backends->count; i++)
		make_row(&backends->rows[backends->list[i].id], backends->encap, &backends->list[i], old, service,
			 hops);
	sum_up(backends);
}

/*
 * Makes the rows that a delta changes and copies all others; backends_refresh() brings next hops that have changed
 * since. One more backend among 64 K costs a copy of 4 MB instead of 64 K templates.
 */
static void change_rows(struct backends *backends, const struct backends *old, const struct delta *delta,
			const struct next_hops *hops)
{
	memcpy(backends->rows, old->rows, (size_t)old->size * sizeof(*old->rows)); /* the new list has all its ids */
	for (uint32_t i = 0; i < delta->backends_count; i++)
		make_row(&backends->rows[delta->backends[i].id], backends->encap, &delta->backends[i], old,
			 (uint16_t)delta->service, hops);
	sum_up(backends);
}

/* How one entry of a delta changes a table. */
enum change {
	CHANGE_NOTHING,
	CHANGE_ADDED,
	CHANGE_REMOVED,
	CHANGE_RETURNED, /* no longer removed */
	CHANGE_ANEW,     /* not possible in place: needs a new table */
};

/* row: set to what the line would become. Next hops count only where more than a weight changes. */
static enum change change_of(const struct backends *backends, const struct fl_delta_backend *b, uint16_t service,
			     const struct next_hops *hops, struct backend *row)
{
	const struct fl_delta_backend *listed = backend_list_find(backends->list, backends->count, b->id);
	const struct backend *before = backends_get(backends, b->id);
	struct backend kept;

	*row = (struct backend){0};
	if (listed && listed->flags == b->flags && fl_address_equal(&listed->address, &b->address))
		return CHANGE_NOTHING;
	if (b->id >= backends->size)
		return CHANGE_ANEW;
	make_row(row, backends->encap, b, backends, service, hops);
	if (!before)
		return CHANGE_ADDED;
	kept = *before;
	kept.removed = row->removed;
	if (memcmp(&kept, row, sizeof(kept)) != 0)
		return CHANGE_ANEW;
	if (before->removed == row->removed)
		return CHANGE_NOTHING;
	return row->removed ? CHANGE_REMOVED : CHANGE_RETURNED;
}

/* Fills an absent line, its state last: readers load the state before the rest. */
static void add_row(struct backend *line, const struct backend *row)
{
	const size_t at = offsetof(struct backend, state), behind = at + sizeof(row->state);

	memcpy(line, row, at);
	memcpy((uint8_t *)line + behind, (const uint8_t *)row + behind, sizeof(*row) - behind);
	__atomic_store_n(&line->state, row->state, __ATOMIC_RELEASE);
}

/* What a delta makes of the list's sum. */
static uint64_t sum_after(const struct backends *backends, const struct delta *delta)
{
	uint64_t sum = backends->sum + backend_list_sum(delta->backends, delta->backends_count);

	for (uint32_t i = 0; i < delta->backends_count; i++) {
		const struct fl_delta_backend *before =
		    backend_list_find(backends->list, backends->count, delta->backends[i].id);

		if (before)
			sum -= backend_list_sum(before, 1);
	}
	return sum;
}

/* Merges into the table's own list, which has room: from the end, and only as far as entries move. */
static void merge_own(struct backends *backends, const struct fl_delta_backend *more, uint32_t count, uint32_t fresh)
{
	uint32_t from = backends->count, to = backends->count + fresh;

	backends->count = to;
	while (count) {
		const struct fl_delta_backend *next = &more[count - 1];

		if (from && backends->list[from - 1].id > next->id) {
			backends->list[--to] = backends->list[--from];
			continue;
		}
		if (from && backends->list[from - 1].id == next->id)
			from--;
		backends->list[--to] = *next;
		count--;
	}
}

static bool make_list_room(struct backends *backends, uint32_t count)
{
	struct fl_delta_backend *list;

	if (count <= backends->room)
		return true;
	list = realloc(backends->list, 2ULL * count * sizeof(*list));
	if (!list)
		return false;
	backends->list = list;
	backends->room = 2 * count;
	return true;
}

bool backends_change(struct backends *backends, const struct delta *delta, const struct next_hops *hops)
{
	uint16_t service = (uint16_t)delta->service;
	struct backend row;
	uint32_t fresh = 0;

	for (uint32_t i = 0; i < delta->backends_count; i++) {
		enum change change = change_of(backends, &delta->backends[i], service, hops, &row);

		if (change == CHANGE_ANEW)
			return false;
		fresh += change == CHANGE_ADDED;
	}
	if (!make_list_room(backends, backends->count + fresh))
		return false;
	for (uint32_t i = 0; i < delta->backends_count; i++) {
		enum change change = change_of(backends, &delta->backends[i], service, hops, &row);
		struct backend *line = &backends->rows[delta->backends[i].id];

		if (change == CHANGE_ADDED) {
			narrow(backends, &row);
			add_row(line, &row);
		} else if (change != CHANGE_NOTHING)
			__atomic_store_n(&line->removed, row.removed, __ATOMIC_RELAXED);
	}
	backends->sum = sum_after(backends, delta);
	merge_own(backends, delta->backends, delta->backends_count, fresh);
	return true;
}

struct backends *backends_new(const struct encap *encap, const struct backends *old, const struct delta *delta,
			      const struct next_hops *hops, struct reason *why)
{
	uint32_t old_count = old && !delta->snapshot ? old->count : 0;
	uint32_t old_ids = old_count ? ids_of(old->list, old_count) : 1;
	uint32_t ids = ids_of(delta->backends, delta->backends_count);
	struct backends *backends;

	backends = table(encap, old_count + delta->backends_count, ids > old_ids ? ids : old_ids);
	if (!backends) {
		reason_set(why, -ENOMEM, "no memory for a table of %u backends", old_count + delta->backends_count);
		errno = ENOMEM;
		return NULL;
	}
	backends->count = backend_list_merge(old_count ? old->list : NULL, old_count, delta->backends,
					     delta->backends_count, backends->list);
	backends->sum = backend_list_sum(backends->list, backends->count);
	if (old && !delta->snapshot)
		change_rows(backends, old, delta, hops);
	else
		fill_rows(backends, NULL, (uint16_t)delta->service, hops);
	return backends;
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

		make_row(&now, old->encap, b, old, service, hops);
		differs = memcmp(&now, &old->rows[b->id], sizeof(now)) != 0;
	}
	if (!differs)
		return NULL;
	backends = table(old->encap, old->count, ids_of(old->list, old->count));
	if (!backends) {
		*error = -ENOMEM;
		return NULL;
	}
	memcpy(backends->list, old->list, old->count * sizeof(*old->list));
	backends->count = old->count;
	backends->sum = old->sum;
	fill_rows(backends, old, service, hops);
	return backends;
}

void backends_free(struct backends *backends)
{
	if (!backends)
		return;
	free(backends->list);
	if (is_sparse(backends->size))
		munmap(backends, backends->bytes);
	else
		huge_free(backends, backends->bytes);
}

bool backends_is_live(const struct backends *backends, uint16_t id)
{
	const struct backend *backend = backends_get(backends, id);

	return backend && !backend_is_removed(backend);
}

bool backends_address(const struct backends *backends, uint16_t id, struct fl_address *out)
{
	const struct fl_delta_backend *found = backend_list_find(backends->list, backends->count, id);

	if (found)
		*out = found->address;
	return found;
}
