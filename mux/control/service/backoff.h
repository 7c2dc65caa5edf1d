/* SPDX-License-Identifier: Apache-2.0 */
/* Exponential backoff with jitter: from BACKOFF_MIN_MS, doubled with each failure up to BACKOFF_MAX_MS. */
#ifndef FAIRLEAD_MUX_BACKOFF_H
#define FAIRLEAD_MUX_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

enum backoff_limits {
	BACKOFF_MIN_MS = 500,
	BACKOFF_MAX_MS = 8000,
};

struct backoff {
	unsigned failures; /* since the last success */
	uint64_t retry_at; /* UINT64_MAX: nothing is to be retried */
	bool holds;        /* nothing is started before retry_at */
};

/* No failures. */
void backoff_reset(struct backoff *backoff);
/* Schedules the retry for a random moment in the second half of the wait. */
void backoff_schedule(struct backoff *backoff, uint64_t now_ms);
/* As backoff_schedule(), unless a retry is scheduled already. */
void backoff_schedule_once(struct backoff *backoff, uint64_t now_ms);
/* As backoff_schedule(), and nothing is started until then. */
void backoff_hold(struct backoff *backoff, uint64_t now_ms);
/* The retry is being made. Failures still count. */
void backoff_resume(struct backoff *backoff);

#endif
