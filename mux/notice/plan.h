/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What servers must be told before a change of a ring is published (protocol/README.md, 2): which owners lose buckets,
 * or lost some within window and hold before, and of each bucket that moves and whose packets carry a move, it. Pure:
 * the published ring, earlier losses and the change go in, a list comes out; notices.h sends it.
 *
 *	ring	bucket 7: 2, before that 1, at t		a change gives bucket 7 to 3
 *	plan	losers: 2, 1					2 and 1 are told the new generation
 *		group: 2 from 1 at t, buckets 7, ...		2 is told where bucket 7 came from
 *
 * Of dead servers that the change removes, every other backend is told. No move from such a server is: its receiver
 * would follow it, since it learns both from the same generation.
 *
 * Buckets with equal rows are one group: they have the owner, the previous owner and the time of their move in common.
 *
 * Time for a ring of 8,388,608 buckets that all move and all have an open window: see docs/mux.md. Memory while it is
 * made: 12 bytes for each such bucket; 4 of them stay.
 */
#ifndef FAIRLEAD_MUX_NOTICE_PLAN_H
#define FAIRLEAD_MUX_NOTICE_PLAN_H

#include "notice/losses.h"
#include "notice/removals.h"
#include "ring/delta.h"
#include "ring/ring.h"

struct notice_group {
	fl_row row;            /* of each of its buckets before the change */
	uint32_t start, count; /* in the plan's buckets */
};

struct notice_plan {
	uint32_t generation; /* that the change leads to */
	uint32_t losers_count;
	uint16_t *losers; /* those by this change, then those before; each by ascending id */
	uint32_t groups_count;
	struct notice_group *groups; /* by their first bucket */
	uint32_t buckets_count;
	uint32_t *buckets; /* ascending in each group */
	uint32_t told_count;
	uint16_t *told; /* who is told of each removal, by ascending id */
	struct removals removals;
};

struct notice_scope {
	const uint64_t *told;   /* a bit for each id: the owners that this mux tells */
	bool has_moves;         /* whether servers use moves of this service */
	uint32_t now;           /* Unix seconds */
	uint32_t moved_seconds; /* for how long packets carry a move, FL_ROW_HELD: as long as the row has one */
	uint32_t owner_seconds; /* for how long a former owner may get packets: window and hold */
	struct losses losses;   /* so far; this change's may be among them */
};

/*
 * The change is a delta that follows the ring, or an image (a snapshot) of as many buckets. -ENOMEM: *out is empty.
 * Otherwise notice_plan_free() ends it.
 */
int notice_plan_make(struct notice_plan *out, const struct ring *ring, const struct delta *change,
		     const struct notice_scope *scope);
/*
 * Has these backends, a bit for each id, told of the removals of generation `first` and later. -ENOMEM: the plan is as
 * before.
 */
int notice_plan_add_removals(struct notice_plan *plan, const struct removals *removals, uint32_t first,
			     const uint64_t *told);
void notice_plan_free(struct notice_plan *plan);

#endif
