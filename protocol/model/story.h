/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FAIRLEAD_MODEL_LIST_STORY_H
#define FAIRLEAD_MODEL_LIST_STORY_H

#include "search.h"

enum { STORY_MAX = 256 };

/* Prints the shortest sequence of steps that broke a connection by this cause. */
void story_tell(const struct tally *tally, enum cause which);

/* Prints the steps of a random walk. */
void story_walk(const struct tally *tally, const struct step *steps, unsigned n);

#endif
