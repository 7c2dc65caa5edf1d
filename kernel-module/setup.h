/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A server's configuration. Peers are prefixes. Sorted by address, and without those that others cover, they are
 * disjoint, so that a binary search finds the only one that can match: 10 steps for 1,024 prefixes.
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

struct fl_setup {
	struct fl_address self[FL_OUTER_FAMILIES]; /* none where the server has no address of the family */
	u16 port;
	u32 window;
	u32 quiet; /* seconds from SET or FORGET on in which nothing is reset by lists */
	bool chaining;
	bool mangle;      /* inner destinations that are not this host's become our own address */
	u16 ipip_service; /* the service of IPIP packets; 0: none are received */
	bool tagged;      /* packets must have a tag of tag_key */
	struct fl_siphash_key tag_key;
	unsigned int peer_count;
	struct fl_peer_key peers[];
};

/* Copies the peers, which must be valid; the caller fills in the rest. NULL if memory runs out. */
struct fl_setup *fl_setup_create(const struct fl_peer_key *peers, unsigned int count);
void fl_setup_free(struct fl_setup *setup);

/* Whether a prefix has at most 128 bits, and no host bits. */
bool fl_setup_peer_is_valid(const struct fl_peer_key *peer);

bool fl_setup_trusts(const struct fl_setup *setup, const struct fl_address *source);

#endif
