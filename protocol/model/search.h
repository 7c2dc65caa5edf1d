/* SPDX-License-Identifier: Apache-2.0 */
/* Visits every state of a setting, breadth first, compared byte by byte; or walks at random. */
#ifndef FAIRLEAD_MODEL_LIST_SEARCH_H
#define FAIRLEAD_MODEL_LIST_SEARCH_H

#include "steps.h"

enum { SEARCH_SETTLED = 255 }; /* in place of an action: all muxes are current, and the client sends again */

struct tally {
	uint64_t states, steps, packets[SENT + 1], unsettled;
	uint64_t broken[CAUSES];
	uint32_t example[CAUSES]; /* the state before the first that broke */
	struct step example_step[CAUSES];
};

/* Ends early with setting.search at the first broken one that nothing excuses. False: memory or time ran out. */
bool search_all(struct tally *tally);

/*
 * Random steps, from the first state again about every 100. Ends at the first broken connection that nothing excuses, with
 * the number of steps that led there, of at most `room`; 0: there was none.
 */
unsigned search_walk(struct tally *tally, struct step *way, unsigned room);

/* A state's bytes, at most STATE_PACKED_MAX. */
void search_pack(const struct state *t, uint8_t *p);
void search_unpack(const uint8_t *p, struct state *t);
bool search_is(const struct state *a, const uint8_t *packed);

/* A visited state: 4 bytes of its parent's number, and its bytes. */
uint8_t *search_node(uint64_t i);

#endif
