/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ways to find the server of a known connection by its 64-bit flow hash, which othello_lookup compares. All have the
 * same connections, and answer in bursts, as packets come.
 */
#ifndef FAIRLEAD_BENCH_LOOKUP_H
#define FAIRLEAD_BENCH_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <fairlead/ring.h>

enum {
	LOOKUP_BURST = 32,
	LOOKUP_BACKENDS = 128, /* the paper's average of a VIP */
	LOOKUP_VERSIONS = 64,  /* of the pool, for the multi-table digest */
};

/* What there is to be found: connection i is coded[i] % buckets, a bucket of the ring. */
struct lookup_keys {
	uint64_t seed;
	uint32_t count, buckets;
	const uint64_t *hashes;
	const uint16_t *coded;
	const fl_row *ring;
	const uint16_t *pools; /* LOOKUP_VERSIONS tables of `buckets` owners */
};

struct lookup {
	const char *name;
	bool single; /* also measured with one thread only */
	/* Ends the program if there is no memory. */
	void *(*build)(const struct lookup_keys *keys);
	void (*burst)(const void *table, const uint64_t *hashes, uint16_t *owners);
	/* The owner that is right for connection i. */
	uint16_t (*right)(const struct lookup_keys *keys, uint32_t i);
	size_t (*bytes)(const void *table);
	void (*drop)(void *table);
};

extern const struct lookup lookup_othello, lookup_othello_pair, lookup_othello_crc32, lookup_othello_single;
extern const struct lookup lookup_digest, lookup_digest_fetched, lookup_staged, lookup_staged_fetched;
extern const struct lookup lookup_rte_hash;

/* Memory of huge pages, zeroed; ends the program if there is none. */
void *lookup_memory(size_t bytes);

/* SplitMix64 of a number: draws by index. */
static inline uint64_t lookup_draw(uint64_t number)
{
	uint64_t z = number * 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* Of the ring: the owner of what connection i is coded as. */
static inline uint16_t lookup_ring_owner(const struct lookup_keys *keys, uint32_t i)
{
	return fl_row_current(keys->ring[keys->coded[i] & (keys->buckets - 1)]);
}

#endif
