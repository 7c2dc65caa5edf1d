/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client (tree/tree.h) without ZooKeeper, for unit tests: requests wait here until the test answers them, and the
 * test sets the time and the random numbers.
 */
#ifndef FAIRLEAD_MUX_TESTS_FAKE_TREE_H
#define FAIRLEAD_MUX_TESTS_FAKE_TREE_H

#include "tree/tree.h"

enum fake_kind { FAKE_GET, FAKE_EXISTS, FAKE_CHILDREN, FAKE_SET, FAKE_CREATE };

struct fake_request {
	enum fake_kind kind;
	bool watch;
	char *path;
	tree_fn fn;
	void *context;
};

/* Empty, at millisecond 0; fake_tree_free() ends it. */
struct tree *fake_tree_new(void);

/* Requests that still wait are answered with TREE_FAILED first. */
void fake_tree_free(struct tree *tree);

void fake_tree_set_now(struct tree *tree, uint64_t now_ms);

/* The number of waiting requests, and one of them by its index, oldest first. */
size_t fake_tree_count(const struct tree *tree);
const struct fake_request *fake_tree_at(const struct tree *tree, size_t i);

/* Answers the request with that index. */
void fake_tree_answer(struct tree *tree, size_t i, const struct tree_reply *reply);

#endif
