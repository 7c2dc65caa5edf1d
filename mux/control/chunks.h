/* SPDX-License-Identifier: Apache-2.0 */
/* Data too long for one ZooKeeper node: chunks below a node, read as one string of bytes. */
#ifndef MUX_CHUNKS_H
#define MUX_CHUNKS_H

#include "control/zookeeper.h"

enum chunks_limits {
	CHUNKS_MAX = 10000, /* names of four digits */
	CHUNKS_IN_FLIGHT = 16,
};

/*
 * Reads the children 0000, 0001, ... of path. fn runs once, with the bytes or with an error: the code of the first
 * request that failed, ZNONODE if a chunk is missing, ZBADARGUMENTS if a child has another name, ZMARSHALLINGERROR if
 * there are more than max_len bytes.
 */
void chunks_read(struct zk_client *zk, const char *path, size_t max_len, zk_fn fn, void *context);

#endif
