/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each steering method does in lanes (packet/lanes_stages.h), for a group with one service: inline functions of its own
 * folder, in <name>/<name>_lanes.h.
 *
 *	fetch		once hashes are known: places of buckets, and prefetches their rows
 *
 * and a struct lanes_method of what else it needs:
 *
 *	has_second	whether packets may have a second bucket: `second` is set, and `seconds` says whose differs
 *	buckets		if fetch said is_waiting: places of buckets, by what it prefetched
 *	order		once both rows are read: which of them is first
 */
#ifndef FAIRLEAD_MUX_METHODS_LANES_H
#define FAIRLEAD_MUX_METHODS_LANES_H

#include "flow/lanes.h"
#include "steering/hunt/hunt_lanes.h"
#include "steering/maat/maat_lanes.h"
#include "steering/othello/othello_lanes.h"
#include "steering/ring/ring_lanes.h"

#endif
