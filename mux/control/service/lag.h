/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a service's ring is behind what is committed. Pure: depends only on generations and a clock.
 *
 * Lag in seconds is the time since the mux learned of one of the generations that it lacks, the mark. Once the mark is
 * applied, the newest generation known by then becomes the next mark. So a mux that follows at a constant distance
 * reports at most that distance, and one that is stuck reports the whole time.
 *
 * Which generation is committed is known from ZooKeeper. While that can't be read, the generations that other muxes
 * serve tell it too (hello_peers.h): they were committed.
 */
#ifndef FAIRLEAD_MUX_LAG_H
#define FAIRLEAD_MUX_LAG_H

#include <stdbool.h>
#include <stdint.h>

#include "config/options.h"

/* All zero: nothing is known yet. */
struct lag {
	uint32_t generation; /* served, 0: none */
	uint32_t latest;     /* committed, 0: unknown; the higher one of these two: */
	uint32_t read;       /* in ZooKeeper */
	uint32_t heard;      /* from other muxes since ZooKeeper could not be read, 0: none */
	uint32_t mark;       /* a generation that is missing, 0: none */
	uint64_t since_ms;   /* when the mark became known */
};

/* Records the state at now_ms of a monotonic clock. read: the latest generation, as last read in ZooKeeper. */
static inline void lag_note(struct lag *lag, uint32_t generation, uint32_t read, uint64_t now_ms)
{
	lag->generation = generation;
	lag->read = read;
	lag->latest = read > lag->heard ? read : lag->heard;
	if (generation >= lag->latest) {
		lag->mark = 0;
	} else if (!lag->mark || generation >= lag->mark) {
		lag->mark = lag->latest;
		lag->since_ms = now_ms;
	}
}

/*
 * Another mux serves this generation. A mux that falls silent later changes nothing: its generation remains committed.
 */
static inline void lag_hear(struct lag *lag, uint32_t generation, uint64_t now_ms)
{
	if (generation <= lag->heard)
		return;
	lag->heard = generation;
	lag_note(lag, lag->generation, lag->read, now_ms);
}

/* ZooKeeper has just been read: it alone counts, as its generations go back after a restore. lag_note() follows. */
static inline void lag_confirm(struct lag *lag)
{
	lag->heard = 0;
}

static inline uint32_t lag_generations(const struct lag *lag)
{
	return lag->latest > lag->generation ? lag->latest - lag->generation : 0;
}

static inline uint64_t lag_ms(const struct lag *lag, uint64_t now_ms)
{
	return lag->mark && now_ms > lag->since_ms ? now_ms - lag->since_ms : 0;
}

/* Whether a serving ring is further behind than the limits allow. */
static inline bool lag_is_beyond(const struct lag *lag, const struct lag_limits *limits, uint64_t now_ms)
{
	if (!lag->generation)
		return false;
	return (limits->generations && lag_generations(lag) > limits->generations) ||
	       (limits->seconds && lag_ms(lag, now_ms) > limits->seconds * 1000ULL);
}

#endif
