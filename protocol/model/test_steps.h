/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences of a model's steps as text, for tests. */
#ifndef FAIRLEAD_MODEL_TEST_STEPS_H
#define FAIRLEAD_MODEL_TEST_STEPS_H

#include "explorer.h"

/*
 * Takes steps from the first state: each is a letter, by its place in `letters` the action, and maybe a hexadecimal digit,
 * the subject. Fails the test if one is not possible. Returns the last one's result; the state is then the one after it, and
 * *limit what covers it if the connection broke.
 */
enum world_result test_steps(const struct model *model, const void *setting, const char *letters, const char *text,
			     void *state, int *limit);

#endif
