/* SPDX-License-Identifier: Apache-2.0 */
#include "sets.h"

#include <errno.h>

#include "layout.h"
#include "steering/othello/arrays.h"
#include "steering/othello/pair.h"

int sets_init(struct sets *sets, struct cores *cores, struct reason *why)
{
	struct region reserved;

	*sets = (struct sets){.cores = cores};
	regions_init(&sets->cells, P4_CELLS_WORDS);
	if (!regions_take(&sets->cells, P4_SET_FIRST, &reserved))
		return reason_set(why, -ENOMEM, "no memory for the pipelines' arrays");
	return 0;
}

void sets_clear(struct sets *sets)
{
	regions_clear(&sets->cells);
}

void sets_configure(struct sets *sets, const struct service *service)
{
	uint32_t at = p4_slot(service) * P4_LINE_WORDS + P4_LINE_SETS;
	bool has_arrays = service->steering == STEERING_othello;

	/* what a service that had the slot before has left is of no use */
	if (has_arrays != !!(cores_read(sets->cores, "services", at) & P4_SETS))
		cores_write(sets->cores, "services", at, has_arrays ? p4_sets(P4_SET_LOW_BITS, P4_SET_NONE) : 0);
}

static const struct othello_pair *pair_of(const struct service *service)
{
	return service->steering == STEERING_othello ? othello_pair_of(service) : NULL;
}

uint64_t sets_words(const struct service *service)
{
	const struct othello_pair *pair = pair_of(service);

	if (!pair)
		return 0;
	return p4_set_words(pair->newest) + (pair->previous ? p4_set_words(pair->previous) : 0);
}

static bool has(const struct sets_copy *copy, const struct set *set)
{
	return copy->newest.arrays == set->arrays || copy->previous.arrays == set->arrays;
}

static void release(struct sets *sets, struct set *set)
{
	if (!set->arrays)
		return;
	regions_give(&sets->cells, &set->region);
	othello_arrays_free(set->arrays);
	set->arrays = NULL;
}

/* Gives back what the one has and the other does not. No packet may use it. */
static void give_back(struct sets *sets, struct sets_copy *copy, const struct sets_copy *other)
{
	if (!has(other, &copy->newest))
		release(sets, &copy->newest);
	if (!has(other, &copy->previous))
		release(sets, &copy->previous);
}

/* These arrays in a region: the one that they have already, or another, which is filled. */
static bool take(struct sets *sets, struct set *out, struct othello_arrays *arrays, const struct sets_copy *before)
{
	uint64_t words;

	if (!arrays)
		return true;
	if (arrays == before->newest.arrays || arrays == before->previous.arrays) {
		*out = arrays == before->newest.arrays ? before->newest : before->previous;
		return true;
	}
	words = p4_set_words(arrays);
	if (words > P4_CELLS_WORDS || !regions_take(&sets->cells, (uint32_t)words, &out->region))
		return false;
	out->arrays = othello_arrays_keep(arrays);
	for (uint32_t i = 0; i < words; i++)
		cores_write(sets->cores, "cells", out->region.base + i, p4_set_word(arrays, i));
	return true;
}

static uint64_t word_of(const struct sets_copy *copy, const struct othello_pair *pair)
{
	uint32_t first = copy->newest.arrays ? copy->newest.region.base : P4_SET_LOW_BITS;
	uint32_t second = pair && pair->low_bits ? P4_SET_LOW_BITS : P4_SET_NONE;

	return p4_sets(first, copy->previous.arrays ? copy->previous.region.base : second);
}

/* Both of a pair, in regions. False: nothing more is taken than before. */
static bool make(struct sets *sets, struct sets_copy *out, const struct sets_copy *before,
		 const struct othello_pair *pair)
{
	*out = (struct sets_copy){.word = 0};
	if (pair &&
	    (!take(sets, &out->newest, pair->newest, before) || !take(sets, &out->previous, pair->previous, before))) {
		give_back(sets, out, before);
		return false;
	}
	out->word = word_of(out, pair);
	return true;
}

/* The same where the old ones were, while no packet is in a pipeline. */
static bool replace(struct sets *sets, struct sets_copy *copy, const struct service *service)
{
	static const struct sets_copy none;
	bool was_closed = cores_is_closed(sets->cores), done;

	cores_close(sets->cores);
	cores_write_line(sets->cores, p4_slot(service), P4_LINE_GENERATION, 0);
	sets_drop(sets, copy, service);
	done = make(sets, copy, &none, pair_of(service));
	if (!done)
		*copy = none;
	else
		cores_write_line(sets->cores, p4_slot(service), P4_LINE_SETS, copy->word);
	if (!was_closed)
		cores_open(sets->cores);
	return done;
}

bool sets_put(struct sets *sets, struct sets_copy *copy, const struct service *service)
{
	struct sets_copy fresh, old = *copy;

	if (service->steering != STEERING_othello)
		return true;
	if (!make(sets, &fresh, copy, pair_of(service)))
		return replace(sets, copy, service);
	*copy = fresh;
	if (fresh.word == old.word)
		return true;
	cores_write_line(sets->cores, p4_slot(service), P4_LINE_SETS, fresh.word);
	if (old.newest.arrays || old.previous.arrays)
		cores_settle(sets->cores);
	give_back(sets, &old, copy);
	return true;
}

void sets_drop(struct sets *sets, struct sets_copy *copy, const struct service *service)
{
	static const struct sets_copy none;

	if (service->steering != STEERING_othello)
		return;
	cores_write_line(sets->cores, p4_slot(service), P4_LINE_SETS, p4_sets(P4_SET_LOW_BITS, P4_SET_NONE));
	give_back(sets, copy, &none);
	*copy = none;
}

void sets_forget(struct sets_copy *copy)
{
	othello_arrays_free(copy->newest.arrays);
	othello_arrays_free(copy->previous.arrays);
	*copy = (struct sets_copy){.word = 0};
}
