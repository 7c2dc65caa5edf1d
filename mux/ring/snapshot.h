/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a ring as a snapshot (protocol/README.md section 5), block by block: the largest takes no second copy. */
#ifndef FAIRLEAD_MUX_SNAPSHOT_H
#define FAIRLEAD_MUX_SNAPSHOT_H

#include <stddef.h>

#include <fairlead/delta.h>
#include <fairlead/ring.h>

#include "ring/body_write.h"

/* What a snapshot says; removed backends that no bucket names may be among the backends. */
struct snapshot {
	uint32_t service;
	uint32_t generation;
	uint32_t buckets;
	const fl_row *rows;
	uint32_t backends_count;
	const struct fl_delta_backend *backends; /* by ascending id */
};

/* 0, -ENOMEM, or the sink's error. Its time of the last commit is that of the last bucket's move. */
int snapshot_write(const struct snapshot *snapshot, body_sink sink, void *context);

#endif
