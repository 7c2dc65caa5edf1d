/* SPDX-License-Identifier: Apache-2.0 */
#include "service/peers.h"

#include <stdlib.h>
#include <string.h>

#include "encap/gue.h"

static void fill(struct peer *peer, const struct fl_address *address, const struct fl_siphash_key *seed,
		 const struct next_hops *hops)
{
	struct next_hop hop = {0};

	if (!peer->self)
		hops->lookup(hops->context, address, &hop);
	backend_fill(&peer->line, &encap_gue, 0, address, &hop);
	peer->address = *address;
	peer->key = fl_siphash(seed, address->bytes, sizeof(address->bytes));
}

struct peers *peers_new(const struct fl_address *addresses, uint32_t count, const struct fl_address *self,
			const struct peers_deal *deal, const struct next_hops *hops)
{
	size_t bytes = sizeof(struct peers) + (count + 1U) * sizeof(struct peer);
	struct peers *peers = aligned_alloc(_Alignof(struct peers), (bytes + 63) & ~(size_t)63);

	if (!peers)
		return NULL;
	memset(peers, 0, bytes);
	peers->deal = *deal;
	peers->list[0].self = true;
	fill(&peers->list[0], self, &deal->seed, hops);
	peers->count = 1;
	for (uint32_t i = 0; i < count; i++)
		if (!fl_address_equal(&addresses[i], self))
			fill(&peers->list[peers->count++], &addresses[i], &deal->seed, hops);
	return peers;
}

bool peers_differ(const struct peers *peers, const struct next_hops *hops)
{
	for (uint32_t i = 1; i < peers->count; i++) {
		struct next_hop hop;
		struct backend line;

		hops->lookup(hops->context, &peers->list[i].address, &hop);
		backend_fill(&line, &encap_gue, 0, &peers->list[i].address, &hop);
		if (memcmp(&line, &peers->list[i].line, sizeof(line)))
			return true;
	}
	return false;
}

struct peers *peers_renew(const struct peers *old, const struct peers_deal *deal, const struct next_hops *hops)
{
	struct fl_address *addresses = calloc(old->count, sizeof(*addresses));
	struct peers *peers;

	if (!addresses)
		return NULL;
	for (uint32_t i = 0; i < old->count; i++)
		addresses[i] = old->list[i].address;
	peers = peers_new(addresses, old->count, &addresses[0], deal, hops);
	free(addresses);
	return peers;
}

void peers_free(struct peers *peers)
{
	free(peers);
}

/* Every bit of the result depends on every bit of x (the end of MurmurHash3). */
static inline uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 33) * 0xff51afd7ed558ccdULL;
	x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ULL;
	return x ^ x >> 33;
}

const struct peer *peers_owner(const struct peers *peers, uint64_t hash)
{
	const struct peer *owner = &peers->list[0];
	uint64_t most = mix(hash ^ owner->key);

	for (uint32_t i = 1; i < peers->count; i++) {
		uint64_t weight = mix(hash ^ peers->list[i].key);

		if (weight > most) {
			owner = &peers->list[i];
			most = weight;
		}
	}
	return owner;
}

bool peers_has(const struct peers *peers, const struct fl_address *address)
{
	for (uint32_t i = 0; i < peers->count; i++)
		if (fl_address_equal(&peers->list[i].address, address))
			return true;
	return false;
}
