/* SPDX-License-Identifier: Apache-2.0 */
#include "limit.h"

#include <string.h>

#include "explorer.h"
#include "story.h"

/* Moves that packets of the connection are still sent back across. */
static unsigned open_moves(const struct world_setting *setting, const struct world *world)
{
	unsigned n = 0;

	for (unsigned g = 1; g <= world->moves; g++)
		n += world_is_followed(setting, world, g);
	return n;
}

static bool has_fast_clock(const struct world_setting *setting)
{
	for (unsigned s = 0; s < WORLD_SERVERS; s++)
		if (setting->clock_ticks[s] > 0)
			return true;
	return false;
}

/* Whether the step breaks nothing once the notices that are still under way have arrived. */
static bool lacks_notice(const struct world_setting *setting, const struct world *before, struct world_step step)
{
	struct world told = *before;

	if (setting->notices == WORLD_NOTICES_OFF)
		return false;
	world_tell(setting, &told);
	return world_take(setting, &told, step) != WORLD_BROKEN;
}

/* Whether the controller moved the bucket back to its previous owner, from a third one, while both moves were followed. */
static bool has_returned(const struct world_setting *setting, const struct world *world)
{
	for (unsigned g = 3; g <= world->moves; g++)
		if (world->owner[g] == world->owner[g - 2] && world->previous[g] == world->owner[g - 1] &&
		    world_is_followed(setting, world, g - 2))
			return true;
	return false;
}

/* Whether a dead server owned the bucket between the connection's server and today's owner, and did not give it back. */
static bool lies_behind_dead(const struct world *world)
{
	for (unsigned g = world->moves; world->dead != WORLD_NONE && g > 0; g--) {
		if (world->owner[g - 1] == world->dead && world->owner[g] != world->previous[g - 1])
			return true;
		if (world->owner[g - 1] == world->home)
			return false;
	}
	return false;
}

/* Whether the late mux brought the connection or this packet of it. */
static bool is_late(const struct world *before, struct world_step step)
{
	return before->by_late || (step.action == WORLD_PACKET && step.subject == WORLD_LATE);
}

/* Whether packets of the connection's server are not sent back to it any more: it lost the bucket too long ago. */
static bool is_over(const struct world_setting *setting, const struct world *world)
{
	for (unsigned g = world->moves; g > 0 && world->owner[g] != world->home; g--)
		if (world->owner[g - 1] == world->home)
			return !world_is_followed(setting, world, g);
	return false;
}

/*
 * Whether a hold ended by a report although the connection was there: only a mux that is late, absent and never withdraws
 * can open one after the report.
 */
static bool is_report_wrong(const struct world_setting *setting, const struct world *world)
{
	return setting->traffic == WORLD_TCP && world->overtaken && (!world->by_late || setting->absence != WORLD_LOST);
}

enum limit limit_of(const struct world_setting *setting, const struct world *before, struct world_step step)
{
	if (step.action == WORLD_OFF)
		return setting->absence == WORLD_LOST && before->by_late ? LIMIT_LOST : LIMIT_NONE;
	if (is_over(setting, before) && !is_report_wrong(setting, before))
		return setting->hold && setting->traffic == WORLD_TCP ? LIMIT_HOLD : LIMIT_WINDOW;
	if (lacks_notice(setting, before, step))
		return LIMIT_NOTICE;
	if (setting->traffic != WORLD_TCP && lies_behind_dead(before))
		return LIMIT_DEAD;
	if (has_returned(setting, before))
		return LIMIT_RETURN;
	if (open_moves(setting, before) > 3)
		return LIMIT_FOURTH_MOVE;
	if (has_fast_clock(setting) && setting->traffic != WORLD_TCP)
		return LIMIT_CLOCK;
	if (setting->traffic != WORLD_TCP && (before->moves > 1 || is_late(before, step)))
		return LIMIT_DATAGRAM;
	return LIMIT_NONE;
}

const char *limit_name(enum limit limit)
{
	static const char *const names[LIMITS] = {
	    [LIMIT_NONE] = "none",         [LIMIT_WINDOW] = "window",           [LIMIT_HOLD] = "hold",
	    [LIMIT_LOST] = "lost",         [LIMIT_NOTICE] = "notice",           [LIMIT_DEAD] = "dead",
	    [LIMIT_RETURN] = "return",     [LIMIT_FOURTH_MOVE] = "fourth-move", [LIMIT_CLOCK] = "clock",
	    [LIMIT_DATAGRAM] = "datagram",
	};

	return names[limit];
}

static void first(const void *setting, void *state)
{
	struct world world = world_first();

	(void)setting;
	memcpy(state, &world, sizeof(world));
}

static unsigned steps(const void *setting, const void *state, struct world_step *steps)
{
	return world_steps(setting, state, steps);
}

static enum world_result take(const void *setting, void *state, struct world_step step)
{
	return world_take(setting, state, step);
}

static int limit(const void *setting, const void *before, struct world_step step)
{
	return limit_of(setting, before, step);
}

static char *tell(const void *setting, const struct world_step *steps, size_t count)
{
	return story(setting, steps, count);
}

const struct model model_world = {
    .state_len = sizeof(struct world),
    .first = first,
    .steps = steps,
    .take = take,
    .limit = limit,
    .story = tell,
    .last_action = WORLD_SETTLE,
};

_Static_assert((int)LIMITS <= (int)MODEL_LIMITS_MAX && (int)WORLD_STEPS_MAX <= (int)MODEL_STEPS_MAX, "they fit in");
