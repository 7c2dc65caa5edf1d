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
#include <fairlead/ring.h>

#include "config/reason.h"

enum delta_limits {
	DELTA_BACKENDS_LEN_MAX = FL_BACKEND_MAX * FL_DELTA_BACKEND_LEN,
	DELTA_BODY_MIN = 16,
	DELTA_BYTES_MAX = FL_DELTA_HEADER_LEN + DELTA_BODY_MIN + DELTA_BACKENDS_LEN_MAX +
			  FL_BUCKETS_MAX * FL_DELTA_OWNER_RUN_LEN +
			  FL_BUCKETS_MAX / 4, /* of the largest body that zstd can't compress; it adds less than 1 % */
};

/* Also an image: a snapshot with deltas folded into it is a snapshot of the last delta's generation. */
struct delta {
	bool snapshot;
	uint32_t service;
	uint32_t generation;
	uint32_t base;      /* generation - 1; 0 in a snapshot */
	uint32_t buckets;   /* a power of two, FL_BUCKETS_MIN .. FL_BUCKETS_MAX */
	uint32_t committed; /* Unix seconds: since of every bucket in runs */

	uint32_t backends_count;
	struct fl_delta_backend *backends; /* by ascending id, 1 .. FL_BACKEND_MAX */

	enum fl_delta_order order; /* of a delta: what the runs' starts count */
	uint32_t runs_count;
	struct fl_delta_run *runs;

	uint16_t *current; /* of a snapshot: columns of buckets entries each */
	uint16_t *previous;
	uint32_t *since;
};

/* Adds how many buckets each id owns to counts[FL_BACKEND_MAX + 1]. */
typedef void (*delta_count_fn)(const void *context, uint32_t *counts);

/*
 * What the reader expects. A delta is checked against its base's backends, by ascending id, and if its runs are by
 * owner, against the number of buckets that each owns there: only then is count called, with base.
 */
struct delta_expected {
	bool snapshot;
	uint32_t service;
	uint32_t generation;
	uint32_t buckets;
	uint32_t backends_count;
	const struct fl_delta_backend *backends;
	delta_count_fn count;
	const void *base;
};

/*
 * Decodes len bytes. FL_DELTA_OK: *out is filled; free it with delta_free(). Otherwise says why. Memory is bounded by
 * the expected number of buckets, regardless of what the bytes claim.
 */
enum fl_delta_error delta_decode(const uint8_t *data, size_t len, const struct delta_expected *expected,
				 struct delta *out, struct reason *why);
void delta_free(struct delta *delta);

/* The error's name in protocol/README.md. */
const char *delta_error_name(enum fl_delta_error error);

#endif
