/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into a program: its wall clock is WALL_CLOCK_AHEAD seconds ahead. Other clocks are right. */
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static time_t ahead(void)
{
	const char *seconds = getenv("WALL_CLOCK_AHEAD");

	return seconds ? atol(seconds) : 0;
}

static int right(clockid_t clock, struct timespec *now)
{
	static int (*next)(clockid_t clock, struct timespec * now);

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "clock_gettime");
	return next(clock, now);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int error = right(clock, now);

	if (!error && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		now->tv_sec += ahead();
	return error;
}

time_t time(time_t *out)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (out)
		*out = now.tv_sec;
	return now.tv_sec;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
	struct timespec now;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &now);
	*out = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
	return 0;
}
