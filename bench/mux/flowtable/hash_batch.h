/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SipHash of a group's IPv4 connections, side by side, so that a table of flows is not behind lanes in this: each in a
 * 64-bit lane, with its own key (flow/hash.h hashes them one by one). By AVX-512 or AVX2 if the processor has them.
 */
#ifndef FAIRLEAD_BENCH_HASH_BATCH_H
#define FAIRLEAD_BENCH_HASH_BATCH_H

#include "flow/hash.h"

enum { HASH_BATCH_MAX = 8 };

struct hash_batch {
	uint64_t k0[HASH_BATCH_MAX] __attribute__((aligned(64)));
	uint64_t k1[HASH_BATCH_MAX] __attribute__((aligned(64)));
	uint64_t low[HASH_BATCH_MAX] __attribute__((aligned(64)));  /* the key's first 8 bytes, as loaded */
	uint64_t high[HASH_BATCH_MAX] __attribute__((aligned(64))); /* the rest; length in its last byte */
	uint64_t hash[HASH_BATCH_MAX] __attribute__((aligned(64))); /* out */
	uint32_t count;
};

/* Computes hash[0 .. count). */
void hash_batch_run(struct hash_batch *batch);

/* Adds a connection's key in the packet path's layout (flow/hash.h), of a service with SipHash. */
static inline void hash_batch_add(struct hash_batch *batch, const struct service *service, const uint64_t key[2])
{
	uint32_t i = batch->count++;
	bool whole = service->affinity == AFFINITY_CONNECTION;

	batch->k0[i] = service->key.k0;
	batch->k1[i] = service->key.k1;
	batch->low[i] = key[0];
	batch->high[i] = whole ? key[1] | (uint64_t)FL_KEY_IPV4_LEN << 56 : (uint64_t)8 << 56;
}

#endif
