/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arrays of services with steering `othello` in the pipelines' register cells (p4/README.md, "Sets of cells"). Arrays
 * never change, so new ones get a region of their own, which is filled in whole before the service's word names it; what
 * the word named before is free once no packet can be on its way by it. Arrays that stay, as those that become the ones
 * before, stay where they are.
 *
 * If there is no room beside the old ones, the gate is closed meanwhile (cores.h).
 */
#ifndef FAIRLEAD_P4_SETS_H
#define FAIRLEAD_P4_SETS_H

#include "cores.h"
#include "regions.h"

struct othello_arrays;

struct set {
	struct othello_arrays *arrays; /* a reference; NULL: none */
	struct region region;
};

/* A service's. All zero: none. */
struct sets_copy {
	struct set newest, previous;
	uint64_t word; /* as written; 0: not yet */
};

struct sets {
	struct cores *cores;
	struct regions cells;
};

int sets_init(struct sets *sets, struct cores *cores, struct reason *why);
void sets_clear(struct sets *sets);

/* Writes the word of a service that may have none yet. */
void sets_configure(struct sets *sets, const struct service *service);

/*
 * What the service has now: after its rows, before its generation. False: there is no room, nothing is left of the
 * copy, and the service's generation in the pipelines is 0.
 */
bool sets_put(struct sets *sets, struct sets_copy *copy, const struct service *service);

/* No packet may be served by it. */
void sets_drop(struct sets *sets, struct sets_copy *copy, const struct service *service);

/* Frees the references alone, when the pipelines are used no more. */
void sets_forget(struct sets_copy *copy);

/* Words of register cells that the service's arrays take; 0: it has none. */
uint64_t sets_words(const struct service *service);

#endif
