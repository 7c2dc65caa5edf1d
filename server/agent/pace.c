// SPDX-License-Identifier: Apache-2.0
#include "pace.h"

static fl_u32 jitter(fl_u32 ms, fl_u32 random)
{
	return (fl_u32)((fl_u64)ms * (900 + random % 201) / 1000);
}

fl_u32 pace_answered(struct pace *pace, fl_u32 seconds, fl_u32 random)
{
	pace->failures = 0;
	return jitter(seconds * 1000, random);
}

fl_u32 pace_failed(struct pace *pace, fl_u32 random)
{
	fl_u32 ms = PACE_BACKOFF_MAX_MS;

	if (pace->failures < 5)
		ms = PACE_BACKOFF_MIN_MS << pace->failures;
	pace->failures++;
	pace->current = (pace->current + 1) % pace->controllers;
	return jitter(ms, random);
}
