/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A delta or snapshot after decoding: checked against protocol/README.md section 5 (every refusal of enum
 * fl_delta_error has been excluded), in host byte order, owned by whoever decoded it. What consumes it (ring.h,
 * backend.h, service.h) relies on that and checks only what depends on its own state.
 */
#ifndef FAIRLEAD_MUX_DELTA_H
#define FAIRLEAD_MUX_DELTA_H

#include <fairlead/delta.h>

struct delta {
	bool snapshot;
	uint32_t service;
	uint32_t generation;
	uint32_t base;      /* generation - 1; 0 in a snapshot */
	uint32_t buckets;   /* a power of two, FL_BUCKETS_MIN .. FL_BUCKETS_MAX */
	uint32_t committed; /* Unix seconds: since of every bucket in runs */

	uint32_t backends_count;
	struct fl_delta_backend *backends; /* ascending ids, 1 .. FL_BACKEND_MAX */

	uint32_t runs_count; /* of a delta */
	struct fl_delta_run *runs;

	uint16_t *current; /* of a snapshot: columns of buckets entries each */
	uint16_t *previous;
	uint32_t *since;
};

#endif
