/* SPDX-License-Identifier: Apache-2.0 */
/* Folds deltas into an image (a decoded snapshot): for a ring that is built aside, and for tests. */
#ifndef FAIRLEAD_MUX_FOLD_H
#define FAIRLEAD_MUX_FOLD_H

#include "ring/delta.h"

/* image + delta = image, which then has the delta's generation. -ENOMEM: it is unchanged. */
int delta_fold(struct delta *image, const struct delta *delta);

/* A delta_count_fn for an image. */
void delta_count(const void *image, uint32_t *counts);

/* Drops removed backends that no bucket names any more, as a snapshot of this generation does. */
void delta_prune(struct delta *image);

#endif
