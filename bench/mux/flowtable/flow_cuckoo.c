/* SPDX-License-Identifier: Apache-2.0 */
#include "flow_cuckoo.h"

#include <assert.h>
#include <stdlib.h>

#include <rte_malloc.h>

enum {
	SLOTS = FLOW_CUCKOO_SLOTS,
	BUCKETS_MIN = 2,  /* a flow's two buckets differ */
	SEARCH_MAX = 256, /* buckets that a search for a free slot visits */
	FULL = (1 << SLOTS) - 1,
};

/* A bucket of the search for a free slot: the flow in `slot` of step `from` could move here. */
struct step {
	uint32_t bucket;
	int16_t from; /* negative: one of the new flow's own buckets */
	uint16_t slot;
};

static_assert(sizeof(struct flow_cuckoo_bucket) == 32, "two buckets a cache line");

static uint32_t free_slots(const struct flow_cuckoo_bucket *bucket)
{
	return flow_cuckoo_match(bucket, 0);
}

struct flow_cuckoo *flow_cuckoo_new(uint32_t limit, uint32_t key_words)
{
	struct flow_cuckoo *table = calloc(1, sizeof(*table));
	uint64_t buckets = BUCKETS_MIN;

	if (!table)
		return NULL;
	while (buckets * SLOTS < limit)
		buckets *= 2;
	table->mask = (uint32_t)(buckets - 1);
	table->key_words = key_words;
	table->limit = limit;
	table->buckets = rte_zmalloc(NULL, buckets * sizeof(*table->buckets), 64);
	table->slots = rte_malloc(NULL, buckets * SLOTS * flow_cuckoo_slot_bytes(key_words), 64);
	if (table->buckets && table->slots)
		return table;
	flow_cuckoo_free(table);
	return NULL;
}

void flow_cuckoo_free(struct flow_cuckoo *table)
{
	if (!table)
		return;
	rte_free(table->buckets);
	rte_free(table->slots);
	free(table);
}

static bool is_guest(const struct flow_cuckoo_bucket *bucket, uint32_t slot)
{
	return bucket->guests >> slot & 1;
}

/* A slot's flow is gone from it; a guest's first bucket counts one less. */
static void clear(struct flow_cuckoo *table, uint32_t at, uint32_t slot)
{
	struct flow_cuckoo_bucket *bucket = &table->buckets[at];

	if (is_guest(bucket, slot)) {
		struct flow_cuckoo_bucket *first = &table->buckets[flow_cuckoo_other(table, at, bucket->tags[slot])];

		assert(first->moved);
		if (!--first->moved)
			first->filter = 0;
		bucket->guests &= (uint8_t) ~(1U << slot);
	}
	bucket->tags[slot] = 0;
}

/* A free slot now has a flow of this tag; as a guest, if its first bucket is the other one. */
static void fill(struct flow_cuckoo *table, uint32_t at, uint32_t slot, uint16_t tag, bool guest)
{
	struct flow_cuckoo_bucket *bucket = &table->buckets[at];

	bucket->tags[slot] = tag;
	if (guest) {
		struct flow_cuckoo_bucket *first = &table->buckets[flow_cuckoo_other(table, at, tag)];

		first->moved++;
		first->filter |= flow_cuckoo_filter_bits(tag);
		bucket->guests |= (uint8_t)(1U << slot);
	}
}

static void move(struct flow_cuckoo *table, uint32_t from, uint32_t from_slot, uint32_t to, uint32_t to_slot)
{
	uint16_t tag = table->buckets[from].tags[from_slot];
	bool guest = !is_guest(&table->buckets[from], from_slot);

	memcpy(flow_cuckoo_slot(table, to, to_slot, table->key_words),
	       flow_cuckoo_slot(table, from, from_slot, table->key_words), flow_cuckoo_slot_bytes(table->key_words));
	clear(table, from, from_slot);
	fill(table, to, to_slot, tag, guest);
}

