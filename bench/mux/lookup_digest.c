/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of digests, after the models that the paper compares with (Concury, section 6):
 *
 *	digest	Maglev's: a cuckoo table of 64-bit digests and the server of each, 6 in a cache line, 95 % full; who is
 *		not in it goes by its bucket
 *	staged	SilkRoad's: tables of 16-bit digests and a version of the pool of 6 bits, each a quarter of the one
 *		before; what finds no room goes to the next one. A connection whose digest stands in its bucket already
 *		gets that one's version: a false hit
 *
 * Both in the order in which packets come, as the paper's, and with the buckets of a burst fetched at once.
 */
#include "lookup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAYS = 6, KICKS = 10000, STAGES = 4, SLOTS = 5 };

struct line {
	uint64_t digests[WAYS]; /* 0: empty */
	uint16_t owners[WAYS];
} __attribute__((aligned(64)));

struct digests {
	struct line *lines;
	uint32_t count;
	const fl_row *ring;
	uint32_t mask;
};

static uint32_t part(uint32_t half, uint32_t count)
{
	return (uint32_t)((uint64_t)half * count >> 32);
}

static bool put_line(struct line *line, uint64_t digest, uint16_t owner)
{
	for (int i = 0; i < WAYS; i++) {
		if (line->digests[i])
			continue;
		line->digests[i] = digest;
		line->owners[i] = owner;
		return true;
	}
	return false;
}

/* Cuckoo: who finds no room takes another one's place. */
static void put(struct digests *t, uint64_t digest, uint16_t owner, uint64_t *draws)
{
	for (int kick = 0; kick < KICKS; kick++) {
		struct line *lines[] = {&t->lines[part((uint32_t)digest, t->count)],
					&t->lines[part((uint32_t)(digest >> 32), t->count)]};
		uint64_t drawn = lookup_draw(++*draws);
		struct line *line = lines[drawn & 1];
		int way = (int)((drawn >> 32) % WAYS);
		uint64_t other;
		uint16_t of_other;

		if (put_line(lines[0], digest, owner) || put_line(lines[1], digest, owner))
			return;
		other = line->digests[way];
		of_other = line->owners[way];
		line->digests[way] = digest;
		line->owners[way] = owner;
		digest = other;
		owner = of_other;
	}
	fprintf(stderr, "othello_lookup: no room in the digest table\n");
	exit(1);
}

static void *build_digests(const struct lookup_keys *keys)
{
	struct digests *t = lookup_memory(sizeof(*t));
	uint64_t draws = keys->seed;

	t->count = (uint32_t)((uint64_t)keys->count * 100 / 95 / WAYS) + 1;
	t->lines = lookup_memory(t->count * sizeof(*t->lines));
	t->ring = keys->ring;
	t->mask = keys->buckets - 1;
	for (uint32_t i = 0; i < keys->count; i++)
		put(t, keys->hashes[i], lookup_ring_owner(keys, i), &draws);
	return t;
}

static inline int way_of(const struct line *line, uint64_t digest)
{
	unsigned hits = 0;

	for (int i = 0; i < WAYS; i++)
		hits |= (unsigned)(line->digests[i] == digest) << i;
	return hits ? __builtin_ctz(hits) : -1;
}

static inline uint16_t owner_of(const struct digests *t, const struct line *first, const struct line *second,
				uint64_t hash)
{
	int way = way_of(first, hash);

	if (way >= 0)
		return first->owners[way];
	way = way_of(second, hash);
	return way >= 0 ? second->owners[way] : fl_row_current(t->ring[hash & t->mask]);
}

static void burst_digests(const void *state, const uint64_t *hashes, uint16_t *owners)
{
	const struct digests *t = state;

	for (int i = 0; i < LOOKUP_BURST; i++)
		owners[i] = owner_of(t, &t->lines[part((uint32_t)hashes[i], t->count)],
				     &t->lines[part((uint32_t)(hashes[i] >> 32), t->count)], hashes[i]);
}

static void burst_digests_fetched(const void *state, const uint64_t *hashes, uint16_t *owners)
{
	const struct digests *t = state;
	const struct line *lines[LOOKUP_BURST][2];

	for (int i = 0; i < LOOKUP_BURST; i++) {
		lines[i][0] = &t->lines[part((uint32_t)hashes[i], t->count)];
		lines[i][1] = &t->lines[part((uint32_t)(hashes[i] >> 32), t->count)];
		__builtin_prefetch(lines[i][0]);
		__builtin_prefetch(lines[i][1]);
	}
	for (int i = 0; i < LOOKUP_BURST; i++)
		owners[i] = owner_of(t, lines[i][0], lines[i][1], hashes[i]);
}

static size_t digests_bytes(const void *state)
{
	const struct digests *t = state;

	return t->count * sizeof(*t->lines);
}

static void digests_drop(void *state)
{
	struct digests *t = state;

	free(t->lines);
	free(t);
}

struct cell {
	uint16_t digests[SLOTS]; /* 0: empty */
	uint8_t versions[SLOTS];
	uint8_t none;
};

_Static_assert(sizeof(struct cell) == 16, "four cells in a cache line");

struct staged {
	struct cell *cells[STAGES];
	uint32_t counts[STAGES];
	const uint16_t *pools;
	uint32_t mask;
	uint64_t lost; /* found no room in any stage */
};

static uint8_t version_of(const struct lookup_keys *keys, uint32_t i)
{
	return (uint8_t)(keys->coded[i] % LOOKUP_VERSIONS);
}

