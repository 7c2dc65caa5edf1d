/* SPDX-License-Identifier: Apache-2.0 */
/* What excuses a broken connection of choices.h, and choices.h as a model for the explorer. */
#include <string.h>

#include "choices.h"
#include "explorer.h"

/* Whether the connection's server has the bucket, or lost it less than so many ticks ago, or in its present hold. */
static bool is_near(const struct choices_setting *setting, const struct pair *pair, uint8_t bucket, int ticks)
{
	if (pair_newest(pair)->owner[bucket] == pair->home)
		return true;
	if (setting->pair.hold && pair_is_in_line(pair, pair->newest, bucket, pair->home))
		return true;
	for (unsigned g = pair->newest; g > 0; g--)
		if (pair->generation[g - 1].owner[bucket] == pair->home)
			return pair->generation[g].age[bucket] < ticks;
	return false;
}

/* Whether both of its buckets are not the server's for a window by the mux's clock. */
static bool is_over(const struct choices_setting *setting, const struct pair *pair, uint8_t mux)
{
	int ahead = setting->pair.mux_ticks[mux] > 0 ? setting->pair.mux_ticks[mux] : 0;
	int ticks = setting->pair.window - ahead;

	return pair->home != WORLD_NONE && !is_near(setting, pair, 0, ticks) && !is_near(setting, pair, 1, ticks);
}

/* Whether the bucket moved by a generation, and its packets are still sent back across. */
static bool is_followed(const struct choices_setting *setting, const struct pair *pair, uint8_t bucket, unsigned g)
{
	uint8_t before = pair->generation[g - 1].owner[bucket];

	if (pair->generation[g].owner[bucket] == before)
		return false;
	return pair->generation[g].age[bucket] < setting->pair.window ||
	       (setting->pair.hold && pair_is_in_line(pair, pair->newest, bucket, before));
}

/* Whether a bucket moved back to its previous owner, from a third one, while the move that gave it to that one is followed. */
static bool has_returned(const struct choices_setting *setting, const struct pair *pair)
{
	for (uint8_t b = 0; b < PAIR_BUCKETS; b++)
		for (unsigned g = 2; g <= pair->newest; g++) {
			uint8_t owner = pair->generation[g].owner[b];
			unsigned got = g - 1;

			if (owner == pair->generation[g - 1].owner[b] || owner != pair->generation[g - 1].previous[b])
				continue;
			while (got > 0 && pair->generation[got].owner[b] != owner)
				got--;
			while (got > 0 && pair->generation[got - 1].owner[b] == owner)
				got--;
			if (got > 0 && is_followed(setting, pair, b, got))
				return true;
		}
	return false;
}

/*
 * Whether the connection's server is behind the dead one, by a bucket that has moved on since: the dead one is named by
 * what a former owner remembers, and not by the ring, which could name the owner before it.
 */
static bool is_behind_dead(const struct pair *pair, uint8_t bucket)
{
	unsigned lost = pair->newest;
	bool is_behind = false;

	while (lost > 0 && (pair->generation[lost - 1].owner[bucket] != pair->dead ||
			    pair->generation[lost].owner[bucket] == pair->dead))
		lost--;
	for (unsigned g = 0; g < lost; g++)
		is_behind |= pair->generation[g].owner[bucket] == pair->home;
	return is_behind && pair_newest(pair)->owner[bucket] != pair->generation[lost].owner[bucket];
}

/* Whether four moves of a bucket are followed: packets are chained three times at most. */
static bool has_fourth_move(const struct choices_setting *setting, const struct pair *pair)
{
	unsigned open[PAIR_BUCKETS] = {0};

	for (unsigned g = 1; g <= pair->newest; g++)
		for (unsigned b = 0; b < PAIR_BUCKETS; b++)
			open[b] += is_followed(setting, pair, b, g);
	return open[0] > 3 || open[1] > 3;
}

enum choices_limit choices_limit_of(const struct choices_setting *setting, const struct choices *before,
				    struct world_step step)
{
	uint8_t mux = step.action == CHOICES_SEGMENT ? step.subject & 1 : WORLD_CURRENT, end;
	struct choices_setting at_once = *setting; /* a settling step may commit a removal */
	struct choices told = *before, reminded = *before;

	if (is_over(setting, &before->pair, mux) && !setting->pair.hold)
		return CHOICES_LIMIT_WINDOW;
	if (before->pair.forgot != WORLD_NONE) {
		pair_remind(&reminded.pair);
		if (choices_take(setting, &reminded, step, &end) != WORLD_BROKEN)
			return CHOICES_LIMIT_FORGOTTEN;
		pair_remind(&told.pair);
	}
	at_once.pair.notices = WORLD_NOTICES_AT_ONCE;
	pair_tell(&setting->pair, &told.pair);
	if (setting->pair.notices != WORLD_NOTICES_OFF && choices_take(&at_once, &told, step, &end) != WORLD_BROKEN)
		return CHOICES_LIMIT_NOTICE;
	if (before->pair.dead != WORLD_NONE && (is_behind_dead(&before->pair, 0) || is_behind_dead(&before->pair, 1)))
		return CHOICES_LIMIT_DEAD;
	if (has_returned(setting, &before->pair))
		return CHOICES_LIMIT_RETURN;
	return has_fourth_move(setting, &before->pair) ? CHOICES_LIMIT_FOURTH_MOVE : CHOICES_LIMIT_NONE;
}

static void first(const void *setting, void *state)
{
	struct choices choices = choices_first(setting);

	memcpy(state, &choices, sizeof(choices));
}

static unsigned steps(const void *setting, const void *state, struct world_step *steps)
{
	return choices_steps(setting, state, steps);
}

static enum world_result take(const void *setting, void *state, struct world_step step)
{
	uint8_t end;

	return choices_take(setting, state, step, &end);
}

static int limit(const void *setting, const void *before, struct world_step step)
{
	return choices_limit_of(setting, before, step);
}

static char *story(const void *setting, const struct world_step *steps, size_t count)
{
	return choices_story(setting, steps, count);
}

const struct model model_choices = {
    .state_len = sizeof(struct choices),
    .first = first,
    .steps = steps,
    .take = take,
    .limit = limit,
    .story = story,
    .last_action = PAIR_SETTLE,
};

_Static_assert(sizeof(struct choices) <= MODEL_STATE_MAX && (int)CHOICES_LIMITS <= (int)MODEL_LIMITS_MAX &&
		   (int)CHOICES_STEPS_MAX <= (int)MODEL_STEPS_MAX,
	       "they fit in");
