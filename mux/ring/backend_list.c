/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/backend_list.h"

#include <stdlib.h>

static int compare(const void *id, const void *backend)
{
	return (int)*(const uint16_t *)id - (int)((const struct fl_delta_backend *)backend)->id;
}

const struct fl_delta_backend *backend_list_find(const struct fl_delta_backend *list, uint32_t count, uint16_t id)
{
	return count ? bsearch(&id, list, count, sizeof(*list), compare) : NULL;
}

uint32_t backend_list_merge(const struct fl_delta_backend *a, uint32_t a_count, const struct fl_delta_backend *b,
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

uint64_t backend_list_sum(const struct fl_delta_backend *list, uint32_t count)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i++)
		if (!(list[i].flags & FL_BACKEND_REMOVED))
			sum += fl_sum_backend(&list[i]);
	return sum;
}
