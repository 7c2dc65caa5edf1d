/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "test_steps.h"

/* Reads one step and the blanks behind it. */
static struct world_step read_step(const char *letters, const char **text)
{
	static const char digits[] = "0123456789abcdef";
	const char *letter = strchr(letters, *(*text)++), *digit;
	struct world_step step;

	assert_non_null(letter);
	step = (struct world_step){(uint8_t)(letter - letters), 0};
	digit = **text ? strchr(digits, **text) : NULL;
	if (digit) {
		step.subject = (uint8_t)(digit - digits);
		++*text;
	}
	*text += strspn(*text, " ");
	return step;
}

static void assert_possible(const struct model *model, const void *setting, const void *state, struct world_step step)
{
	struct world_step steps[MODEL_STEPS_MAX];
	unsigned n = model->steps(setting, state, steps);

	for (unsigned s = 0; s < n; s++)
		if (steps[s].action == step.action && steps[s].subject == step.subject)
			return;
	fail_msg("step %u, %u is not possible", step.action, step.subject);
}

enum world_result test_steps(const struct model *model, const void *setting, const char *letters, const char *text,
			     void *state, int *limit)
{
	enum world_result result = WORLD_IDLE;

	*limit = 0;
	model->first(setting, state);
	while (*text) {
		uint8_t before[MODEL_STATE_MAX];
		struct world_step step = read_step(letters, &text);

		assert_possible(model, setting, state, step);
		memcpy(before, state, model->state_len);
		result = model->take(setting, state, step);
		if (result == WORLD_BROKEN)
			*limit = model->limit(setting, before, step);
	}
	return result;
}
