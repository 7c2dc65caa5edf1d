/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a service's ring is behind what is committed. Pure: generations and a clock go in.
 *
 * Seconds are those since the mux learned of the newest generation that it lacks whose arrival was noted: one is noted
 * at a time, the next one when that is applied. So a mux that follows at a constant distance is told of that distance
 * at the most, and one that stands still of the whole time.
 */
#ifndef FAIRLEAD_MUX_LAG_H
#define FAIRLEAD_MUX_LAG_H

#include <stdbool.h>
#include <stdint.h>

#include "config/options.h"

/* All zero: nothing is known. */
struct lag {
	uint32_t generation; /* that serves, 0: none */
	uint32_t latest;     /* that is committed, 0: not known */
	uint32_t mark;       /* a generation that is lacked, 0: none is */
	uint64_t since_ms;   /* when it became known */
};

/* What is true at this millisecond of a monotonic clock. */
static inline void lag_note(struct lag *lag, uint32_t generation, uint32_t latest, uint64_t now_ms)
{
	lag->generation = generation;
	lag->latest = latest;
	if (generation >= latest) {
		lag->mark = 0;
	} else if (!lag->mark || generation >= lag->mark) {
		lag->mark = latest;
		lag->since_ms = now_ms;
	}
}

static inline uint32_t lag_generations(const struct lag *lag)
{
	return lag->latest > lag->generation ? lag->latest - lag->generation : 0;
}

static inline uint64_t lag_ms(const struct lag *lag, uint64_t now_ms)
{
	return lag->mark && now_ms > lag->since_ms ? now_ms - lag->since_ms : 0;
}

/* Whether a ring that serves is further behind than it may be. */
static inline bool lag_is_beyond(const struct lag *lag, const struct lag_limits *limits, uint64_t now_ms)
{
	if (!lag->generation)
		return false;
	return (limits->generations && lag_generations(lag) > limits->generations) ||
	       (limits->seconds && lag_ms(lag, now_ms) > limits->seconds * 1000ULL);
}

#endif
