/* SPDX-License-Identifier: Apache-2.0 */
#include "steering/othello/pair.h"

#include <stdlib.h>

enum { WORD_BITS = 64 };

static bool has_same_places(const struct othello_arrays *newest, const struct othello_arrays *previous)
{
	return previous && previous->seed == newest->seed && previous->na == newest->na && previous->nb == newest->nb &&
	       previous->hash == newest->hash;
}

size_t othello_pair_memory(const struct othello_arrays *newest, const struct othello_arrays *previous)
{
	if (!has_same_places(newest, previous))
		return 0;
	return (othello_arrays_count(newest) + WORD_BITS - 1) / WORD_BITS * sizeof(uint64_t);
}

/* Marks the places of the cells whose bits differ. */
static void find_changes(struct othello_pair *pair, uint64_t *changed)
{
	const uint64_t words = othello_arrays_words(pair->newest), bits = pair->newest->bits;

	for (uint64_t word = 0; word < words; word++) {
		uint64_t left = fl_load_le64(pair->newest->cells + word * FL_OTHELLO_WORD_LEN) ^
				fl_load_le64(pair->previous->cells + word * FL_OTHELLO_WORD_LEN);

		while (left) {
			uint64_t cell = (word * WORD_BITS + (uint64_t)__builtin_ctzll(left)) / bits;
			uint64_t end = (cell + 1) * bits - word * WORD_BITS;

			changed[cell / WORD_BITS] |= 1ULL << cell % WORD_BITS;
			left &= end < WORD_BITS ? ~0ULL << end : 0;
		}
	}
}

struct othello_pair *othello_pair_new(struct othello_arrays *newest, struct othello_arrays *previous, bool low_bits)
{
	struct othello_pair *pair = malloc(sizeof(*pair));

	if (!pair)
		return NULL;
	*pair = (struct othello_pair){.newest = newest, .previous = previous, .low_bits = low_bits};
	if (has_same_places(newest, previous))
		pair->changed = calloc(1, othello_pair_memory(newest, previous));
	if (pair->changed)
		find_changes(pair, pair->changed);
	return pair;
}

void othello_pair_free(void *pair)
{
	struct othello_pair *old = pair;

	if (!old)
		return;
	free(old->changed);
	othello_arrays_free(old->newest);
	othello_arrays_free(old->previous);
	free(old);
}
