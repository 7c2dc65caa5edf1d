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

int quiet_begin(int map, fl_u64 lasts)
{
	struct fl_server_quiet quiet = {.lasts = lasts};
	fl_u32 slot = 0;

	if (lasts) /* else not even until the clock's next tick */
		quiet.until = monotonic() + lasts;
	return bpf_map_update_elem(map, &slot, &quiet, BPF_ANY) ? -errno : 0;
}

int quiet_again(int map)
{
	struct fl_server_quiet quiet;
	fl_u32 slot = 0;

	return bpf_map_lookup_elem(map, &slot, &quiet) ? -errno : quiet_begin(map, quiet.lasts);
}

struct quiet_time quiet_read(int map)
{
	struct fl_server_quiet quiet = {0};
	fl_u64 now = monotonic();
	fl_u32 slot = 0;

	bpf_map_lookup_elem(map, &slot, &quiet);
	return (struct quiet_time){
	    .seconds = (fl_u32)(quiet.lasts / SECOND),
	    .left = (fl_u32)(now < quiet.until ? (quiet.until - now + SECOND - 1) / SECOND : 0),
	};
}
