/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live muxes, including this one, and which of them collects a datagram's fragments (fragments.h): the one with the
 * highest weight (rendezvous hashing; Thaler, Ravishankar, 1998), so that a mux that joins or leaves moves only its own
 * share. Immutable: any change of members or next hops makes a new table.
 */
#ifndef FAIRLEAD_MUX_PEERS_H
#define FAIRLEAD_MUX_PEERS_H

#include <fairlead/hash.h>

#include "ring/backend.h"

struct peer {
	struct backend line; /* the outer header of packets to it; unused for this mux itself */
	struct fl_address address;
	uint64_t key;
	bool self;
};

/* What all muxes of a cluster have in common (protocol/README.md, 8). */
struct peers_deal {
	struct fl_siphash_key seed;    /* by which fragments are dealt out */
	uint8_t tag_flags;             /* of what this mux sends: TAG, perhaps with KEY; 0: the cluster has no key */
	struct fl_siphash_key keys[2]; /* of muxes, by KEY */
};

struct peers {
	uint32_t count;
	struct peers_deal deal;
	struct peer list[]; /* the mux itself first */
};

/*
 * addresses: those of all muxes, each once, in any order; self is added if missing. NULL: no memory.
 */
struct peers *peers_new(const struct fl_address *addresses, uint32_t count, const struct fl_address *self,
			const struct peers_deal *deal, const struct next_hops *hops);

/* Whether a next hop has changed since; also false if memory ran out. */
bool peers_differ(const struct peers *peers, const struct next_hops *hops);

/* The same peers with their current next hops, perhaps dealt to by another seed. NULL: no memory. */
struct peers *peers_renew(const struct peers *old, const struct peers_deal *deal, const struct next_hops *hops);

void peers_free(struct peers *peers);

/* The mux that collects a datagram with this hash; never NULL. */
const struct peer *peers_owner(const struct peers *peers, uint64_t hash);

bool peers_has(const struct peers *peers, const struct fl_address *address);

#endif
