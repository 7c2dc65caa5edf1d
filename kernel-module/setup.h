/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A server's configuration. Peers are prefixes, of which the longest that an address has counts. They are sorted by
 * address, without those that change nothing, and each knows the one around it: a binary search finds the last that
 * begins below an address, and the longest is that one or one of those around it.
 */
#ifndef FAIRLEAD_SETUP_H
#define FAIRLEAD_SETUP_H

#include <server.h>

enum fl_outer_family {
	FL_OUTER_IPV4,
	FL_OUTER_IPV6,
	FL_OUTER_FAMILIES,
};

static inline enum fl_outer_family fl_outer_family(const struct fl_address *address)
{
	return fl_address_is_ipv4(address) ? FL_OUTER_IPV4 : FL_OUTER_IPV6;
}

struct fl_setup_peer {
	struct fl_peer peer;
	int around; /* index of the longest prefix that covers it; -1: none does */
};

struct fl_setup {
	struct fl_server_config config;            /* tagged: packets and notices must have tags of these keys */
	struct fl_address self[FL_OUTER_FAMILIES]; /* its addresses; none where the server has none of the family */
	struct fl_key_pair notice_keys[FL_OUTER_FAMILIES]; /* of our addresses */
	struct fl_service_keys *service_keys;              /* in the order of services, one of each; kvmalloc()ed */
	unsigned int service_count;
	unsigned int peer_count;
	struct fl_setup_peer peers[];
};

/* Copies the peers, which must be valid; the caller fills in the rest. NULL if memory runs out. */
struct fl_setup *fl_setup_create(const struct fl_peer *peers, unsigned int peer_count);
void fl_setup_free(struct fl_setup *setup);

/* Whether its prefix has at most 128 bits, and no host bits, and it has a role. */
bool fl_setup_peer_is_valid(const struct fl_peer *peer);

/* Whether the address is a peer's of one of these roles. */
bool fl_setup_trusts(const struct fl_setup *setup, const struct fl_address *address, u32 roles);

/* The key of the service's packets, with KEY set or not; NULL: there is none. */
const struct fl_siphash_key *fl_setup_service_key(const struct fl_setup *setup, u16 service, bool bit);

#endif
