/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's clocks. */
#ifndef FAIRLEAD_MUX_CLOCK_H
#define FAIRLEAD_MUX_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Monotonic milliseconds. */
static inline uint64_t clock_ms(void)
{
	return clock_ns(CLOCK_MONOTONIC) / 1000000;
}

/* Unix milliseconds by this machine's clock. */
static inline uint64_t clock_unix_ms(void)
{
	return clock_ns(CLOCK_REALTIME) / 1000000;
}

#endif
