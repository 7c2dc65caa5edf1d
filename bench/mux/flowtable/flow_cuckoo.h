/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of flows for one thread, by the algorithm of Cuckoo++ (Le Scouarnec, ANCS '18): a flow is in one of two
 * buckets of eight slots. The first bucket has a Bloom filter of the flows that are in their other one, so that a
 * look-up reads the second bucket only for such flows, and almost never for unknown ones.
 *
 *	buckets[]	32 bytes	tags u16 x 8 | filter u64 | moved u32 | guests u8
 *	slots[]		8 of a bucket	key, 16 bytes (IPv6: 40) | value u32 | last u32
 *
 * A tag is 16 bits of the hash's high half, none of which is among the bucket's, with crc32 either; 0 is a free slot.
 * The other bucket's number follows from the tag and one bucket's number, and the filter's bits from the tag, so that
 * flows are moved without their hashes. `moved` counts the flows of the filter; when it falls to 0, the filter is
 * cleared. `guests` are the slots whose flow has its first bucket elsewhere. The paper keeps expiry times beside the
 * tags; here `last` is beside the value, which a look-up writes anyway.
 *
 * At most 16 keys of one hash find a place: more would overfill their two buckets.
 * An entry's address holds until the next flow_cuckoo_add.
 */
#ifndef FAIRLEAD_BENCH_FLOW_CUCKOO_H
#define FAIRLEAD_BENCH_FLOW_CUCKOO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum { FLOW_CUCKOO_SLOTS = 8 };

struct flow_cuckoo_bucket {
	uint16_t tags[FLOW_CUCKOO_SLOTS];
	uint64_t filter;
	uint32_t moved;
	uint8_t guests;
	uint8_t unused[3];
};

/* What follows a slot's key. */
struct flow_cuckoo_entry {
	uint32_t value;
	uint32_t last; /* Unix seconds of the last packet */
};

struct flow_cuckoo {
	struct flow_cuckoo_bucket *buckets;
	uint8_t *slots;
	uint32_t mask;      /* buckets - 1 */
	uint32_t key_words; /* of 8 bytes */
	uint32_t limit;
	uint32_t count;
	uint32_t swept; /* the next bucket of the sweep */
};

/*
 * A table of DPDK's memory for `limit` flows with keys of so many words; NULL: no memory. If limit is a power of two,
 * some 97 % find a place.
 */
struct flow_cuckoo *flow_cuckoo_new(uint32_t limit, uint32_t key_words);

void flow_cuckoo_free(struct flow_cuckoo *table);

/* The flow's entry: known, or new with value and last 0, and *is_new. NULL: the table is full. */
struct flow_cuckoo_entry *flow_cuckoo_add(struct flow_cuckoo *table, const uint64_t *key, uint64_t hash, bool *is_new);

/* false: unknown. */
bool flow_cuckoo_delete(struct flow_cuckoo *table, const uint64_t *key, uint64_t hash);

/* Deletes entries of the next `buckets` buckets whose last packet is more than idle seconds ago; returns how many. */
uint32_t flow_cuckoo_sweep(struct flow_cuckoo *table, uint32_t buckets, uint32_t now, uint32_t idle);

static inline uint32_t flow_cuckoo_slot_bytes(uint32_t key_words)
{
	return key_words * 8 + (uint32_t)sizeof(struct flow_cuckoo_entry);
}

static inline uint16_t flow_cuckoo_tag(uint64_t hash)
{
	uint16_t tag = (uint16_t)(hash >> 32);

	return tag ? tag : 1;
}

static inline uint32_t flow_cuckoo_first(const struct flow_cuckoo *table, uint64_t hash)
{
	return (uint32_t)hash & table->mask;
}

/* The other one of a flow's two buckets; an odd distance, so that it is never the same one. */
static inline uint32_t flow_cuckoo_other(const struct flow_cuckoo *table, uint32_t bucket, uint16_t tag)
{
	return bucket ^ ((tag * 0x5bd1e995U >> 3 | 1) & table->mask);
}

static inline uint64_t flow_cuckoo_filter_bits(uint16_t tag)
{
	return 1ULL << (tag & 63) | 1ULL << (tag >> 6 & 63);
}

/* The slots of a bucket with a tag, as bits. */
static inline uint32_t flow_cuckoo_match(const struct flow_cuckoo_bucket *bucket, uint16_t tag)
{
#if defined(__SSE2__)
	__m128i same =
	    _mm_cmpeq_epi16(_mm_load_si128((const __m128i *)(const void *)bucket->tags), _mm_set1_epi16((short)tag));

	return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(same, _mm_setzero_si128()));
#else
	uint32_t match = 0;

	for (uint32_t i = 0; i < FLOW_CUCKOO_SLOTS; i++)
		match |= (uint32_t)(bucket->tags[i] == tag) << i;
	return match;
#endif
}

