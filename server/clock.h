/* SPDX-License-Identifier: Apache-2.0 */
/* A clock of the system, in nanoseconds. */
#ifndef FAIRLEAD_SERVER_CLOCK_H
#define FAIRLEAD_SERVER_CLOCK_H

#include <time.h>

#include <fairlead/types.h>

#define SECOND_NS 1000000000ULL
#define MS_NS     1000000ULL

FL_INLINE fl_u64 clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (fl_u64)now.tv_sec * SECOND_NS + (fl_u64)now.tv_nsec;
}

#endif
