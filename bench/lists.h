/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes that write the list header (fairlead/list.h) over IPv4, without a tag: a packet names its bucket's earlier owners,
 * up to six of them, newest first, instead of one with the time of its move. mux_lists measures them.
 *
 *	row 8	bits 0..15 present owner, 16..23 count, 24..31 the header's byte of count and flags, 32..63 list
 *	list 32	spare 8 | IPv4 address 4 as in headers x 6	immutable; two in a cache line; ends with the last one
 *
 * The whole list is stored in front of the inner packet, and then the header over what does not belong to it, so that
 * length makes no difference to either. The row says how many owners there are: that makes lengths arithmetic of rows,
 * and a packet without a list needs none. A bucket without earlier owners has list 0. SYNs carry none.
 *
 * When an owner is due to leave a list, the control thread stores rows with a shorter one. Should it be late, lanes leave
 * packets with lists to the general path from lists_until() on, which reads when each owner lost the bucket from a table
 * that packets otherwise do not need (struct list_past).
 */
#ifndef FAIRLEAD_BENCH_LISTS_H
#define FAIRLEAD_BENCH_LISTS_H

#include <stddef.h>

#include <fairlead/list.h>

#include "encap/gue.h"
#include "packet/burst.h"
#include "ring/ring.h"
#include "service/service.h"

struct lanes;

enum lists_numbers {
	LISTS_AT_VERSION = GUE_AT_GUE + FL_LIST_AT_VERSION,
	LISTS_AT_GENERATION = GUE_AT_GUE + FL_LIST_AT_GENERATION,
	LISTS_PLAIN_LEN = GUE_AT_GUE + FL_LIST_AT_CANDIDATES, /* of a header without addresses, Ethernet included */
	LISTS_ADDRESS_LEN = 4,
	LISTS_WINDOW = 240, /* for so many seconds after it lost a bucket an owner is listed */
};

_Static_assert((int)LISTS_AT_VERSION + 1 == (int)GUE_AT_GUE + (int)FL_LIST_AT_FLAGS, "left, then count, in fields");

struct list {
	uint32_t spare[2];
	uint32_t address[FL_LIST_MAX]; /* of fewer, the last ones */
} __attribute__((aligned(32)));

struct list_past {
	uint16_t id[FL_LIST_MAX];
	uint32_t since[FL_LIST_MAX];
};

/* Those of all services: one table, so that a row alone says where a list is. */
extern struct lists {
	const struct list *list; /* [0] is empty */
	const struct list_past *past;
	bool are_few; /* the nearer caches have them: to prefetch them costs more than to wait */
} lists;

enum { LIST_WORDS = sizeof(struct list) / 8 }; /* rows name lists by their words, as processors scale by 8 at most */

_Static_assert(sizeof(struct list) == 32, "two lists a cache line");

static inline fl_row lists_row(uint16_t current, uint32_t count, uint32_t list)
{
	return (fl_row)(list * LIST_WORDS) << 32 | (fl_row)count << 28 | (fl_row)count << 16 | current;
}

static inline uint8_t lists_count(fl_row row)
{
	return (uint8_t)(row >> 16);
}

/* Of the table's lists. */
static inline const struct list *lists_get(const struct list *list, fl_row row)
{
	return (const struct list *)((const uint64_t *)(const void *)list + (row >> 32));
}

/* The first of a list's addresses. */
static inline const uint32_t *list_begin(const struct list *list, uint32_t count)
{
	return list->address + FL_LIST_MAX - count;
}

/* Unix seconds: before then no list of this service has to be shortened. It takes the place of what version 1 needs. */
static inline uint32_t lists_until(const struct service *service)
{
	return __atomic_load_n(&service->moved_seconds, __ATOMIC_RELAXED);
}

/* The stages of burst.c and lanes_tail.c with this header. */
void lists_steer_by(struct burst *burst, enum burst_path path);
void lists_rows(struct burst *burst, uint32_t first, struct lanes *lanes);
uint32_t lists_encap(struct burst *burst, uint32_t first, struct lanes *lanes);

/* The general path: says what is right. */
void lists_encap_rest(struct burst *burst, uint32_t first, uint32_t end, uint32_t written);

/* How many packets the general path has written. */
extern uint64_t lists_written_alone;

/* Compares lanes with the general path in random worlds; ends the program at the first difference. */
void lists_check(uint64_t seed, uint32_t worlds);

/* Prints why and ends the program. */
__attribute__((noreturn)) void lists_die(const char *text);

#endif
