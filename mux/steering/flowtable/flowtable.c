/* SPDX-License-Identifier: Apache-2.0 */
#include "steering/flowtable/flowtable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_errno.h>
#include <rte_hash.h>
#include <rte_malloc.h>
#include <rte_prefetch.h>

#include "config/options.h"
#include "packet/flow_hash.h"
#include "packet/packet.h"
#include "ring/backend.h"
#include "steering/ring/steering_ring.h"

enum {
	KEY6_LEN = FLOW_HASH_KEY6_WORDS * 8,
	SWEEP = 1,    /* entries checked in each burst, plus one for each new flow */
	KEYS_MIN = 8, /* rte_hash needs at least a full bucket */
};

struct entry {
	uint16_t backend;
	uint16_t service;
	uint32_t last; /* Unix seconds */
};

struct family {
	struct rte_hash *hash;
	struct entry *entries;
	hash_sig_t *signatures; /* by position, for removal: written once for each flow, hence kept apart */
	uint32_t swept;         /* where rte_hash's iteration continues */
	uint32_t due;           /* how many entries the sweep still has to check */
};

struct flowtable {
	struct family ipv4;
	struct family ipv6;
};

/* The packets of one family in a burst, in the form that rte_hash takes. */
struct keys {
	uint32_t count;
	struct packet *packets[BURST_MAX];
	const void *keys[BURST_MAX];
	hash_sig_t signatures[BURST_MAX];
	int32_t positions[BURST_MAX];
};

static int family_new(struct family *family, const char *name, unsigned worker, uint32_t flows, uint32_t key_len,
		      struct reason *why)
{
	char text[RTE_HASH_NAMESIZE];
	struct rte_hash_parameters parameters = {.name = text,
						 .entries = flows < KEYS_MIN ? KEYS_MIN : flows,
						 .key_len = key_len,
						 .socket_id = SOCKET_ID_ANY};

	snprintf(text, sizeof(text), "%s %u", name, worker);
	family->hash = rte_hash_create(&parameters);
	family->entries = rte_malloc(NULL, (parameters.entries + 1ULL) * sizeof(*family->entries), 64);
	family->signatures = rte_malloc(NULL, (parameters.entries + 1ULL) * sizeof(*family->signatures), 64);
	if (family->hash && family->entries && family->signatures)
		return 0;
	return reason_set(why, -ENOMEM, "worker %u: no memory for %u %s; allowed: fewer, or a larger --memory", worker,
			  flows, name);
}

static void family_free(struct family *family)
{
	rte_hash_free(family->hash);
	rte_free(family->entries);
	rte_free(family->signatures);
}

static void stop(void *state)
{
	struct flowtable *table = state;

	if (!table)
		return;
	family_free(&table->ipv4);
	family_free(&table->ipv6);
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
	error = family_new(&table->ipv4, "IPv4 flows", worker, options->flows, 16, why);
	if (!error)
		error = family_new(&table->ipv6, "IPv6 flows", worker, options->flows, KEY6_LEN, why);
	if (error)
		stop(table);
	else
		*state = table;
	return error;
}

uint32_t flowtable_count(const void *state)
{
	const struct flowtable *table = state;

	return (uint32_t)(rte_hash_count(table->ipv4.hash) + rte_hash_count(table->ipv6.hash));
}

static inline void set(struct packet *packet, uint16_t backend)
{
	packet->flags |= PACKET_BY_ID | PACKET_ELSE_BUCKET;
	packet->bucket = backend;
}

/* An unknown flow, or one whose backend is gone: steered by its bucket, and remembered from now on. */
static void learn(struct family *family, struct keys *keys, uint32_t i, uint32_t now)
{
	struct packet *packet = keys->packets[i];
	uint16_t backend = fl_row_current(ring_row(packet->ring, packet->bucket));
	int32_t at;

	if (backend == FL_BACKEND_NONE)
		return;
	at = keys->positions[i];
	if (at < 0) { /* also if an earlier packet of this burst was the flow's first: this then finds its entry */
		at = rte_hash_add_key_with_hash(family->hash, keys->keys[i], keys->signatures[i]);
		family->due++;
	}
	if (at < 0)
		return;
	family->signatures[at] = keys->signatures[i];
	family->entries[at] = (struct entry){backend, packet->service->id, now};
	set(packet, backend);
}

static inline bool is_live(const struct packet *packet, uint16_t id)
{
	const struct backend *backend = backends_get(ring_backends(packet->ring), id);

	return backend && !backend_is_removed(backend);
}

static void look_up(struct family *family, struct keys *keys, uint32_t now)
{
	rte_hash_lookup_with_hash_bulk(family->hash, keys->keys, keys->signatures, keys->count, keys->positions);
	for (uint32_t i = 0; i < keys->count; i++)
		if (keys->positions[i] >= 0)
			rte_prefetch0(&family->entries[keys->positions[i]]);
	for (uint32_t i = 0; i < keys->count; i++) {
		struct packet *packet = keys->packets[i];
		struct entry *entry = &family->entries[keys->positions[i] < 0 ? 0 : keys->positions[i]];

		if (keys->positions[i] < 0 || entry->service != packet->service->id ||
		    !is_live(packet, entry->backend)) {
			learn(family, keys, i, now);
			continue;
		}
		entry->last = now;
		set(packet, entry->backend);
	}
}

/* Checks as many entries as flows were added, so that expiry keeps up with new flows. */
static void sweep(struct family *family, uint32_t now)
{
	for (family->due += SWEEP; family->due; family->due--) {
		const void *key;
		void *data;
		int32_t at = rte_hash_iterate(family->hash, &key, &data, &family->swept);

		if (at < 0) {
			family->swept = 0;
			family->due = 0;
			return;
		}
		if ((int32_t)(now - family->entries[at].last) > FLOWTABLE_IDLE)
			rte_hash_del_key_with_hash(family->hash, key, family->signatures[at]);
	}
}

static inline void add(struct keys *keys, struct packet *packet, const void *key)
{
	uint32_t i = keys->count++;

	keys->packets[i] = packet;
	keys->keys[i] = key;
	keys->signatures[i] = (hash_sig_t)packet->hash;
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
		look_up(&table->ipv4, &ipv4, now);
		sweep(&table->ipv4, now);
	}
	if (ipv6.count) {
		look_up(&table->ipv6, &ipv6, now);
		sweep(&table->ipv6, now);
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
