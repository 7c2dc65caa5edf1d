/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hashes a burst's IPv4 connections together (hash.h hashes them one by one, and IPv6).
 *
 * SipHash is a chain of some 50 operations, each of which waits for the one before: a single flow leaves most of a core
 * idle. So up to eight flows go through the rounds side by side, each in a 64-bit lane of its own and with its own hash
 * key, since each may belong to another service. Fewer than eight cost as much as eight.
 *
 *	AVX-512		8 lanes a register, rotations are one instruction	7 cycles a flow (AMD Zen 4)
 *	AVX2		2 registers of 4 lanes					13
 *	else		one by one						26
 *
 * CRC-32 is computed one flow at a time: a key takes four carry-less multiplications, and the CPU overlaps those of
 * several flows by itself (9 cycles a flow; 87 without that instruction). CPU features are detected once
 * (flow_hash_ways).
 */
#ifndef FAIRLEAD_MUX_FLOW_HASH_BATCH_H
#define FAIRLEAD_MUX_FLOW_HASH_BATCH_H

#include "flow/hash.h"

#ifdef __x86_64__
#define FLOW_HASH_X86 /* otherwise only the scalar ways */
#endif

enum { FLOW_HASH_BATCH_MAX = 8 };

struct flow_hash_batch {
	uint64_t k0[FLOW_HASH_BATCH_MAX] __attribute__((aligned(64)));
	uint64_t k1[FLOW_HASH_BATCH_MAX] __attribute__((aligned(64)));
	uint64_t low[FLOW_HASH_BATCH_MAX] __attribute__((aligned(64)));  /* the key's first 8 bytes, as loaded */
	uint64_t high[FLOW_HASH_BATCH_MAX] __attribute__((aligned(64))); /* the rest; length in its last byte */
	uint64_t hash[FLOW_HASH_BATCH_MAX] __attribute__((aligned(64))); /* out */
	uint32_t count;
};

/* Computes hash[0 .. count). */
typedef void flow_hash_batch_fn(struct flow_hash_batch *batch);

/* One way to compute a hash. */
struct flow_hash_way {
	const char *name;
	enum fl_hash_kind hash;
	flow_hash_batch_fn *run;
	bool (*has_cpu)(void); /* whether this machine supports it */
};

#ifdef FLOW_HASH_X86
enum { FLOW_HASH_WAYS = 5 };
#else
enum { FLOW_HASH_WAYS = 2 };
#endif

/* All ways; for each hash, the fastest first. */
extern const struct flow_hash_way flow_hash_ways[FLOW_HASH_WAYS];

/* The fastest of flow_hash_ways that this machine supports; set before main(). */
extern flow_hash_batch_fn *flow_hash_batch_siphash;
extern flow_hash_batch_fn *flow_hash_batch_crc32;

/* Adds a connection's key in the packet path's layout (hash.h). */
static inline void flow_hash_batch_add(struct flow_hash_batch *batch, const struct service *service,
				       const uint64_t key[2])
{
	uint32_t i = batch->count++;
	bool whole = service->affinity == AFFINITY_CONNECTION;

	batch->k0[i] = service->key.k0;
	batch->k1[i] = service->key.k1;
	batch->low[i] = key[0];
	batch->high[i] = whole ? key[1] | (uint64_t)FL_KEY_IPV4_LEN << 56 : (uint64_t)8 << 56;
}

#endif
