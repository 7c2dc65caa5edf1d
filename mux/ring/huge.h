/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory in transparent huge pages for services, rings and tables of backends, which packets read at random: with small
 * pages of 4 KB each such read misses the TLB as well as the caches (a thousand services: 60 ns a packet instead of 45).
 *
 *	up to SMALL_MAX		from chunks of one huge page, each of objects of one size; an empty chunk is given back
 *	larger			huge pages of its own
 *
 * An object takes an odd number of cache lines: were it a power of two of them, the first lines of all objects would
 * share the same sets of the caches. Any thread may call these.
 */
#ifndef FAIRLEAD_MUX_HUGE_H
#define FAIRLEAD_MUX_HUGE_H

#include <stddef.h>

enum { HUGE_PAGE = 2 * 1024 * 1024 };

/* Zeroed, aligned to cache lines. NULL: no memory. */
void *huge_alloc(size_t bytes);

/* What huge_alloc(bytes) returned, or NULL. */
void huge_free(void *memory, size_t bytes);

/* Bytes that were asked for and not given back. */
size_t huge_bytes(void);

#endif
