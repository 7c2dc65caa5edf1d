/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which dead servers were removed from a service's pool (`backend remove --dead`), for as long as former owners of
 * buckets may remember them: window and hold from the removal on. Deltas say it, snapshots do not.
 */
#ifndef FAIRLEAD_MUX_NOTICE_REMOVALS_H
#define FAIRLEAD_MUX_NOTICE_REMOVALS_H

#include "ring/delta.h"

struct removal {
	struct fl_address server;
	uint32_t generation; /* that removed it */
	uint32_t since;      /* when that was committed, in Unix seconds */
};

/* All zero: none. */
struct removals {
	uint32_t count;
	struct removal *list;
};

/* Whether an entry of a delta, or of a ring's backends, says that its machine is gone. */
static inline bool removal_is_of(const struct fl_delta_backend *backend)
{
	return backend->flags & FL_BACKEND_DEAD;
}

/*
 * Adds those of a delta; forgets those whose window is over, and servers that the change, a delta or an image, has in the
 * pool again. -ENOMEM: nothing has changed.
 */
int removals_note(struct removals *removals, const struct delta *change, uint32_t now, uint32_t window);
void removals_free(struct removals *removals);

#endif
