/* SPDX-License-Identifier: Apache-2.0 */
/* Visits every state that world.h can reach, breadth first, and judges each packet of the connection in each of them. */
#ifndef FAIRLEAD_MODEL_EXPLORER_H
#define FAIRLEAD_MODEL_EXPLORER_H

#include "limit.h"

/* What became of the connection's packets, over any number of settings. */
struct tally {
	uint64_t states;
	uint64_t delivered;
	uint64_t dropped; /* the client sends it again */
	uint64_t broken[LIMITS];
	char *shortest[LIMITS]; /* of the setting that found it first: the sequence in words, a line a step */
};

/* Adds one setting's cases. False: no memory. */
bool explore(const struct world_setting *setting, struct tally *tally);

void tally_free(struct tally *tally);

#endif
