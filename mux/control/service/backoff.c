/* SPDX-License-Identifier: Apache-2.0 */
#include "control/service/backoff.h"

#include "tree/tree.h"

void backoff_reset(struct backoff *backoff)
{
	*backoff = (struct backoff){.retry_at = UINT64_MAX};
}

void backoff_schedule(struct backoff *backoff, uint64_t now_ms)
{
	uint32_t wait = BACKOFF_MIN_MS;

	for (unsigned i = 1; i < backoff->failures && wait < BACKOFF_MAX_MS; i++)
		wait *= 2;
	backoff->retry_at = now_ms + wait / 2 + tree_jitter(wait / 2);
}

void backoff_schedule_once(struct backoff *backoff, uint64_t now_ms)
{
	if (backoff->retry_at == UINT64_MAX)
		backoff_schedule(backoff, now_ms);
}

void backoff_hold(struct backoff *backoff, uint64_t now_ms)
{
	backoff->holds = true;
	backoff_schedule(backoff, now_ms);
}

void backoff_resume(struct backoff *backoff)
{
	backoff->holds = false;
	backoff->retry_at = UINT64_MAX;
}
