/* SPDX-License-Identifier: Apache-2.0 */
#include "steering/flowtable/flowtable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_branch_prediction.h>

#include "config/options.h"
#include "packet/flow_hash.h"
#include "packet/packet.h"
#include "ring/backend.h"
#include "steering/flowtable/flow_cuckoo.h"
#include "steering/ring/steering_ring.h"

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

struct flowtable {
	struct flow_cuckoo *ipv4;
	struct flow_cuckoo *ipv6;
};

static int family_new(struct flow_cuckoo **family, const char *name, unsigned worker, uint32_t flows,
		      uint32_t key_words, struct reason *why)
{
	*family = flow_cuckoo_new(flows, key_words);
	if (*family)
		return 0;
	return reason_set(why, -ENOMEM, "worker %u: no memory for %u %s; allowed: fewer, or a larger --memory", worker,
			  flows, name);
}

static void stop(void *state)
{
	struct flowtable *table = state;

	if (!table)
		return;
	flow_cuckoo_free(table->ipv4);
	flow_cuckoo_free(table->ipv6);
	free(table);
}

static int start(void **state, unsigned worker, const struct options *options, struct reason *why)
{
	struct flowtable *table;
	int error;

	if (!options->flows)
		return 0;
	table = calloc(1, sizeof(*table));
	if (!table)
		return reason_set(why, -ENOMEM, "worker %u: no memory for flows", worker);
	error = family_new(&table->ipv4, "IPv4 flows", worker, options->flows, KEY4_WORDS, why);
	if (!error)
		error = family_new(&table->ipv6, "IPv6 flows", worker, options->flows, FLOW_HASH_KEY6_WORDS, why);
	if (error)
		stop(table);
	else
		*state = table;
	return error;
}

uint32_t flowtable_count(const void *state)
{
	const struct flowtable *table = state;

	return table->ipv4->count + table->ipv6->count;
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

static void choose(void *state, struct packet *packets, uint32_t which, uint32_t now)
{
	struct flowtable *table = state;
	struct keys ipv4, ipv6;
	uint64_t keys4[BURST_MAX][2], keys6[BURST_MAX][FLOW_HASH_KEY6_WORDS];

	ipv4.count = ipv6.count = 0;
	for (uint32_t left = which; left; left &= left - 1) {
		struct packet *packet = &packets[__builtin_ctz(left)];
		/* the key holds only what the hash covers: many keys of one hash would overfill a bucket */
		uint64_t ports = packet->service->affinity == AFFINITY_CONNECTION ? packet->key[1] : 0;

		if (unlikely(packet->flags & PACKET_HASHED))
			continue;
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
		uint32_t added = look_up(table->ipv4, &ipv4, now, KEY4_WORDS);

		/* a bucket for each new flow, so that expiry keeps up with them */
		flow_cuckoo_sweep(table->ipv4, SWEEP + added, now, FLOWTABLE_IDLE);
	}
	if (ipv6.count) {
		uint32_t added = look_up(table->ipv6, &ipv6, now, FLOW_HASH_KEY6_WORDS);

		flow_cuckoo_sweep(table->ipv6, SWEEP + added, now, FLOWTABLE_IDLE);
	}
}

static int check(const struct service_config *config, const struct options *options, struct reason *why)
{
	if (options->flows)
		return 0;
	return reason_set(
	    why, -ENOTSUP,
	    "steering: service %s has 'flowtable'; allowed by a mux without --flows: ring, othello, hunt, maat",
	    config->name);
}

static void explain(const struct service *service, const struct flow *flow, struct explanation *out)
{
	(void)service;
	(void)flow;
	out->may_be_remembered = true;
}

const struct steering steering_flowtable = {
    .name = "flowtable",
    .way = STEERING_CHOICE,
    .bucket = steering_ring_bucket,
    .choose = choose,
    .check = check,
    .start = start,
    .stop = stop,
    .explain = explain,
};