static uint16_t staged_right(const struct lookup_keys *keys, uint32_t i)
{
	return keys->pools[version_of(keys, i) * (size_t)keys->buckets + (keys->hashes[i] & (keys->buckets - 1))];
}

/* Where a hash may be in a stage: each has its own odd factor. */
static inline uint64_t key_of(uint64_t hash, int stage)
{
	static const uint64_t factors[STAGES] = {0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f, 0x165667b19e3779f9,
						 0xd6e8feb86659fd93};

	return hash * factors[stage];
}

static inline uint16_t digest_of(uint64_t hash)
{
	uint16_t digest = (uint16_t)((hash ^ hash >> 32) * 0x85ebca77c2b2ae63 >> 48);

	return digest ? digest : 1;
}

static inline int slot_of(const struct cell *cell, uint16_t digest)
{
	unsigned hits = 0;

	for (int i = 0; i < SLOTS; i++)
		hits |= (unsigned)(cell->digests[i] == digest) << i;
	return hits ? __builtin_ctz(hits) : -1;
}

/* The version by this stage, or -1. */
static inline int stage_version(const struct staged *t, int stage, uint64_t hash, uint16_t digest)
{
	uint64_t key = key_of(hash, stage);
	const struct cell *cell = &t->cells[stage][part((uint32_t)key, t->counts[stage])];
	int slot = slot_of(cell, digest);

	if (slot < 0) {
		cell = &t->cells[stage][part((uint32_t)(key >> 32), t->counts[stage])];
		slot = slot_of(cell, digest);
	}
	return slot < 0 ? -1 : cell->versions[slot];
}

static bool put_stage(struct staged *t, int stage, uint64_t hash, uint16_t digest, uint8_t version)
{
	uint64_t key = key_of(hash, stage);
	struct cell *cells[] = {&t->cells[stage][part((uint32_t)key, t->counts[stage])],
				&t->cells[stage][part((uint32_t)(key >> 32), t->counts[stage])]};
	int used[2] = {0, 0}, emptier;

	if (stage_version(t, stage, hash, digest) >= 0)
		return true; /* a false hit, from now on */
	for (int i = 0; i < 2; i++)
		while (used[i] < SLOTS && cells[i]->digests[used[i]])
			used[i]++;
	emptier = used[1] < used[0];
	if (used[emptier] == SLOTS)
		return false;
	cells[emptier]->digests[used[emptier]] = digest;
	cells[emptier]->versions[used[emptier]] = version;
	return true;
}

static void *build_staged(const struct lookup_keys *keys)
{
	struct staged *t = lookup_memory(sizeof(*t));

	t->pools = keys->pools;
	t->mask = keys->buckets - 1;
	for (int i = 0; i < STAGES; i++) {
		t->counts[i] = (keys->count >> (2 * i)) / SLOTS + 1;
		t->cells[i] = lookup_memory(t->counts[i] * sizeof(*t->cells[i]));
	}
	for (uint32_t i = 0; i < keys->count; i++) {
		int stage = 0;

		while (stage < STAGES &&
		       !put_stage(t, stage, keys->hashes[i], digest_of(keys->hashes[i]), version_of(keys, i)))
			stage++;
		t->lost += stage == STAGES;
	}
	return t;
}

static inline uint16_t staged_owner(const struct staged *t, uint64_t hash)
{
	uint16_t digest = digest_of(hash);
	int version = -1;

	for (int stage = 0; version < 0 && stage < STAGES; stage++)
		version = stage_version(t, stage, hash, digest);
	return t->pools[(version < 0 ? 0 : (size_t)version * (t->mask + 1)) + (hash & t->mask)];
}

static void burst_staged(const void *state, const uint64_t *hashes, uint16_t *owners)
{
	for (int i = 0; i < LOOKUP_BURST; i++)
		owners[i] = staged_owner(state, hashes[i]);
}

/* The first stage has most: only its cells are fetched. */
static void burst_staged_fetched(const void *state, const uint64_t *hashes, uint16_t *owners)
{
	const struct staged *t = state;

	for (int i = 0; i < LOOKUP_BURST; i++) {
		uint64_t key = key_of(hashes[i], 0);

		__builtin_prefetch(&t->cells[0][part((uint32_t)key, t->counts[0])]);
		__builtin_prefetch(&t->cells[0][part((uint32_t)(key >> 32), t->counts[0])]);
	}
	burst_staged(state, hashes, owners);
}

static size_t staged_bytes(const void *state)
{
	const struct staged *t = state;
	size_t sum = 0;

	for (int i = 0; i < STAGES; i++)
		sum += t->counts[i] * sizeof(*t->cells[i]);
	return sum;
}

static void staged_drop(void *state)
{
	struct staged *t = state;

	for (int i = 0; i < STAGES; i++)
		free(t->cells[i]);
	free(t);
}

const struct lookup lookup_digest = {"digest table",    true,          build_digests, burst_digests,
				     lookup_ring_owner, digests_bytes, digests_drop};
const struct lookup lookup_digest_fetched = {
    "digest table, prefetched", true,          build_digests, burst_digests_fetched,
    lookup_ring_owner,          digests_bytes, digests_drop};
const struct lookup lookup_staged = {"multi-table digest", true,         build_staged, burst_staged,
				     staged_right,         staged_bytes, staged_drop};
const struct lookup lookup_staged_fetched = {"multi-table digest, prefetched",
					     true,
					     build_staged,
					     burst_staged_fetched,
					     staged_right,
					     staged_bytes,
					     staged_drop};
