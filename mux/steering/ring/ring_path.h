/* SPDX-License-Identifier: Apache-2.0 */
/* Steering `ring` in the general path (methods/inline.h): the bucket of the hash's low half, and no other. */
#ifndef FAIRLEAD_MUX_RING_PATH_H
#define FAIRLEAD_MUX_RING_PATH_H

#include "flow/rows.h"
#include "flow/burst.h"

static inline void ring_path_fetch(struct burst *burst, uint32_t i)
{
	const struct packet *packet = &burst->packets[i];

	rte_prefetch0(&packet->ring->rows[packet->bucket]);
}

static inline void ring_path_rows(struct burst *burst, uint32_t i)
{
	rows_read(&burst->packets[i]);
}

static const struct path_method ring_path = {.fetch = ring_path_fetch, .rows = ring_path_rows};

#endif