static inline uint8_t *flow_cuckoo_slot(const struct flow_cuckoo *table, uint32_t bucket, uint32_t at,
					uint32_t key_words)
{
	return table->slots + ((size_t)bucket * FLOW_CUCKOO_SLOTS + at) * flow_cuckoo_slot_bytes(key_words);
}

static inline int flow_cuckoo_find_in(const struct flow_cuckoo *table, uint32_t bucket, uint16_t tag,
				      const uint64_t *key, uint32_t key_words)
{
	for (uint32_t left = flow_cuckoo_match(&table->buckets[bucket], tag); left; left &= left - 1) {
		uint32_t at = (uint32_t)__builtin_ctz(left);
		const uint8_t *slot = flow_cuckoo_slot(table, bucket, at, key_words);
		uint64_t differ = 0;

		for (uint32_t i = 0; i < key_words; i++) {
			uint64_t word;

			memcpy(&word, slot + i * 8UL, sizeof(word));
			differ |= word ^ key[i];
		}
		if (!differ)
			return (int)at;
	}
	return -1;
}

/* The entry of a flow, or NULL. key_words: the table's, as a constant, for speed. */
static inline struct flow_cuckoo_entry *flow_cuckoo_find(const struct flow_cuckoo *table, const uint64_t *key,
							 uint64_t hash, uint32_t key_words)
{
	uint16_t tag = flow_cuckoo_tag(hash);
	uint32_t bucket = flow_cuckoo_first(table, hash);
	uint64_t bits = flow_cuckoo_filter_bits(tag);
	int at = flow_cuckoo_find_in(table, bucket, tag, key, key_words);

	if (at < 0) {
		if ((table->buckets[bucket].filter & bits) != bits)
			return NULL;
		bucket = flow_cuckoo_other(table, bucket, tag);
		at = flow_cuckoo_find_in(table, bucket, tag, key, key_words);
		if (at < 0)
			return NULL;
	}
	return (struct flow_cuckoo_entry *)(void *)(flow_cuckoo_slot(table, bucket, (uint32_t)at, key_words) +
						    key_words * 8UL);
}

/* The entries of `count` flows, or NULL each: first all buckets are fetched, then the slots whose tags match. */
static inline void flow_cuckoo_find_bulk(const struct flow_cuckoo *table, const uint64_t *const *keys,
					 const uint64_t *hashes, uint32_t count, uint32_t key_words,
					 struct flow_cuckoo_entry **entries)
{
	for (uint32_t i = 0; i < count; i++)
		__builtin_prefetch(&table->buckets[flow_cuckoo_first(table, hashes[i])]);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t bucket = flow_cuckoo_first(table, hashes[i]);
		uint16_t tag = flow_cuckoo_tag(hashes[i]);
		uint64_t bits = flow_cuckoo_filter_bits(tag);
		uint32_t match = flow_cuckoo_match(&table->buckets[bucket], tag);

		if (match) {
			const uint8_t *slot =
			    flow_cuckoo_slot(table, bucket, (uint32_t)__builtin_ctz(match), key_words);

			__builtin_prefetch(slot, 1);
			__builtin_prefetch(slot + flow_cuckoo_slot_bytes(key_words) - 1, 1);
		} else if ((table->buckets[bucket].filter & bits) == bits) {
			__builtin_prefetch(&table->buckets[flow_cuckoo_other(table, bucket, tag)]);
		}
	}
	for (uint32_t i = 0; i < count; i++)
		entries[i] = flow_cuckoo_find(table, keys[i], hashes[i], key_words);
}

#ifdef __cplusplus
}
#endif

#endif
