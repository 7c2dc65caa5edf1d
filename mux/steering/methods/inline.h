/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each steering method does with packets: inline functions of its own folder.
 *
 * For a packet in the general path (packet/burst.h), in <name>/<name>_path.h, with a struct path_method of them:
 *
 *	fetch	once the hash is known and `bucket` that of its low half: prefetches what buckets come from, or their rows;
 *		sets the packet's bit of burst->seconds if it may have a second bucket
 *	rows	sets the buckets, says whether there is a second one, and reads their rows in the order in which owners
 *		are asked (flow/rows.h)
 *	count	once the packet has a backend or none; may be missing
 *
 * With packets that name their backend (PACKET_BY_ID) rows and count are called alone.
 *
 * In lanes (packet/lanes_stages.h), for a group with one service, in <name>/<name>_lanes.h:
 *
 *	fetch		once hashes are known: places of buckets, and prefetches their rows
 *
 * and a struct lanes_method of what else it needs:
 *
 *	has_second	whether packets may have a second bucket: `second` is set, and `seconds` says whose differs
 *	buckets		if fetch said is_waiting: places of buckets, by what it prefetched
 *	order		once both rows are read: which of them is first
 */
#ifndef FAIRLEAD_MUX_METHODS_INLINE_H
#define FAIRLEAD_MUX_METHODS_INLINE_H

#include "steering/hunt/hunt_path.h"
#include "steering/maat/maat_path.h"
#include "steering/othello/othello_path.h"
#include "steering/ring/ring_path.h"

#ifdef LANES_BYTES
#include "flow/lanes.h"
#include "steering/hunt/hunt_lanes.h"
#include "steering/maat/maat_lanes.h"
#include "steering/othello/othello_lanes.h"
#include "steering/ring/ring_lanes.h"
#endif

#endif
