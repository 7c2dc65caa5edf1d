/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/lists.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_hash_crc.h>

enum {
	SIZES = (FL_LIST_LONG_BYTES + sizeof(struct list_cell) - 1) / sizeof(struct list_cell), /* cells of a list */
	HEADS_MIN = 1024,
};

/* What the writer knows of a list, by its first cell. */
struct known {
	uint32_t rows; /* that name it */
	uint32_t next; /* of the same hash; or the next unused one of its size; 0: none */
	uint32_t next_retired;
	uint32_t hash;
	uint8_t count, size;
	bool is_ipv6, is_retired;
};

struct lists_own {
	struct lists lists;
	struct list_cell *cells;
	struct known *known;
	uint32_t max, fresh; /* cells from `fresh` on were never used */
	uint32_t unused[SIZES + 1];
	uint32_t retired;     /* the first one */
	uint32_t *heads;      /* by hash */
	uint32_t heads_count; /* a power of two, from a quarter of max on */
};

static void *reserve(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	madvise(memory, bytes, MADV_HUGEPAGE); /* if the kernel can't, small pages do */
	return memory;
}

struct lists *lists_new(uint32_t max)
{
	struct lists_own *own = calloc(1, sizeof(*own));

	if (!own)
		return NULL;
	own->max = max;
	own->fresh = 1;
	own->cells = reserve(((size_t)max + 1) * sizeof(*own->cells)); /* of which [max] is only read */
	own->known = reserve((size_t)max * sizeof(*own->known));
	own->heads_count = HEADS_MIN;
	while (own->heads_count < max / 4)
		own->heads_count *= 2;
	own->heads = reserve(own->heads_count * sizeof(*own->heads));
	own->lists = (struct lists){.cells = own->cells, .own = own};
	if (own->cells && own->known && own->heads)
		return &own->lists;
	lists_free(&own->lists);
	return NULL;
}

void lists_free(struct lists *lists)
{
	struct lists_own *own = lists ? lists->own : NULL;

	if (!own)
		return;
	if (own->cells)
		munmap(own->cells, ((size_t)own->max + 1) * sizeof(*own->cells));
	if (own->known)
		munmap(own->known, (size_t)own->max * sizeof(*own->known));
	if (own->heads)
		munmap(own->heads, own->heads_count * sizeof(*own->heads));
	free(own);
}

/* A list as its cells have it. */
struct wanted {
	uint8_t bytes[SIZES * sizeof(struct list_cell)];
	uint32_t len, hash;
	uint8_t count, size;
	bool is_ipv6;
};

static struct wanted want(const struct fl_list *former)
{
	const uint32_t count = former->count;
	const bool is_ipv6 = former->flags & FL_LIST_IPV6;
	struct wanted wanted = {.count = former->count, .size = 1, .is_ipv6 = is_ipv6};
	uint8_t *at = wanted.bytes + sizeof(struct list_cell) - count * LISTS_IPV4_LEN;

	for (uint32_t i = 0; !is_ipv6 && i < count; i++)
		memcpy(at + i * LISTS_IPV4_LEN, former->candidate[i].bytes + 12, LISTS_IPV4_LEN);
	for (uint32_t i = 0; is_ipv6 && i < count; i++)
		memcpy(wanted.bytes + i * LISTS_IPV6_LEN, former->candidate[i].bytes, LISTS_IPV6_LEN);
	if (is_ipv6)
		wanted.size =
		    (uint8_t)((count * LISTS_IPV6_LEN + sizeof(struct list_cell) - 1) / sizeof(struct list_cell));
	wanted.len = wanted.size * (uint32_t)sizeof(struct list_cell);
	wanted.hash = rte_hash_crc(wanted.bytes, wanted.len, count << 1 | is_ipv6);
	return wanted;
}

/* 0: there is none. */
static uint32_t find(const struct lists_own *own, const struct wanted *wanted)
{
	uint32_t at = own->heads[wanted->hash & (own->heads_count - 1)];

	for (; at; at = own->known[at].next) {
		const struct known *known = &own->known[at];

		if (known->hash == wanted->hash && known->count == wanted->count && known->is_ipv6 == wanted->is_ipv6 &&
		    !memcmp(&own->cells[at], wanted->bytes, wanted->len))
			return at;
	}
	return 0;
}

static void link_list(struct lists_own *own, uint32_t at)
{
	uint32_t *head = &own->heads[own->known[at].hash & (own->heads_count - 1)];

	own->known[at].next = *head;
	*head = at;
}

static void set_used(struct lists_own *own, uint32_t used)
{
	__atomic_store_n(&own->lists.used, used, __ATOMIC_RELAXED);
}

/* 0: the table is full. */
static uint32_t add(struct lists_own *own, const struct wanted *wanted)
{
	uint32_t at = own->unused[wanted->size];

	if (at) {
		own->unused[wanted->size] = own->known[at].next;
	} else if (own->max - own->fresh >= wanted->size) {
		at = own->fresh;
		own->fresh += wanted->size;
	} else {
		own->lists.refused++;
		return 0;
	}
	memcpy(&own->cells[at], wanted->bytes, wanted->len);
	own->known[at] = (struct known){
	    .hash = wanted->hash, .count = wanted->count, .size = wanted->size, .is_ipv6 = wanted->is_ipv6};
	link_list(own, at);
	set_used(own, own->lists.used + wanted->size);
	return at;
}

static fl_row row_of(uint16_t owner, uint32_t count, uint8_t flags, uint32_t at)
{
	return (fl_row)(at * LISTS_WORDS) << 32 | (fl_row)(count << 4 | flags) << 24 | (fl_row)count << 16 | owner;
}

fl_row lists_row(struct lists *lists, uint16_t owner, const struct fl_list *former)
{
	struct lists_own *own = lists->own;
	struct wanted wanted;
	uint32_t at;

	if (!former->count)
		return owner;
	wanted = want(former);
	at = find(own, &wanted);
	if (!at)
		at = add(own, &wanted);
	if (!at)
		return row_of(owner, 0, FL_LIST_LATE, 0);
	own->known[at].rows++;
	return row_of(owner, former->count, former->flags & FL_LIST_IPV6, at);
}

void lists_drop(struct lists *lists, fl_row row)
{
	struct lists_own *own = lists->own;
	uint32_t at = (uint32_t)(row >> 32) / LISTS_WORDS;
	struct known *known = &own->known[at];

	if (!at || --known->rows || known->is_retired)
		return;
	known->is_retired = true;
	known->next_retired = own->retired;
	own->retired = at;
	lists->retired++;
}

static void unlink_list(struct lists_own *own, uint32_t at)
{
	uint32_t *from = &own->heads[own->known[at].hash & (own->heads_count - 1)];

	while (*from != at)
		from = &own->known[*from].next;
	*from = own->known[at].next;
}

void lists_reclaim(struct lists *lists)
{
	struct lists_own *own = lists->own;
	uint32_t next;

	for (uint32_t at = own->retired; at; at = next) {
		struct known *known = &own->known[at];

		next = known->next_retired;
		known->is_retired = false;
		if (known->rows) /* named again since */
			continue;
		unlink_list(own, at);
		known->next = own->unused[known->size];
		own->unused[known->size] = at;
		set_used(own, lists->used - known->size);
	}
	own->retired = 0;
	lists->retired = 0;
}
