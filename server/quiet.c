// SPDX-License-Identifier: Apache-2.0
#include <bpf/bpf.h>
#include <errno.h>
#include <time.h>

#include "quiet.h"

#define SECOND 1000000000ULL

static fl_u64 monotonic(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (fl_u64)now.tv_sec * SECOND + (fl_u64)now.tv_nsec;
}

int quiet_begin(int map, fl_u32 seconds)
{
	fl_u64 until = seconds ? monotonic() + seconds * SECOND : 0; /* 0: not even until the clock's next tick */
	fl_u32 slot = 0;

	return bpf_map_update_elem(map, &slot, &until, BPF_ANY) ? -errno : 0;
}

fl_u32 quiet_left(int map)
{
	fl_u64 until = 0, now = monotonic();
	fl_u32 slot = 0;

	bpf_map_lookup_elem(map, &slot, &until);
	return (fl_u32)(now < until ? (until - now + SECOND - 1) / SECOND : 0);
}
