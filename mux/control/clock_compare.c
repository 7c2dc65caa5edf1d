/* SPDX-License-Identifier: Apache-2.0 */
#include "control/clock_compare.h"

void clock_compare_sent(struct clock_compare *compare, int64_t now_ms)
{
	compare->sent_ms = now_ms;
}

void clock_compare_answered(struct clock_compare *compare, int64_t written_ms, int64_t now_ms)
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
