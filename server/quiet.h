/* SPDX-License-Identifier: Apache-2.0 */
/* Has a server reset nothing for a while, by its map `quiet`. */
#ifndef FAIRLEAD_QUIET_H
#define FAIRLEAD_QUIET_H

#include "server.h"

struct quiet_time {
	fl_u32 seconds; /* how long it lasts */
	fl_u32 left;    /* how much of that is left, rounded up */
};

/* From now on, for so many nanoseconds. Returns 0 or a negative errno. */
int quiet_begin(int map, fl_u64 lasts);

/* From now on, for as long as it was before. */
int quiet_again(int map);

struct quiet_time quiet_read(int map);

#endif
