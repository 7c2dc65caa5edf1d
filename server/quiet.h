/* SPDX-License-Identifier: Apache-2.0 */
/* Has a server reset nothing for a while, by its map `quiet`. */
#ifndef FAIRLEAD_QUIET_H
#define FAIRLEAD_QUIET_H

#include "server.h"

/* From now on, for so many nanoseconds. Returns 0 or a negative errno. */
int quiet_begin(int map, fl_u64 lasts);

/* From now on, for as long as it was before. */
int quiet_again(int map);

#endif
