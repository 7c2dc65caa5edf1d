/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What packets of a bucket go by: its owner, and the list of its former owners, ready to be copied into headers
 * (fairlead/list.h). The lists of all services are in one table, so that a row alone says where its list is. Rows of equal
 * lists share one.
 *
 *	row 8		bits 0..15 owner, 16..23 count, 24..31 the header's byte of count and flags, 32..63 list
 *	list 32		spare | IPv4 addresses 4 as in headers		ends with the last one; two in a cache line
 *	or more such	IPv6 addresses 16				if a former owner or the present one has such
 *
 * Of the flags a row has IPV6, LATE and LISTS_FOREIGN. LATE says that the list was cut, since the table or the header has
 * no room for it: servers then drop what they do not know as stale, and reset nothing.
 *
 * One writer, the control thread, counts the rows that name a list. A list that none names any more is used again only
 * after a grace period: lists_reclaim(). Readers take no lock: a list is complete before a row names it.
 */
#ifndef FAIRLEAD_MUX_LISTS_H
#define FAIRLEAD_MUX_LISTS_H

#include <stdbool.h>
#include <stdint.h>

#include <fairlead/list.h>
#include <fairlead/ring.h>

enum lists_numbers {
	LISTS_MAX = 1 << 24, /* cells, of 32 bytes each: 512 MB of addresses, of which only pages in use take memory */
	LISTS_FEW = 4096,    /* the nearer caches have so many: to prefetch them costs more than to wait */
	LISTS_IPV4_LEN = 4,
	LISTS_IPV6_LEN = 16,
	LISTS_FOREIGN = FL_LIST_TAG, /* the last of the list is a foreign end-point */
};

struct list_cell {
	uint8_t bytes[32];
} __attribute__((aligned(32)));

_Static_assert(sizeof(struct list_cell) >= FL_LIST_SHORT_BYTES, "a list of IPv4 fits one cell");

enum { LISTS_WORDS = sizeof(struct list_cell) / 8 }; /* rows name cells by words, as processors scale by 8 at most */

struct lists {
	const struct list_cell
	    *cells;       /* [0] is in no use; readers need no more than this and used, and may read one more */
	uint32_t used;    /* atomic: cells that are */
	uint32_t now;     /* atomic: Unix seconds by ZooKeeper (ring.h); 0: unknown, no window is over */
	uint32_t retired; /* lists that wait for lists_reclaim() */
	uint64_t refused; /* how often the table was full */
	struct lists_own *own;
};

/* max: number of cells; LISTS_MAX, or less in tests. Returns NULL if there is no memory. */
struct lists *lists_new(uint32_t max);

/* No reader may be left. NULL is allowed. */
void lists_free(struct lists *lists);

/*
 * A row of this owner and these former ones, newest first; with IPV6 in the long form, which the owner's own family may
 * ask for. Of the list, count, candidates and IPV6 matter. It counts as one that names the list. LATE and no list: the
 * table is full.
 */
fl_row lists_row(struct lists *lists, uint16_t owner, const struct fl_list *former);

/* A row that names a list is no more. Once per lists_row(). */
void lists_drop(struct lists *lists, fl_row row);

/* To be called after a grace period that began when no reader could get at a retired list any more. */
void lists_reclaim(struct lists *lists);

/* A row without a list. */
static inline fl_row lists_row_plain(uint16_t owner)
{
	return owner;
}

static inline uint32_t lists_count(fl_row row)
{
	return (uint8_t)(row >> 16);
}

/* The header's byte of count and flags, without those of the packet. */
static inline uint8_t lists_flags(fl_row row)
{
	return (uint8_t)(row >> 24);
}

/* The first cell of a row's list. */
static inline const struct list_cell *lists_get(const struct list_cell *cells, fl_row row)
{
	return (const struct list_cell *)(const void *)((const uint64_t *)(const void *)cells + (row >> 32));
}

/* The first of the addresses, of which a row's flags say the family. */
static inline const uint8_t *lists_addresses(const struct list_cell *cells, fl_row row)
{
	const struct list_cell *cell = lists_get(cells, row);

	if (lists_flags(row) & FL_LIST_IPV6)
		return cell->bytes;
	return cell->bytes + sizeof(*cell) - lists_count(row) * LISTS_IPV4_LEN;
}

#endif
