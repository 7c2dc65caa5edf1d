/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * How far one packet without a tag may raise the highest generation that a server has seen (protocol/README.md, 3).
 *
 * A server calls every packet of a lower generation stale, so one packet with generation 2^32-1 would make all packets
 * of unknown connections stale. A controller adds 1 with each commit, and begins the generations of a restored service
 * at the Unix second of the restore, or 1,000,000 above the backup. So a jump lands near what was seen or not far above
 * the clock.
 */
#ifndef FAIRLEAD_GENERATION_H
#define FAIRLEAD_GENERATION_H

#include "types.h"

enum fl_generation_numbers {
	FL_GENERATION_JUMP_MAX = 1 << 20, /* 1,048,576: more than a restore adds to its backup */
};

/* Whether a server without the cluster's key must not learn the generation. seen: 0 for none, which excuses all. */
FL_INLINE bool fl_generation_is_jump(fl_u32 seen, fl_u32 generation, fl_u32 now)
{
	fl_u32 from = seen > now ? seen : now;

	return seen && generation > from && generation - from > FL_GENERATION_JUMP_MAX;
}

#endif
