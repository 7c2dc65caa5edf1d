/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/backend_list.h"

const struct fl_delta_backend *backend_list_find(const struct fl_delta_backend *list, uint32_t count, uint16_t id)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (list[middle].id == id)
			return &list[middle];
		if (list[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
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
