/* SPDX-License-Identifier: Apache-2.0 */
/* When to send the next report, and to which controller. Pure; `random` is any number, drawn evenly. */
#ifndef FAIRLEAD_AGENT_PACE_H
#define FAIRLEAD_AGENT_PACE_H

#include <fairlead/types.h>

enum pace_limits {
	PACE_BACKOFF_MIN_MS = 1000,
	PACE_BACKOFF_MAX_MS = 30000,
};

struct pace {
	unsigned controllers, current; /* how many; which one is asked */
	unsigned failures;             /* since the last answer */
};

/* After an answer: milliseconds to wait, the seconds that it asks for times 0.9 to 1.1. */
fl_u32 pace_answered(struct pace *pace, fl_u32 seconds, fl_u32 random);

/* After a failure: milliseconds to wait, 1 s, 2 s, 4 s, .. 30 s, times 0.9 to 1.1; the next controller is current. */
fl_u32 pace_failed(struct pace *pace, fl_u32 random);

#endif
