/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which parts of a register array are in use: the control thread gives out regions, first fit. A few thousand at most,
 * and each lives for as long as a ring, so a list by ascending base will do.
 */
#ifndef FAIRLEAD_P4_REGIONS_H
#define FAIRLEAD_P4_REGIONS_H

#include <stdbool.h>
#include <stdint.h>

struct region {
	uint32_t base;
	uint32_t size; /* 0: none */
};

struct regions {
	uint32_t size; /* of the array */
	uint32_t count;
	uint32_t room; /* of list */
	struct region *list;
};

void regions_init(struct regions *regions, uint32_t size);
void regions_clear(struct regions *regions);

/* The largest part that is free. */
uint32_t regions_largest(const struct regions *regions);

/* False: no part is that large, or no memory. */
bool regions_take(struct regions *regions, uint32_t size, struct region *out);

/* Its size is then 0; nothing if it was already. */
void regions_give(struct regions *regions, struct region *region);

#endif
