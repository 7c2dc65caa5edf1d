/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A delta or snapshot after decoding: checked against protocol/README.md section 5 (none of enum fl_delta_error
 * applies), in host byte order, owned by the caller that decoded it. Its consumers (ring.h, backend.h, service.h) rely
 * on that and check only what depends on their own state.
 */
#ifndef FAIRLEAD_MUX_DELTA_H
#define FAIRLEAD_MUX_DELTA_H

#include <fairlead/delta.h>
#include <fairlead/hash.h>

#include "config/reason.h"
#include "ring/image.h"

enum delta_limits {
	DELTA_BACKENDS_LEN_MAX = FL_BACKEND_MAX * FL_DELTA_BACKEND_LEN,
	DELTA_BODY_MIN = 32,
	SNAPSHOT_BODY_MIN = 28, /* and SNAPSHOT_BUCKET_MIN for each bucket */
	SNAPSHOT_BUCKET_MIN = 6,
	DELTA_BYTES_MAX = FL_DELTA_HEADER_LEN + DELTA_BODY_MIN + DELTA_BACKENDS_LEN_MAX +
			  FL_BUCKETS_MAX * (SNAPSHOT_BUCKET_MIN + HISTORY_LEN_MAX) +
			  FL_BUCKETS_MAX / 4, /* of the largest body that zstd can't compress; it adds less than 1 % */
};

/* Of a snapshot, the rows are its image's. One with deltas folded into it is a snapshot of the last one's generation. */
struct delta {
	bool snapshot;
	uint32_t service;
	uint32_t generation;
	uint32_t base;    /* generation - 1; 0 in a snapshot */
	uint32_t buckets; /* a power of two, FL_BUCKETS_MIN .. FL_BUCKETS_MAX */

	uint32_t backends_count;
	struct fl_delta_backend *backends; /* by ascending id, 1 .. FL_BACKEND_MAX */

	struct image image; /* of a snapshot */

	uint32_t committed;        /* Unix seconds; from here on of a delta: a snapshot's is its image's */
	uint32_t closed_until;     /* entries since then or before are closed; 0: none is */
	uint64_t base_sum;         /* of the image that it applies to */
	enum fl_delta_order order; /* what the runs' starts count */
	uint32_t runs_count;
	struct fl_delta_run *runs; /* moves */
	uint32_t releases_count;
	struct fl_delta_release *releases;
};

/*
 * What the reader expects. A delta is checked against the base that it is going to be applied to: its backends, by
 * ascending id, its image, and the sum of both.
 */
struct delta_expected {
	bool snapshot;
	uint32_t service;
	uint32_t generation;
	uint32_t buckets;
	uint32_t backends_count;
	const struct fl_delta_backend *backends;
	const struct image *image;
	uint64_t sum;
};

void delta_free(struct delta *delta);

/* The error's name in protocol/README.md. */
const char *delta_error_name(enum fl_delta_error error);

/* Drops removed backends that no history names any more, as a snapshot of this generation does. */
void delta_prune(struct delta *image);

/* What the reader of an image's next delta expects: all but the generation. */
struct delta_expected delta_expected_by(const struct delta *image);

#endif
