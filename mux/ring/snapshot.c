/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/snapshot.h"

#include <string.h>

#include "ring/backend_list.h"
#include "ring/fold.h"

static void put_backend(struct body_block *block, const struct fl_delta_backend *backend)
{
	body_put16(block, backend->id);
	body_put16(block, backend->flags);
	body_put16(block, backend->weight);
	memcpy(body_reserve(block, 16), backend->address.bytes, 16);
}

static uint32_t count_entries(const struct histories *histories)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < histories->count; i++)
		count += histories->list[i].count;
	return count;
}

static void put_histories(struct body_block *block, const struct histories *histories)
{
	body_put32(block, histories->count);
	body_put32(block, count_entries(histories));
	for (uint32_t i = 0; i < histories->count; i++)
		*body_reserve(block, 1) = (uint8_t)histories->list[i].count;
	for (uint32_t i = 0; i < histories->count; i++)
		for (uint32_t j = 0; j < histories->list[i].count; j++)
			body_put16(block, histories->list[i].owner[j]);
	for (uint32_t i = 0; i < histories->count; i++)
		for (uint32_t j = 0; j < histories->list[i].count; j++)
			body_put32(block, histories->list[i].since[j]);
}

static void walk(const void *subject, struct body_block *block)
{
	const struct delta *snapshot = subject;
	const struct image *image = &snapshot->image;

	body_put32(block, image->committed);
	body_put32(block, image->closed_until);
	body_put64(block, image->sum + backend_list_sum(snapshot->backends, snapshot->backends_count));
	body_put32(block, snapshot->backends_count);
	for (uint32_t i = 0; i < snapshot->backends_count; i++)
		put_backend(block, &snapshot->backends[i]);
	for (uint32_t i = 0; i < image->buckets; i++)
		body_put16(block, image->current[i]);
	put_histories(block, &image->histories);
	for (uint32_t i = 0; i < image->buckets; i++)
		body_put32(block, image->history[i]);
}

int snapshot_write(struct delta *snapshot, body_sink sink, void *context)
{
	struct body_source source = {
	    .magic = "FLS3",
	    .service = snapshot->service,
	    .generation = snapshot->generation,
	    .buckets = snapshot->buckets,
	    .walk = walk,
	    .subject = snapshot,
	};
	int error = image_compact(&snapshot->image);

	if (error)
		return error;
	delta_prune(snapshot);
	source.len = SNAPSHOT_BODY_MIN + (uint64_t)snapshot->backends_count * FL_DELTA_BACKEND_LEN +
		     (uint64_t)snapshot->buckets * SNAPSHOT_BUCKET_MIN;
	source.len += snapshot->image.histories.count + 6 * (uint64_t)count_entries(&snapshot->image.histories);
	return body_write(&source, sink, context);
}
