/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which owners of a service have lost buckets, and when they last did: those that the histories of a loaded ring name,
 * and those that lost some since. They may hold connections although no packet reaches them.
 */
#ifndef FAIRLEAD_MUX_NOTICE_LOSSES_H
#define FAIRLEAD_MUX_NOTICE_LOSSES_H

#include "ring/delta.h"
#include "ring/ring.h"

/* An owner that has lost buckets, and when it last did, in Unix seconds. */
struct notice_owner {
	uint16_t id;
	uint32_t since;
};

/* All zero: none. */
struct losses {
	uint32_t count;
	struct notice_owner *list; /* by ascending id */
};

/* Whether the window of its last loss is open. */
static inline bool losses_is_open(const struct notice_owner *owner, uint32_t now, uint32_t window)
{
	return now < (uint64_t)owner->since + window;
}

/* A change of a ring, as to who loses buckets by it. */
struct losses_change {
	const struct delta *delta; /* or an image */
	bool all_lose;             /* all owners, before and after, count as losers */
	const struct ring *ring;   /* before; NULL: there is none */
};

/*
 * Adds the losses of a change, and forgets those whose window is over, and the dead. -ENOMEM: nothing has changed. Walks
 * the buckets that a delta by number moves, and with all_lose the ring and the image.
 */
int losses_note(struct losses *losses, const struct losses_change *change, uint32_t now, uint32_t window);
void losses_free(struct losses *losses);

#endif
