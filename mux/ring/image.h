/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a generation says of a ring's buckets: who owns each, and who owned it before (protocol/README.md section 5).
 * The rows that the packet path reads are made from it (ring.h). Only the control thread uses it; copies are free.
 *
 * Memory: 6 bytes a bucket and 48 for each distinct history.
 */
#ifndef FAIRLEAD_MUX_IMAGE_H
#define FAIRLEAD_MUX_IMAGE_H

#include "ring/histories.h"

/* All zero: there is none. */
struct image {
	uint32_t buckets;
	uint32_t committed;    /* when the generation was, in Unix seconds */
	uint32_t closed_until; /* windows that were over by then are closed; 0: a hold, none is by time */
	uint64_t sum;          /* of the buckets: the image's is this and backend_list_sum() */
	uint16_t *current;
	uint32_t *history; /* numbers in histories */
	struct histories histories;
	uint32_t kept; /* histories when those without a bucket were last dropped */
};

/* No bucket has an owner. False: no memory. */
bool image_init(struct image *image, uint32_t buckets);
bool image_copy(struct image *out, const struct image *from);
void image_clear(struct image *image);

/* Changes one bucket, and the sum. */
void image_put(struct image *image, uint32_t bucket, uint16_t current, uint32_t history);
/* Sums all buckets up. */
void image_sum_up(struct image *image);

/*
 * Drops histories without a bucket, and numbers the others by first appearance in ascending order of buckets, as a
 * snapshot does. Walks all buckets. -ENOMEM: nothing has changed.
 */
int image_compact(struct image *image);
/* The same if so many have no bucket that it pays. */
void image_compact_at_times(struct image *image);

/* Sets the bit of each id that a bucket's history names. */
void image_note_named(const struct image *image, uint64_t named[(FL_BACKEND_MAX + 1) / 64]);

/* Adds how many buckets each id owns to counts[FL_BACKEND_MAX + 1]. */
void image_count(const struct image *image, uint32_t *counts);

/* Whether former owners stay until they are released, however long ago they lost the bucket. */
static inline bool image_is_held(const struct image *image)
{
	return !image->closed_until;
}

#endif
