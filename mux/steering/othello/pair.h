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

#include "flow/service.h"
#include "steering/othello/arrays.h"

struct othello_pair {
	struct othello_arrays *newest;
	struct othello_arrays *previous; /* NULL: the low bits were before, or the newest alone count */
	/*
	 * If both have a hash's cells at the same places, as they nearly always do: a bit for each place, whether its cells
	 * differ, so that the previous ones are looked up for few packets. Else, or without memory for it, NULL.
	 */
	uint64_t *changed;
	bool low_bits; /* the low bits of the hash give the second bucket */
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
