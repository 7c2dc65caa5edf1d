/* SPDX-License-Identifier: Apache-2.0 */
/* A sequence of steps in words. */
#ifndef FAIRLEAD_MODEL_STORY_H
#define FAIRLEAD_MODEL_STORY_H

#include <stddef.h>

#include "world.h"

/* A line for each step, with where each packet ended; the steps begin at world_first(). The caller frees it. */
char *story(const struct world_setting *setting, const struct world_step *steps, size_t count);

#endif
