/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of buckets of a ring, in memory a bit for each, and as reports carry it: base64 of varints
 * (protocol/README.md, 11).
 */
#ifndef FAIRLEAD_AGENT_BUCKET_SET_H
#define FAIRLEAD_AGENT_BUCKET_SET_H

#include <stddef.h>

#include <fairlead/hash.h>

struct bucket_set {
	fl_u32 buckets; /* of the ring */
	fl_u64 words[]; /* the last one has no bit beyond the ring */
};

/* An empty set; NULL: no memory. Freed by free(). */
struct bucket_set *bucket_set_new(fl_u32 buckets);

/*
 * The set that the text describes, freed by free(). NULL: *word is what is wrong with it, a word of the README, or
 * "memory".
 */
struct bucket_set *bucket_set_read(const char *text, fl_u32 buckets, const char **word);

/* The set as text, freed by free(); NULL: no memory. */
char *bucket_set_write(const struct bucket_set *set);

FL_INLINE void bucket_set_add(struct bucket_set *set, fl_u32 bucket)
{
	set->words[bucket / 64] |= 1ULL << bucket % 64;
}

FL_INLINE bool bucket_set_has(const struct bucket_set *set, fl_u32 bucket)
{
	return set->words[bucket / 64] >> bucket % 64 & 1;
}

#endif
