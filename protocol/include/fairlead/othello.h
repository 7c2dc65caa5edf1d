/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Steering method `othello` (protocol/README.md, 12): two arrays of cells give a connection's hash its code, and the code
 * is a bucket of the service's ring (Othello hashing: Yu, Belazzougui, Qian, Zhang, A Concise Forwarding Information Base
 * for Scalable and Fast Name Lookups, 2017; as a load balancer: Shi, Yu, Concury, 2020).
 *
 *	code = A[a] ^ B[b]		A has na cells, B has nb, of bits = log2(buckets) each
 *	a = key.low  * na >> 32		b = key.high * nb >> 32
 */
#ifndef FAIRLEAD_OTHELLO_H
#define FAIRLEAD_OTHELLO_H

#include "hash.h"

enum fl_othello_numbers {
	FL_OTHELLO_BUCKETS_MAX = 65536, /* and FL_BUCKETS_MIN: 8 to 16 bits in a cell */
	FL_OTHELLO_CELLS_MAX = 1 << 28, /* of an array */
	FL_OTHELLO_WHOLE_LEN = 16,      /* before the words */
	FL_OTHELLO_PATCH_LEN = 4,       /* before the varints */
	FL_OTHELLO_VARINT_MAX = 4,      /* bytes: no array has 2^28 words */
	FL_OTHELLO_WORD_LEN = 8,
};

struct fl_othello_key {
	fl_u32 low, high;
};

/*
 * Mixes all bits of 32 into each other by what a switch computes: the last steps of Jenkins's one-at-a-time hash,
 * twice. A CRC is linear: without this, another seed would only exchange cells, and the graph of many flows of one
 * client would have a cycle with all seeds or with none. After one round a bit may depend on an input bit alone; after
 * two the upper 24, of which an index takes its own, show no bias (tests/test_othello_spread.c).
 */
FL_INLINE fl_u32 fl_othello_mix(fl_u32 v)
{
	int round;

	for (round = 0; round < 2; round++) {
		v += v << 10;
		v ^= v >> 6;
		v += v << 3;
		v ^= v >> 11;
		v += v << 15;
	}
	return v;
}

FL_INLINE struct fl_othello_key fl_othello_key_make(enum fl_hash_kind kind, fl_u64 flow_hash, fl_u64 seed)
{
	fl_u64 product = flow_hash * seed;
	fl_u32 crc = (fl_u32)flow_hash;
	struct fl_othello_key key = {(fl_u32)product, (fl_u32)(product >> 32)};

	if (kind == FL_HASH_CRC32) {
		key.low = fl_othello_mix(crc ^ (fl_u32)seed);
		key.high = fl_othello_mix((crc << 16 | crc >> 16) ^ (fl_u32)(seed >> 32));
	}
	return key;
}

/* The cell of half a key in an array. With a power of two of cells, the half's highest bits. */
FL_INLINE fl_u32 fl_othello_index(fl_u32 half, fl_u32 cells)
{
	return (fl_u32)((fl_u64)half * cells >> 32);
}

/* The bits of a cell for this number of buckets, a power of two. */
FL_INLINE fl_u32 fl_othello_bits(fl_u32 buckets)
{
	return (fl_u32)__builtin_ctz(buckets);
}

/* How many words so many cells take. */
FL_INLINE fl_u64 fl_othello_words(fl_u64 cells, fl_u32 bits)
{
	return (cells * bits + 63) / 64;
}

#endif
