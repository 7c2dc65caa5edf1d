/* SPDX-License-Identifier: Apache-2.0 */
#include "limit.h"

/* Moves whose window is open. */
static unsigned open_moves(const struct world *world)
{
	unsigned n = 0;

	for (unsigned g = 1; g <= world->moves; g++)
		n += world->age[g] < WORLD_WINDOW;
	return n;
}

static bool has_clock_error(const struct world_setting *setting)
{
	for (unsigned s = 0; s < WORLD_SERVERS; s++)
		if (setting->clock_ticks[s])
			return true;
	return false;
}

enum limit limit_of(const struct world_setting *setting, const struct world *before, enum world_mux mux)
{
	if (world_left(before) >= WORLD_WINDOW)
		return LIMIT_WINDOW;
	if (has_clock_error(setting))
		return LIMIT_CLOCK;
	if (before->by_late || (mux == WORLD_LATE && before->late < before->moves))
		return LIMIT_MUX_BEHIND;
	if (open_moves(before) > 1)
		return LIMIT_SECOND_MOVE;
	if (setting->traffic == WORLD_UDP && before->moves > 1)
		return LIMIT_DATAGRAM;
	return LIMIT_NONE;
}

const char *limit_name(enum limit limit)
{
	static const char *const names[LIMITS] = {
	    [LIMIT_NONE] = "none",
	    [LIMIT_WINDOW] = "window",
	    [LIMIT_CLOCK] = "clock",
	    [LIMIT_MUX_BEHIND] = "mux-behind",
	    [LIMIT_SECOND_MOVE] = "second-move",
	    [LIMIT_DATAGRAM] = "datagram",
	};

	return names[limit];
}
