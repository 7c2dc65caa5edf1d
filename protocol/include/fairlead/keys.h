/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The keys of a cluster's tags (protocol/README.md, 2, Keys and trust). Muxes and probes have the cluster's key; all
 * others are made of it, each for one purpose, so that it can be given to those who need it and no others. The cluster's
 * key hashes nothing but the messages below.
 *
 * While the cluster's key is replaced there are two. FL_LIST_KEY in a header says which of them its tag was made by: it is
 * the lowest bit of the key's first byte, which differs in the two. Who has one key only takes it for either.
 */
#ifndef FAIRLEAD_KEYS_H
#define FAIRLEAD_KEYS_H

#include "hash.h"

/* "list key", "told key", "muxs key" */
#define FL_LIST_KEY_LABEL   0x79656b207473696cULL
#define FL_NOTICE_KEY_LABEL 0x79656b20646c6f74ULL
#define FL_MUX_KEY_LABEL    0x79656b207378756dULL

/* Whether tags by this cluster's key, and by the keys that are made of it, have KEY set. */
FL_INLINE bool fl_key_bit(const struct fl_siphash_key *cluster)
{
	return cluster->k0 & 1;
}

/* By halves: an address is aligned for 32 bits. */
FL_INLINE void fl_siphash_address(struct fl_siphash_state *s, const struct fl_address *address)
{
	fl_siphash_word(s, (fl_u64)fl_load_le32(address->bytes + 4) << 32 | fl_load_le32(address->bytes));
	fl_siphash_word(s, (fl_u64)fl_load_le32(address->bytes + 12) << 32 | fl_load_le32(address->bytes + 8));
}

/* The two halves of a message of len bytes: they differ in the last word, where `second` makes part 0 to part 1. */
FL_INLINE struct fl_siphash_key fl_key_end(const struct fl_siphash_state *message, fl_u64 last, fl_u64 second,
					   fl_u32 len)
{
	struct fl_siphash_state s0 = *message, s1 = *message;
	struct fl_siphash_key key;

	fl_siphash_word(&s0, last);
	fl_siphash_word(&s1, last | second);
	key.k0 = fl_siphash_end(&s0, 0, len);
	key.k1 = fl_siphash_end(&s1, 0, len);
	return key;
}

/* The key of a service's packets. */
FL_INLINE struct fl_siphash_key fl_list_key(const struct fl_siphash_key *cluster, fl_u16 service)
{
	struct fl_siphash_state s = fl_siphash_begin(cluster);

	fl_siphash_word(&s, FL_LIST_KEY_LABEL);
	return fl_key_end(&s, (fl_u64)(service & 0xff) << 8 | service >> 8, 1 << 16, 16);
}

/* The key of the notices to this address of a server, and of its acknowledgements. */
FL_INLINE struct fl_siphash_key fl_notice_key(const struct fl_siphash_key *cluster, const struct fl_address *server)
{
	struct fl_siphash_state s = fl_siphash_begin(cluster);

	fl_siphash_word(&s, FL_NOTICE_KEY_LABEL);
	fl_siphash_address(&s, server);
	return fl_key_end(&s, 0, 1, 32);
}

/* The key of what muxes send to each other. */
FL_INLINE struct fl_siphash_key fl_mux_key(const struct fl_siphash_key *cluster)
{
	struct fl_siphash_state s = fl_siphash_begin(cluster);

	fl_siphash_word(&s, FL_MUX_KEY_LABEL);
	return fl_key_end(&s, 0, 1, 16);
}

#endif
