/* SPDX-License-Identifier: Apache-2.0 */
/* What is due when: a binary heap of entries that are embedded in what they stand for. */
#ifndef FAIRLEAD_PROBE_SCHEDULE_H
#define FAIRLEAD_PROBE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

/* All zero: not scheduled. */
struct due {
	uint64_t at;   /* milliseconds of a monotonic clock */
	uint32_t slot; /* in the heap, from 1; 0: not in it */
};

struct schedule {
	struct due **heap; /* from 1 */
	uint32_t count;
	uint32_t room;
};

/* Puts it in, or moves it. False: no memory, and it is not in. */
bool schedule_set(struct schedule *schedule, struct due *due, uint64_t at);
/* Takes it out, if it is in. */
void schedule_unset(struct schedule *schedule, struct due *due);
/* The earliest, NULL if there is none. */
struct due *schedule_first(const struct schedule *schedule);
void schedule_free(struct schedule *schedule);

#endif
