/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arrays by which workers choose the buckets of a service with steering `othello`: its steering_data (service.h).
 * The newest ones give a packet's bucket; the ones before give its second bucket, until a generation settles. Before
 * the first arrays the low bits of the hash were a packet's bucket: then it is these that give the second one. A pair
 * never changes: the control thread publishes another one together with a generation. Two pairs in succession may share
 * arrays.
 */
#ifndef FAIRLEAD_MUX_OTHELLO_PAIR_H
#define FAIRLEAD_MUX_OTHELLO_PAIR_H

#include <fairlead/othello.h>

#include "flow/service.h"

/* Arrays as a lookup reads them. */
struct othello_set {
	const uint16_t *a, *b; /* cells */
	uint64_t seed;
	uint32_t na, nb;
	enum fl_hash_kind hash;
};

/* Where a hash's cells are: in a and in b. */
struct othello_places {
	uint32_t a, b;
};

static inline struct othello_places othello_set_places(const struct othello_set *set, uint64_t hash)
{
	struct fl_othello_key key = fl_othello_key_make(set->hash, hash, set->seed);

	return (struct othello_places){fl_othello_index(key.low, set->na), fl_othello_index(key.high, set->nb)};
}

struct othello_arrays;

struct othello_pair {
	struct othello_set first, second;
	/*
	 * If seed and sizes are the same, as they nearly always are: the cells of both sets beside each other, the newest
	 * in the low half, so that two lookups wait for two lines and not four. Else, or without memory for it, NULL.
	 */
	uint32_t *both_a, *both_b;
	struct othello_arrays *newest;
	struct othello_arrays *previous; /* NULL: the low bits were before, or the newest alone count */
	bool low_bits;                   /* the low bits of the hash give the second bucket */
};

/* Takes over a reference to each; low_bits: only without previous. NULL: no memory, the caller keeps them. */
struct othello_pair *othello_pair_new(struct othello_arrays *newest, struct othello_arrays *previous, bool low_bits);

/* Bytes that a pair takes besides the arrays; previous may be NULL. */
size_t othello_pair_memory(const struct othello_arrays *newest, const struct othello_arrays *previous);

/* Frees a pair that no reader holds, and its references to arrays; NULL is allowed. steering.drop calls it. */
void othello_pair_free(void *pair);

/* NULL: the service has no arrays yet. Load it after the ring's generation and before rows (ring.h). */
static inline const struct othello_pair *othello_pair_of(const struct service *service)
{
	return service_steering_data(service);
}

#endif
