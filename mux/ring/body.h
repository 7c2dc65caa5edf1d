/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body of a delta, a snapshot or arrays: what a header and one zstd frame hold together. All kinds have these
 * checks in common, 1 to 8 of protocol/README.md section 5.
 */
#ifndef FAIRLEAD_MUX_BODY_H
#define FAIRLEAD_MUX_BODY_H

#include <fairlead/delta.h>

#include "config/reason.h"

struct body_expected {
	const char *magic; /* 4 characters */
	uint32_t service;
	uint32_t generation;
	uint32_t base;
	uint32_t buckets;
	uint32_t buckets_max; /* of this kind; a power of two */
	uint64_t len_min;     /* of the body; the largest is safe to allocate */
	uint64_t len_max;
};

struct body {
	uint8_t *data; /* on the heap, the caller's to free */
	uint64_t len;
};

/* Checks len bytes and unpacks their body. Otherwise says why, and leaves *out as it is. */
enum fl_delta_error body_open(const uint8_t *data, size_t len, const struct body_expected *expected, struct body *out,
			      struct reason *why);

#endif
