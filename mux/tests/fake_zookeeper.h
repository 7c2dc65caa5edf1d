/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client (zookeeper.h) without ZooKeeper, for unit tests: requests wait here until the test answers them, and the
 * test sets the time and the random numbers.
 */
#ifndef FAIRLEAD_MUX_TESTS_FAKE_ZOOKEEPER_H
#define FAIRLEAD_MUX_TESTS_FAKE_ZOOKEEPER_H

#include "control/zookeeper.h"

enum fake_kind { FAKE_GET, FAKE_EXISTS, FAKE_CHILDREN, FAKE_SET, FAKE_CREATE };

struct fake_request {
	enum fake_kind kind;
	bool watch;
	char *path;
	zk_fn fn;
	void *context;
};

/* Empty, at millisecond 0; fake_zk_free() ends it. */
struct zk_client *fake_zk_new(void);

/* Requests that still wait are answered with ZCLOSING first. */
void fake_zk_free(struct zk_client *zk);

void fake_zk_set_now(struct zk_client *zk, uint64_t now_ms);

/* The number of waiting requests, and one of them by its index, oldest first. */
size_t fake_zk_count(const struct zk_client *zk);
const struct fake_request *fake_zk_at(const struct zk_client *zk, size_t i);

/* Answers the request with that index. */
void fake_zk_answer(struct zk_client *zk, size_t i, const struct zk_reply *reply);

#endif
