/* SPDX-License-Identifier: Apache-2.0 */
/* What excuses a broken connection of codes.h, and codes.h as a model for the explorer. */
#include <string.h>

#include "codes.h"
#include "explorer.h"

/* Whether packets of the bucket get to the connection's server by what the mux has applied. */
static bool is_followed(const struct codes_setting *setting, const struct codes *codes, const struct pair_generation *g,
			uint8_t bucket)
{
	if (g->owner[bucket] == codes->pair.home)
		return true;
	if (g->previous[bucket] == codes->pair.home)
		return g->age[bucket] < setting->pair.window;
	return codes->away[bucket] < setting->pair.window;
}

/* Whether the mux names a bucket that was the connection's, and all of them are the server's no more for a window. */
static bool is_over(const struct codes_setting *setting, const struct codes *codes, uint8_t mux)
{
	const struct pair_generation *g = pair_applied(&codes->pair, mux);
	uint8_t b1, b2, followed, had;

	codes_buckets(codes, mux, &b1, &b2);
	followed = is_followed(setting, codes, g, b1) || is_followed(setting, codes, g, b2);
	had = codes->away[b1] != WORLD_NONE || codes->away[b2] != WORLD_NONE;
	return had && !followed;
}

enum codes_limit codes_limit_of(const struct codes_setting *setting, const struct codes *before, struct world_step step)
{
	uint8_t mux = step.action == CODES_PACKET ? step.subject : WORLD_CURRENT;
	struct codes told = *before, reminded = *before;

	if (!setting->timely && !setting->renewed && is_over(setting, before, mux))
		return CODES_LIMIT_WINDOW;
	if (before->silent)
		return CODES_LIMIT_SILENT;
	if (setting->absence == WORLD_LOST &&
	    (before->overdue || (mux == WORLD_LATE && codes_is_quiet(setting, before, before->pair.late + 1U))))
		return CODES_LIMIT_LOST;
	if (before->pair.forgot != WORLD_NONE) {
		pair_remind(&reminded.pair);
		if (codes_take(setting, &reminded, step) != WORLD_BROKEN)
			return CODES_LIMIT_FORGOTTEN;
		pair_remind(&told.pair);
	}
	pair_tell(&setting->pair, &told.pair);
	if (setting->pair.notices != WORLD_NOTICES_OFF && codes_take(setting, &told, step) != WORLD_BROKEN)
		return CODES_LIMIT_NOTICE;
	return CODES_LIMIT_NONE;
}

static void first(const void *setting, void *state)
{
	struct codes codes = codes_first(setting);

	memcpy(state, &codes, sizeof(codes));
}

static unsigned steps(const void *setting, const void *state, struct world_step *steps)
{
	return codes_steps(setting, state, steps);
}

static enum world_result take(const void *setting, void *state, struct world_step step)
{
	return codes_take(setting, state, step);
}

static int limit(const void *setting, const void *before, struct world_step step)
{
	return codes_limit_of(setting, before, step);
}

static char *story(const void *setting, const struct world_step *steps, size_t count)
{
	return codes_story(setting, steps, count);
}

const struct model model_codes = {
    .state_len = sizeof(struct codes),
    .first = first,
    .steps = steps,
    .take = take,
    .limit = limit,
    .story = story,
    .last_action = PAIR_SETTLE,
};

_Static_assert(sizeof(struct codes) <= MODEL_STATE_MAX && (int)CODES_LIMITS <= (int)MODEL_LIMITS_MAX &&
		   (int)CODES_STEPS_MAX <= (int)MODEL_STEPS_MAX,
	       "they fit in");
