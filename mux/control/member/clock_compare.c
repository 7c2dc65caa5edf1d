/* SPDX-License-Identifier: Apache-2.0 */
#include "control/member/clock_compare.h"

void clock_compare_sent(struct clock_compare *compare, int64_t now_ms)
{
	compare->sent_ms = now_ms;
}

static void compare_wall_clock(struct clock_compare *compare, int64_t written_ms, int64_t now_ms)
{
	int64_t trip = now_ms - compare->sent_ms;

	if (trip < 0 || trip > CLOCK_COMPARE_TRIP_MS) /* slow, or the clock was set meanwhile */
		return;
	compare->is_known = true;
	compare->ahead_ms = 0;
	if (compare->sent_ms > written_ms)
		compare->ahead_ms = compare->sent_ms - written_ms;
	else if (now_ms < written_ms)
		compare->ahead_ms = now_ms - written_ms;
}

void clock_compare_answered(struct clock_compare *compare, int64_t written_ms, int64_t now_ms, uint64_t monotonic_ms)
{
	if (written_ms <= 0 || written_ms > (int64_t)UINT32_MAX * 1000) /* no time */
		return;
	compare->has_time = true;
	compare->offset_ms = written_ms - (int64_t)monotonic_ms;
	compare_wall_clock(compare, written_ms, now_ms);
}

uint32_t clock_compare_seconds(struct clock_compare *compare, uint64_t monotonic_ms)
{
	int64_t seconds = ((int64_t)monotonic_ms + compare->offset_ms - CLOCK_COMPARE_BACK_MS) / 1000;

	if (compare->has_time && seconds > compare->seconds && seconds <= UINT32_MAX)
		compare->seconds = (uint32_t)seconds;
	return compare->seconds;
}
