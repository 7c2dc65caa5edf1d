/* SPDX-License-Identifier: Apache-2.0 */
/* The cluster's key, from which those of all tags are made (fairlead/keys.h), and its successor while it is replaced. */
#ifndef FAIRLEAD_MUX_TAG_KEY_H
#define FAIRLEAD_MUX_TAG_KEY_H

#include <fairlead/keys.h>
#include <fairlead/list.h>

#include "config/reason.h"

struct tag_keys {
	struct fl_siphash_key current;   /* tags are made by it */
	struct fl_siphash_key by_bit[2]; /* and taken if they are by the one that KEY says; a single key is both */
};

/* The flags of what is tagged by this key; NULL: 0. */
static inline uint8_t tag_key_flags(const struct fl_siphash_key *key)
{
	if (!key)
		return 0;
	return fl_key_bit(key) ? FL_LIST_TAG | FL_LIST_KEY : FL_LIST_TAG;
}

static inline const struct fl_siphash_key *tag_keys_of(const struct tag_keys *keys, bool bit)
{
	return &keys->by_bit[bit];
}

/*
 * Reads a file that only its owner may read, as fairlead-server does: 32 hex digits, or lines `current HEX` and `next HEX`
 * in any order. Returns -EINVAL and why on failure; name is the option's, and why never contains a key.
 */
int tag_key_read(const char *name, const char *path, struct tag_keys *out, struct reason *why);

#endif
