// SPDX-License-Identifier: Apache-2.0
#include <bpf/bpf.h>
#include <errno.h>
#include <time.h>

#include "quiet.h"

int quiet_begin(int map, fl_u64 lasts)
{
	struct fl_server_quiet quiet = {.lasts = lasts};
	struct timespec now;
	fl_u32 slot = 0;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (lasts) /* else not even until the clock's next tick */
		quiet.until = (fl_u64)now.tv_sec * 1000000000ULL + (fl_u64)now.tv_nsec + lasts;
	return bpf_map_update_elem(map, &slot, &quiet, BPF_ANY) ? -errno : 0;
}

int quiet_again(int map)
{
	struct fl_server_quiet quiet;
	fl_u32 slot = 0;

	return bpf_map_lookup_elem(map, &slot, &quiet) ? -errno : quiet_begin(map, quiet.lasts);
}
