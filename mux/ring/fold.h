/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folds a delta into an image (protocol/README.md section 5): entries close, owners are released, buckets move, and dead
 * backends leave all histories. The work is in proportion to the buckets that the delta names or whose history loses an
 * entry. If one does, the numbers of all histories are read, too. If the delta is by owner, or has a dead backend, all
 * buckets are walked.
 */
#ifndef FAIRLEAD_MUX_FOLD_H
#define FAIRLEAD_MUX_FOLD_H

#include "ring/delta.h"

/* A bucket that a delta changes, and what it becomes. */
struct fold_change {
	uint32_t bucket;
	uint32_t history;
	uint16_t current;
};

struct fold {
	uint32_t count, room;
	struct fold_change *list; /* by ascending bucket */
	bool closes;              /* it may have closed an entry */
};

/* The last checks of a decoded delta: FL_DELTA_RUN and why, or FL_DELTA_OK. */
enum fl_delta_error fold_check(const struct image *image, const struct delta *delta, struct reason *why);

/*
 * What the delta changes of the image, to which it adds the histories that it makes. -ENOMEM, -EINVAL (a history is too
 * long, which fold_check() finds): the buckets are as before in any case. fold_end() ends it.
 */
int fold_start(struct fold *fold, struct image *image, const struct delta *delta);
/* Changes the image. */
void fold_commit(const struct fold *fold, struct image *image, const struct delta *delta);
void fold_end(struct fold *fold);

/* For an image aside: image + delta = image, which then has the delta's generation. Errors of fold_start(). */
int delta_fold(struct delta *image, const struct delta *delta);

#endif
