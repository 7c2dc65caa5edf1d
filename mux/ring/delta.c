/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/delta.h"

#include <stdlib.h>

#include "ring/backend_list.h"

static const char *const names[FL_DELTA_ERRORS] = {
    [FL_DELTA_OK] = "ok",
    [FL_DELTA_TRUNCATED] = "truncated",
    [FL_DELTA_MAGIC] = "magic",
    [FL_DELTA_SERVICE] = "service",
    [FL_DELTA_GENERATION] = "generation",
    [FL_DELTA_BUCKETS] = "buckets",
    [FL_DELTA_LENGTH] = "length",
    [FL_DELTA_COMPRESSION] = "compression",
    [FL_DELTA_CHECKSUM] = "checksum",
    [FL_DELTA_BASE] = "base",
    [FL_DELTA_BACKEND] = "backend",
    [FL_DELTA_RUN] = "run",
    [FL_DELTA_SEED] = "seed",
    [FL_DELTA_SIZE] = "size",
    [FL_DELTA_WORD] = "word",
    [FL_DELTA_PADDING] = "padding",
};

const char *delta_error_name(enum fl_delta_error error)
{
	return names[error];
}

void delta_free(struct delta *delta)
{
	free(delta->backends);
	free(delta->runs);
	free(delta->releases);
	image_clear(&delta->image);
	*delta = (struct delta){0};
}

void delta_prune(struct delta *image)
{
	uint64_t named[(FL_BACKEND_MAX + 1) / 64] = {0};
	uint32_t kept = 0;

	image_note_named(&image->image, named);
	for (uint32_t i = 0; i < image->backends_count; i++) {
		const struct fl_delta_backend *b = &image->backends[i];

		if (!(b->flags & FL_BACKEND_REMOVED) || named[b->id / 64] >> b->id % 64 & 1)
			image->backends[kept++] = *b;
	}
	image->backends_count = kept;
}

struct delta_expected delta_expected_by(const struct delta *image)
{
	return (struct delta_expected){
	    .service = image->service,
	    .buckets = image->buckets,
	    .backends = image->backends,
	    .backends_count = image->backends_count,
	    .image = &image->image,
	    .sum = image->image.sum + backend_list_sum(image->backends, image->backends_count),
	};
}
