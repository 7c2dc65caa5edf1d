/* SPDX-License-Identifier: Apache-2.0 */
/* Data too long for one ZooKeeper node: chunks below a node, read as one string of bytes. */
#ifndef FAIRLEAD_MUX_CHUNKS_H
#define FAIRLEAD_MUX_CHUNKS_H

#include "tree/tree.h"

enum chunks_limits {
	CHUNKS_MAX = 10000, /* names of four digits */
	CHUNKS_IN_FLIGHT = 16,
};

/*
 * Reads the children 0000, 0001, ... of path. fn runs once, with the bytes or with the first failure: TREE_MISSING if a
 * chunk is missing, TREE_MISNAMED if a child has another name, TREE_TOO_LONG if there are more than max_len bytes.
 */
void chunks_read(struct tree *tree, const char *path, size_t max_len, tree_fn fn, void *context);

#endif
