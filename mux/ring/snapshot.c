/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/snapshot.h"

#include <string.h>

enum { BODY_HEAD_LEN = 8 };

static void put_backend(struct body_block *block, const struct fl_delta_backend *backend)
{
	body_put16(block, backend->id);
	body_put16(block, backend->flags);
	body_put16(block, backend->weight);
	memcpy(body_reserve(block, 16), backend->address.bytes, 16);
}

static uint32_t last_move(const struct snapshot *snapshot)
{
	uint32_t last = 0;

	for (uint32_t i = 0; i < snapshot->buckets; i++)
		if (fl_row_since(snapshot->rows[i]) > last)
			last = fl_row_since(snapshot->rows[i]);
	return last;
}

static void walk(const void *subject, struct body_block *block)
{
	const struct snapshot *snapshot = subject;

	body_put32(block, last_move(snapshot));
	body_put32(block, snapshot->backends_count);
	for (uint32_t i = 0; i < snapshot->backends_count; i++)
		put_backend(block, &snapshot->backends[i]);
	for (uint32_t i = 0; i < snapshot->buckets; i++)
		body_put16(block, fl_row_current(snapshot->rows[i]));
	for (uint32_t i = 0; i < snapshot->buckets; i++)
		body_put16(block, fl_row_previous(snapshot->rows[i]));
	for (uint32_t i = 0; i < snapshot->buckets; i++)
		body_put32(block, fl_row_since(snapshot->rows[i]));
}

int snapshot_write(const struct snapshot *snapshot, body_sink sink, void *context)
{
	const struct body_source source = {
	    .magic = "FLS2",
	    .service = snapshot->service,
	    .generation = snapshot->generation,
	    .buckets = snapshot->buckets,
	    .len = BODY_HEAD_LEN + (uint64_t)snapshot->backends_count * FL_DELTA_BACKEND_LEN +
		   (uint64_t)snapshot->buckets * 8,
	    .walk = walk,
	    .subject = snapshot,
	};

	return body_write(&source, sink, context);
}
