/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settled generations, by service id (protocol/README.md section 4): controllers act on it that no mux opens connections
 * by an older ring, so a mux that has one announces nothing of the service. They come from ZooKeeper, or without it from
 * muxes that are ahead, and outlast the process on disk.
 *
 * On disk, 8 bytes for each service, little-endian: id u32 | generation u32.
 */
#ifndef FAIRLEAD_MUX_SETTLED_H
#define FAIRLEAD_MUX_SETTLED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/reason.h"

struct settled_entry {
	uint16_t service;
	uint32_t generation;
};

/* By ascending id. All zero: none. */
struct settled {
	struct settled_entry *list; /* malloc'ed */
	unsigned count;
};

/* The node's JSON. -EINVAL and why if it is malformed, -ENOMEM; otherwise 0 and a table to be cleared. */
int settled_parse(const char *json, size_t len, struct settled *out, struct reason *why);
/* The same of what is on disk. */
int settled_load(const uint8_t *data, size_t len, struct settled *out, struct reason *why);
/* As it is on disk, to be freed. NULL: no memory. */
uint8_t *settled_store(const struct settled *settled, size_t *len);

/* Replaces what is in `to`; false: no memory, and nothing has changed. */
bool settled_copy(struct settled *to, const struct settled *from);
/* Sets that of one service, 0: it has none; false: no memory, and nothing has changed. */
bool settled_set(struct settled *settled, uint16_t service, uint32_t generation);
void settled_clear(struct settled *settled);
bool settled_equal(const struct settled *a, const struct settled *b);
/* Of one service; 0: none. */
uint32_t settled_find(const struct settled *settled, uint16_t service);

#endif
