/* SPDX-License-Identifier: Apache-2.0 */
#include "steering/othello/pair.h"

#include <stdlib.h>

#include "steering/othello/arrays.h"

static struct othello_set set_of(const struct othello_arrays *arrays)
{
	return (struct othello_set){.a = arrays->cells,
				    .b = arrays->cells + arrays->na,
				    .seed = arrays->seed,
				    .na = arrays->na,
				    .nb = arrays->nb,
				    .hash = arrays->hash};
}

static bool has_same_places(const struct othello_arrays *newest, const struct othello_arrays *previous)
{
	return previous && previous->seed == newest->seed && previous->na == newest->na && previous->nb == newest->nb &&
	       previous->hash == newest->hash;
}

size_t othello_pair_memory(const struct othello_arrays *newest, const struct othello_arrays *previous)
{
	return has_same_places(newest, previous) ? 2 * othello_arrays_memory(newest) : 0;
}

/* Puts the cells of both beside each other. */
static void join(struct othello_pair *pair)
{
	uint64_t count = (uint64_t)pair->newest->na + pair->newest->nb;
	uint32_t *both = othello_cells_reserve(othello_pair_memory(pair->newest, pair->previous));

	if (!both)
		return;
	for (uint64_t i = 0; i < count; i++)
		both[i] = pair->newest->cells[i] | (uint32_t)pair->previous->cells[i] << 16;
	pair->both_a = both;
	pair->both_b = both + pair->newest->na;
}

struct othello_pair *othello_pair_new(struct othello_arrays *newest, struct othello_arrays *previous, bool low_bits)
{
	struct othello_pair *pair = malloc(sizeof(*pair));

	if (!pair)
		return NULL;
	*pair = (struct othello_pair){
	    .first = set_of(newest), .newest = newest, .previous = previous, .low_bits = low_bits};
	if (previous)
		pair->second = set_of(previous);
	if (has_same_places(newest, previous))
		join(pair);
	return pair;
}

void othello_pair_free(void *pair)
{
	struct othello_pair *old = pair;

	if (!old)
		return;
	free(old->both_a);
	othello_arrays_free(old->newest);
	othello_arrays_free(old->previous);
	free(old);
}
