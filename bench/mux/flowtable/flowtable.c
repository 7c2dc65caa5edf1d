/* SPDX-License-Identifier: Apache-2.0 */
#include "flowtable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_branch_prediction.h>

#include "flow/hash.h"
#include "headers/headers.h"
#include "packet/general.h"
#include "ring/backend.h"
#include "flow_cuckoo.h"
#include "hash_batch.h"

enum {
	KEY4_WORDS = 2,
	SWEEP = 1, /* buckets checked in each burst, plus one for each new flow */
};

/* The packets of one family in a burst, in the form that the table takes. */
struct keys {
	uint32_t count;
	struct packet *packets[BURST_MAX];
	const uint64_t *keys[BURST_MAX];
	uint64_t hashes[BURST_MAX];
	struct flow_cuckoo_entry *entries[BURST_MAX];
};

static struct flow_cuckoo *family_new(const char *name, unsigned worker, uint32_t flows, uint32_t key_words,
				      struct reason *why)
{
	struct flow_cuckoo *family = flow_cuckoo_new(flows, key_words);

	if (!family)
		reason_set(why, -ENOMEM, "worker %u: no memory for %u %s; allowed: fewer, or a larger --memory", worker,
			   flows, name);
	return family;
}

struct flowtable *flowtable_new(unsigned worker, uint32_t flows, struct reason *why)
{
	struct flowtable *table = calloc(1, sizeof(*table));

	if (!table) {
		reason_set(why, -ENOMEM, "worker %u: no memory for flows", worker);
		return NULL;
	}
	table->ipv4 = family_new("IPv4 flows", worker, flows, KEY4_WORDS, why);
	if (table->ipv4)
		table->ipv6 = family_new("IPv6 flows", worker, flows, FLOW_HASH_KEY6_WORDS, why);
	if (table->ipv6)
		return table;
	flowtable_free(table);
	return NULL;
}

void flowtable_free(struct flowtable *table)
{
	if (!table)
		return;
	flow_cuckoo_free(table->ipv4);
	flow_cuckoo_free(table->ipv6);
	free(table);
}

static inline void set(struct packet *packet, uint16_t backend)
{
	packet->flags |= PACKET_BY_ID | PACKET_ELSE_BUCKET;
	packet->bucket = backend;
}

/* What an entry's value holds. */
static inline uint32_t value_of(uint16_t backend, uint16_t service)
{
	return (uint32_t)service << 16 | backend;
}

static inline bool is_live(const struct packet *packet, uint16_t id)
{
	const struct backend *backend = backends_get(ring_backends(packet->ring), id);

	return backend && !backend_is_removed(backend);
}

/* The entry of a flow of this service to a backend that exists. */
static inline bool is_known(const struct packet *packet, const struct flow_cuckoo_entry *entry)
{
	return entry && entry->value >> 16 == packet->service->id && is_live(packet, (uint16_t)entry->value);
}

/* An unknown flow, or one whose backend is gone: steered by its bucket, and remembered from now on. */
static bool learn(struct flow_cuckoo *family, struct keys *keys, uint32_t i, uint32_t now)
{
	struct packet *packet = keys->packets[i];
	uint16_t backend = fl_row_current(ring_row(packet->ring, packet->bucket));
	struct flow_cuckoo_entry *entry;
	bool is_new;

	if (backend == FL_BACKEND_NONE)
		return false;
	/* found, if an earlier packet of this burst was the flow's first */
	entry = flow_cuckoo_add(family, keys->keys[i], keys->hashes[i], &is_new);
	if (!entry)
		return false;
	*entry = (struct flow_cuckoo_entry){value_of(backend, packet->service->id), now};
	set(packet, backend);
	return is_new;
}

/* Learns only after all known flows are served, since a new flow may move entries. Returns how many flows are new. */
static inline uint32_t look_up(struct flow_cuckoo *family, struct keys *keys, uint32_t now, uint32_t key_words)
{
	uint32_t unknown = 0, added = 0;

	flow_cuckoo_find_bulk(family, keys->keys, keys->hashes, keys->count, key_words, keys->entries);
	for (uint32_t i = 0; i < keys->count; i++) {
		struct flow_cuckoo_entry *entry = keys->entries[i];

		if (!is_known(keys->packets[i], entry)) {
			unknown |= 1U << i;
			continue;
		}
		entry->last = now;
		set(keys->packets[i], (uint16_t)entry->value);
	}
	for (; unknown; unknown &= unknown - 1)
		added += learn(family, keys, (uint32_t)__builtin_ctz(unknown), now);
	return added;
}

