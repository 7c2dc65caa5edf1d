/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a ring as a snapshot (protocol/README.md section 5), block by block: the largest takes no second copy. */
#ifndef FAIRLEAD_MUX_SNAPSHOT_H
#define FAIRLEAD_MUX_SNAPSHOT_H

#include "ring/body_write.h"
#include "ring/delta.h"

/*
 * 0, -ENOMEM, or the sink's error. The delta is a snapshot; it is pruned, and its histories become numbered as in one, so
 * equal images become equal bytes.
 */
int snapshot_write(struct delta *snapshot, body_sink sink, void *context);

#endif