/* Moves the flows along a search's path, the last one first; returns the slot that is free then in its first bucket. */
static uint32_t make_way(struct flow_cuckoo *table, const struct step *steps, int last, uint32_t *bucket)
{
	uint32_t slot = (uint32_t)__builtin_ctz(free_slots(&table->buckets[steps[last].bucket]));

	for (int at = last; steps[at].from >= 0; at = steps[at].from) {
		move(table, steps[steps[at].from].bucket, steps[at].slot, steps[at].bucket, slot);
		slot = steps[at].slot;
	}
	while (steps[last].from >= 0)
		last = steps[last].from;
	*bucket = steps[last].bucket;
	return slot;
}

/* A bucket must not be on its own path: its slots would change under the moves. */
static bool is_on_path(const struct step *steps, int at, uint32_t bucket)
{
	for (; at >= 0; at = steps[at].from)
		if (steps[at].bucket == bucket)
			return true;
	return false;
}

/* Breadth first: the fewest moves. Returns a free slot and its bucket, one of a new flow's two; negative: none. */
static int find_room(struct flow_cuckoo *table, uint32_t first, uint32_t other, uint32_t *bucket)
{
	struct step steps[SEARCH_MAX];
	int count = 0;

	steps[count++] = (struct step){first, -1, 0};
	steps[count++] = (struct step){other, -1, 0};
	for (int at = 0; at < count; at++) {
		const struct flow_cuckoo_bucket *full = &table->buckets[steps[at].bucket];

		if (free_slots(full))
			return (int)make_way(table, steps, at, bucket);
		for (uint16_t slot = 0; slot < SLOTS && count < SEARCH_MAX; slot++) {
			uint32_t to = flow_cuckoo_other(table, steps[at].bucket, full->tags[slot]);

			if (!is_on_path(steps, at, to))
				steps[count++] = (struct step){to, (int16_t)at, slot};
		}
	}
	return -1;
}

struct flow_cuckoo_entry *flow_cuckoo_add(struct flow_cuckoo *table, const uint64_t *key, uint64_t hash, bool *is_new)
{
	struct flow_cuckoo_entry *entry = flow_cuckoo_find(table, key, hash, table->key_words);
	uint32_t first = flow_cuckoo_first(table, hash), bucket;
	uint16_t tag = flow_cuckoo_tag(hash);
	uint8_t *place;
	int slot;

	*is_new = !entry;
	if (entry)
		return entry;
	if (table->count >= table->limit)
		return NULL;
	slot = find_room(table, first, flow_cuckoo_other(table, first, tag), &bucket);
	if (slot < 0)
		return NULL;
	fill(table, bucket, (uint32_t)slot, tag, bucket != first);
	table->count++;
	place = flow_cuckoo_slot(table, bucket, (uint32_t)slot, table->key_words);
	memcpy(place, key, table->key_words * 8UL);
	entry = (struct flow_cuckoo_entry *)(void *)(place + table->key_words * 8UL);
	*entry = (struct flow_cuckoo_entry){0, 0};
	return entry;
}

bool flow_cuckoo_delete(struct flow_cuckoo *table, const uint64_t *key, uint64_t hash)
{
	uint16_t tag = flow_cuckoo_tag(hash);
	uint32_t bucket = flow_cuckoo_first(table, hash);
	int slot = flow_cuckoo_find_in(table, bucket, tag, key, table->key_words);

	if (slot < 0) {
		bucket = flow_cuckoo_other(table, bucket, tag);
		slot = flow_cuckoo_find_in(table, bucket, tag, key, table->key_words);
	}
	if (slot < 0)
		return false;
	clear(table, bucket, (uint32_t)slot);
	table->count--;
	return true;
}

uint32_t flow_cuckoo_sweep(struct flow_cuckoo *table, uint32_t buckets, uint32_t now, uint32_t idle)
{
	uint32_t before = table->count;

	for (; buckets; buckets--) {
		uint32_t taken = ~free_slots(&table->buckets[table->swept]) & FULL;

		for (; taken; taken &= taken - 1) {
			uint32_t slot = (uint32_t)__builtin_ctz(taken);
			const struct flow_cuckoo_entry *entry =
			    (const void *)(flow_cuckoo_slot(table, table->swept, slot, table->key_words) +
					   table->key_words * 8UL);

			if ((int32_t)(now - entry->last) > (int32_t)idle) {
				clear(table, table->swept, slot);
				table->count--;
			}
		}
		table->swept = (table->swept + 1) & table->mask;
	}
	return before - table->count;
}