static inline void add(struct keys *keys, struct packet *packet, const uint64_t *key)
{
	uint32_t i = keys->count++;

	keys->packets[i] = packet;
	keys->keys[i] = key;
	keys->hashes[i] = packet->hash;
}

void flowtable_choose(struct flowtable *table, struct burst *burst)
{
	struct keys ipv4, ipv6;
	uint64_t keys4[BURST_MAX][2], keys6[BURST_MAX][FLOW_HASH_KEY6_WORDS];

	ipv4.count = ipv6.count = 0;
	for (uint32_t i = 0; i < burst->count; i++) {
		struct packet *packet = &burst->packets[i];
		uint64_t ports;

		if (packet->verdict != VERDICT_SERVICE || unlikely(packet->flags & (PACKET_BY_ID | PACKET_HASHED)))
			continue;
		/* the key holds only what the hash covers: many keys of one hash would overfill a bucket */
		ports = packet->service->affinity == AFFINITY_CONNECTION ? packet->key[1] : 0;
		if (packet->flags & PACKET_IPV6) {
			uint64_t *key = keys6[ipv6.count];

			memcpy(key, packet->addresses6, FLOW_HASH_ADDRESSES6_LEN);
			key[FLOW_HASH_KEY6_WORDS - 1] = ports;
			add(&ipv6, packet, key);
		} else {
			uint64_t *key = keys4[ipv4.count];

			key[0] = packet->key[0];
			key[1] = ports;
			add(&ipv4, packet, key);
		}
	}
	if (ipv4.count) {
		uint32_t added = look_up(table->ipv4, &ipv4, burst->now, KEY4_WORDS);

		/* a bucket for each new flow, so that expiry keeps up with them */
		flow_cuckoo_sweep(table->ipv4, SWEEP + added, burst->now, FLOWTABLE_IDLE);
	}
	if (ipv6.count) {
		uint32_t added = look_up(table->ipv6, &ipv6, burst->now, FLOW_HASH_KEY6_WORDS);

		flow_cuckoo_sweep(table->ipv6, SWEEP + added, burst->now, FLOWTABLE_IDLE);
	}
}

static inline uint32_t end_of(const struct burst *burst, uint32_t first)
{
	return first + BURST_GROUP < burst->count ? first + BURST_GROUP : burst->count;
}

static inline bool is_hashed_here(const struct packet *packet)
{
	return packet->verdict == VERDICT_SERVICE && !(packet->flags & (PACKET_IPV6 | PACKET_HASHED)) &&
	       packet->service->hash == FL_HASH_SIPHASH;
}

/* general_hash(), with hashes side by side. */
static inline void hash_group(struct burst *burst, uint32_t first, uint32_t end)
{
	struct hash_batch batch = {.count = 0};
	struct packet *packets[HASH_BATCH_MAX];

	for (uint32_t i = first; i < end; i++)
		if (likely(is_hashed_here(&burst->packets[i]))) {
			packets[batch.count] = &burst->packets[i];
			hash_batch_add(&batch, packets[batch.count]->service, packets[batch.count]->key);
		}
	if (likely(batch.count))
		hash_batch_run(&batch);
	for (uint32_t i = 0; i < batch.count; i++) {
		packets[i]->hash = batch.hash[i];
		packets[i]->flags |= PACKET_HASHED;
	}
	general_hash(burst, first, end);
	for (uint32_t i = 0; i < batch.count; i++)
		packets[i]->flags &= (uint8_t)~PACKET_HASHED;
}

static inline void steer(struct flowtable *table, struct burst *burst, bool is_classified)
{
	burst_begin(burst);
	for (uint32_t first = 0; first < burst->count; first += BURST_GROUP) {
		if (!is_classified)
			general_classify(burst, first, end_of(burst, first));
		hash_group(burst, first, end_of(burst, first));
	}
	flowtable_choose(table, burst);
	for (uint32_t first = 0; first < burst->count; first += BURST_GROUP)
		general_rows(burst, first, end_of(burst, first));
	for (uint32_t first = 0; first < burst->count; first += BURST_GROUP)
		headers_write(burst, first, end_of(burst, first));
}

void flowtable_steer(struct flowtable *table, struct burst *burst)
{
	steer(table, burst, false);
}

void flowtable_steer_classified(struct flowtable *table, struct burst *burst)
{
	steer(table, burst, true);
}
