/* SPDX-License-Identifier: Apache-2.0 */
/* Has a server reset nothing for a while, by its map `quiet`. */
#ifndef FAIRLEAD_QUIET_H
#define FAIRLEAD_QUIET_H

#include "server.h"

/* From now on. Returns 0 or a negative errno. */
int quiet_begin(int map, fl_u32 seconds);

/* How many seconds it still is quiet, rounded up. */
fl_u32 quiet_left(int map);

#endif
