/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/fold.h"

#include <errno.h>
#include <stdlib.h>

#include "ring/backend_list.h"
#include "ring/owners.h"

static void fold_bucket(struct delta *image, uint32_t bucket, fl_row row)
{
	image->current[bucket] = fl_row_current(row);
	image->previous[bucket] = fl_row_previous(row);
	image->since[bucket] = fl_row_since(row);
}

int delta_fold(struct delta *image, const struct delta *delta)
{
	size_t most = (size_t)image->backends_count + delta->backends_count;
	struct fl_delta_backend *backends = malloc((most + !most) * sizeof(*backends));
	struct owners *owners = delta->order == FL_DELTA_BY_OWNER ? owners_new(delta) : NULL;
	fl_row row;

	if (!backends || (delta->order == FL_DELTA_BY_OWNER && !owners)) {
		free(backends);
		owners_free(owners);
		return -ENOMEM;
	}
	image->backends_count = backend_list_merge(image->backends, image->backends_count, delta->backends,
						   delta->backends_count, backends);
	free(image->backends);
	image->backends = backends;
	for (uint32_t bucket = 0; owners && bucket < image->buckets; bucket++)
		if (owners_next(owners, image->current[bucket], delta->committed, &row))
			fold_bucket(image, bucket, row);
	for (uint32_t i = 0; !owners && i < delta->runs_count; i++) {
		const struct fl_delta_run *run = &delta->runs[i];

		row = fl_row_make(run->current, run->previous, delta->committed);
		for (uint32_t bucket = run->start; bucket - run->start < run->count; bucket++)
			fold_bucket(image, bucket, row);
	}
	owners_free(owners);
	image->generation = delta->generation;
	image->committed = delta->committed;
	return 0;
}

void delta_count(const void *image, uint32_t *counts)
{
	const struct delta *delta = image;

	for (uint32_t i = 0; i < delta->buckets; i++)
		counts[delta->current[i]]++;
}

void delta_prune(struct delta *image)
{
	uint64_t named[(FL_BACKEND_MAX + 1) / 64] = {0};
	uint32_t kept = 0;

	for (uint32_t i = 0; i < image->buckets; i++) {
		named[image->current[i] / 64] |= 1ULL << image->current[i] % 64;
		named[image->previous[i] / 64] |= 1ULL << image->previous[i] % 64;
	}
	for (uint32_t i = 0; i < image->backends_count; i++) {
		const struct fl_delta_backend *b = &image->backends[i];

		if (!(b->flags & FL_BACKEND_REMOVED) || named[b->id / 64] >> b->id % 64 & 1)
			image->backends[kept++] = *b;
	}
	image->backends_count = kept;
}
