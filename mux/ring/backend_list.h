/* SPDX-License-Identifier: Apache-2.0 */
/* Backends by ascending id, as deltas and snapshots list them. */
#ifndef FAIRLEAD_MUX_BACKEND_LIST_H
#define FAIRLEAD_MUX_BACKEND_LIST_H

#include <fairlead/delta.h>

/* The entry of an id in a list by ascending id; NULL if there is none. */
const struct fl_delta_backend *backend_list_find(const struct fl_delta_backend *list, uint32_t count, uint16_t id);

/* Merges two lists by ascending id into out, which has room for both; b wins. Returns the number of entries. */
uint32_t backend_list_merge(const struct fl_delta_backend *a, uint32_t a_count, const struct fl_delta_backend *b,
			    uint32_t b_count, struct fl_delta_backend *out);

/* Their part of an image's sum. */
uint64_t backend_list_sum(const struct fl_delta_backend *list, uint32_t count);

#endif
