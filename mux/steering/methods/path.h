/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each steering method does for a packet in the general path (packet/burst.h): inline functions of its own folder,
 * in <name>/<name>_path.h, and a struct path_method of them.
 *
 *	fetch	once the hash is known and `bucket` that of its low half: prefetches what buckets come from, or their rows;
 *		sets the packet's bit of burst->seconds if it may have a second bucket
 *	rows	sets the buckets, says whether there is a second one, and reads their rows in the order in which owners
 *		are asked (flow/rows.h)
 *	count	once the packet has a backend or none; may be missing
 *
 * With packets that name their backend (PACKET_BY_ID) rows and count are called alone.
 */
#ifndef FAIRLEAD_MUX_METHODS_PATH_H
#define FAIRLEAD_MUX_METHODS_PATH_H

#include "steering/hunt/hunt_path.h"
#include "steering/maat/maat_path.h"
#include "steering/othello/othello_path.h"
#include "steering/ring/ring_path.h"

#endif
