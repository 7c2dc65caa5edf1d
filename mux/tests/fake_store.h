/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store (store.h) without ZooKeeper, for one noun's test: requests wait here until the test answers them, and time
 * and chance are the test's.
 */
#ifndef FAIRLEAD_MUX_TESTS_FAKE_STORE_H
#define FAIRLEAD_MUX_TESTS_FAKE_STORE_H

#include "control/store.h"

enum fake_kind { FAKE_GET, FAKE_EXISTS, FAKE_CHILDREN };

struct fake_request {
	enum fake_kind kind;
	bool watch;
	char *path;
	store_fn fn;
	void *context;
};

/* Empty, at millisecond 0; fake_store_free() ends it. */
struct store *fake_store_new(void);

/* What still waits is answered with ZCLOSING first. */
void fake_store_free(struct store *store);

void fake_store_set_now(struct store *store, uint64_t now_ms);

/* How many wait, and one of them by its place in the order of asking. */
size_t fake_store_count(const struct store *store);
const struct fake_request *fake_store_at(const struct store *store, size_t i);

/* Answers the one at that place. */
void fake_store_answer(struct store *store, size_t i, const struct store_reply *reply);

#endif
