/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Visits every state that a model (world.h, codes.h, choices.h) can reach, breadth first, and judges each packet of the connection
 * in each of them.
 */
#ifndef FAIRLEAD_MODEL_EXPLORER_H
#define FAIRLEAD_MODEL_EXPLORER_H

#include <stddef.h>

#include "world.h"

enum { MODEL_STATE_MAX = 256, MODEL_STEPS_MAX = 112, MODEL_LIMITS_MAX = 16 };

/* States have no padding: they are compared and hashed as bytes. */
struct model {
	size_t state_len; /* at most MODEL_STATE_MAX */
	void (*first)(const void *setting, void *state);
	/* The steps that are possible, at most MODEL_STEPS_MAX; returns how many. */
	unsigned (*steps)(const void *setting, const void *state, struct world_step *steps);
	enum world_result (*take)(const void *setting, void *state, struct world_step step);
	/* What excuses a connection broken by this step: below MODEL_LIMITS_MAX, 0 for nothing. */
	int (*limit)(const void *setting, const void *before, struct world_step step);
	/* The steps in words, to be freed. */
	char *(*story)(const void *setting, const struct world_step *steps, size_t count);
	/* A step after which the connection's way is not followed. */
	uint8_t last_action;
};

extern const struct model model_world, model_codes, model_choices;

/* What became of the connection's packets, over any number of settings. */
struct tally {
	bool is_search; /* ends at the first connection that nothing excuses */
	uint64_t states;
	uint64_t delivered;
	uint64_t dropped; /* the client sends it again */
	uint64_t broken[MODEL_LIMITS_MAX];
	char *shortest[MODEL_LIMITS_MAX]; /* of the setting that found it first: the sequence in words, a line a step */
};

/* Adds one setting's cases. False: no memory. */
bool explore(const struct model *model, const void *setting, struct tally *tally);

void tally_free(struct tally *tally);

#endif
