/* SPDX-License-Identifier: Apache-2.0 */
#include "random_pair.h"

#include <stdlib.h>

#include "image.h"
#include "steering/othello/arrays.h"
#include "steering/othello/pair.h"

/* In the sizes of the controller's: A a third larger than B. */
static struct othello_arrays *arrays_for(struct chance *chance, uint32_t connections, uint32_t buckets)
{
	return image_arrays(chance, 1, connections + connections / 3, connections, FL_HASH_SIPHASH, buckets);
}

/* Arrays as after a small change: one in so many cells differs. */
static struct othello_arrays *changed_arrays(struct chance *chance, const struct othello_arrays *base, uint32_t one_in)
{
	struct othello_arrays *arrays = arrays_for(chance, base->nb, 1U << base->bits);

	arrays->seed = base->seed;
	for (uint32_t i = 0; i < base->na + base->nb; i++)
		if (chance_below(chance, one_in))
			image_set_cell(arrays, i, othello_arrays_cell(base, i));
	return arrays;
}

struct othello_pair *random_pair_new(uint32_t count, uint32_t news, uint32_t connections, uint32_t buckets,
				     uint64_t seed)
{
	struct chance chance = {seed};
	struct othello_arrays *newest, *previous = NULL;
	struct othello_pair *pair;

	if (!count)
		return NULL;
	newest = arrays_for(&chance, connections, buckets);
	if (count == 2)
		previous = news ? changed_arrays(&chance, newest, news) : arrays_for(&chance, connections, buckets);
	pair = othello_pair_new(newest, previous, false);
	if (!pair)
		abort();
	return pair;
}
