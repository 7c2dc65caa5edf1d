/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/owners.h"

#include <stdlib.h>

/* More buckets than any ring has. */
static const uint64_t for_ever = UINT32_MAX / 2 * OWNERS_ONE;

static uint64_t moving(const struct fl_delta_run *run)
{
	return run->count * OWNERS_ONE | OWNERS_MOVES | run->current;
}

/* Makes this run the next one, after so many buckets that stay. */
static void stand_before(struct owners *owners, uint16_t owner, uint32_t run, uint32_t buckets)
{
	owners->run[owner] = run;
	owners->phase[owner] = buckets ? buckets * OWNERS_ONE : moving(&owners->delta->runs[run]);
}

void owners_advance(struct owners *owners, uint16_t owner)
{
	const struct delta *delta = owners->delta;
	const struct fl_delta_run *run = &delta->runs[owners->run[owner]];
	uint32_t next = owners->run[owner] + 1;

	if (owners->phase[owner] & OWNERS_MOVES && next < delta->runs_count && delta->runs[next].owner == owner)
		stand_before(owners, owner, next, delta->runs[next].start - (run->start + run->count));
	else
		owners->phase[owner] = owners->phase[owner] & OWNERS_MOVES ? for_ever : moving(run);
}

struct owners *owners_new(const struct delta *delta)
{
	struct owners *owners = malloc(sizeof(*owners));

	if (!owners)
		return NULL;
	owners->delta = delta;
	for (uint32_t id = 0; id <= FL_BACKEND_MAX; id++)
		owners->phase[id] = for_ever;
	for (uint32_t i = delta->runs_count; i--;) /* downwards: an owner's first run is kept */
		stand_before(owners, delta->runs[i].owner, i, delta->runs[i].start);
	return owners;
}

void owners_free(struct owners *owners)
{
	free(owners);
}
