/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flow hashes of a burst's IPv4 connections at once (hash.h has the same one by one, and IPv6's).
 *
 * A SipHash is a chain of some 50 operations of which each waits for the one before: one flow leaves most of a core
 * idle. So the keys of up to eight flows stand side by side and go through the rounds together, each in a 64-bit lane
 * of its own and under a key of its own: they may be of as many services. Fewer than eight cost what eight do.
 *
 *	AVX-512		8 lanes a register, rotations are one instruction	7 cycles a flow (AMD Zen 4)
 *	AVX2		2 registers of 4 lanes					13
 *	else		one by one						26
 *
 * CRC-32 goes one by one: a key takes four carry-less multiplications, and those of several flows overlap unasked (9
 * cycles a flow; without that instruction 87). What the CPU has is asked once (lanes_ways).
 */
#ifndef FAIRLEAD_MUX_LANES_H
#define FAIRLEAD_MUX_LANES_H

#include "packet/hash.h"

#ifdef __x86_64__
#define LANES_X86 /* else the scalar ways alone */
#endif

enum { LANES_MAX = 8 };

struct lanes {
	uint64_t k0[LANES_MAX] __attribute__((aligned(64)));
	uint64_t k1[LANES_MAX] __attribute__((aligned(64)));
	uint64_t low[LANES_MAX] __attribute__((aligned(64)));  /* the key's first 8 bytes, as loaded */
	uint64_t high[LANES_MAX] __attribute__((aligned(64))); /* the rest; length in its last byte */
	uint32_t hash[LANES_MAX] __attribute__((aligned(64))); /* out */
	uint32_t count;
};

/* Computes hash[0 .. count). */
typedef void lanes_fn(struct lanes *lanes);

/* One way to compute a hash. */
struct lanes_way {
	const char *name;
	enum fl_hash_kind hash;
	lanes_fn *run;
	bool (*has_cpu)(void); /* whether this machine can */
};

#ifdef LANES_X86
enum { LANES_WAYS = 5 };
#else
enum { LANES_WAYS = 2 };
#endif

/* All ways, of each hash the fastest first. */
extern const struct lanes_way lanes_ways[LANES_WAYS];

/* Of lanes_ways the fastest that this machine can; set before main(). */
extern lanes_fn *lanes_siphash;
extern lanes_fn *lanes_crc32;

/* Adds a connection's key as the packet path has it (hash.h). */
static inline void lanes_add(struct lanes *lanes, const struct service *service, const uint64_t key[2])
{
	uint32_t i = lanes->count++;
	bool whole = service->affinity == AFFINITY_CONNECTION;

	lanes->k0[i] = service->key.k0;
	lanes->k1[i] = service->key.k1;
	lanes->low[i] = key[0];
	lanes->high[i] = whole ? key[1] | (uint64_t)FL_KEY_IPV4_LEN << 56 : (uint64_t)8 << 56;
}

#endif
