/* SPDX-License-Identifier: Apache-2.0 */
#include "owners.h"

#include <stdlib.h>

static void stand_before(const struct owners *owners, struct owners_cursor *cursor, uint32_t run)
{
	cursor->run = run;
	cursor->start = owners->delta->runs[run].start;
	cursor->end = cursor->start + owners->delta->runs[run].count;
}

void owners_advance(const struct owners *owners, struct owners_cursor *cursor)
{
	const struct delta *delta = owners->delta;
	uint32_t next = cursor->run + 1;

	if (next < delta->runs_count && delta->runs[next].owner == delta->runs[cursor->run].owner)
		stand_before(owners, cursor, next);
	else
		cursor->start = UINT32_MAX;
}

struct owners *owners_new(const struct delta *delta)
{
	struct owners *owners = calloc(1, sizeof(*owners));

	if (!owners)
		return NULL;
	owners->delta = delta;
	for (uint32_t id = 0; id <= FL_BACKEND_MAX; id++)
		owners->cursor[id].start = UINT32_MAX;
	for (uint32_t i = delta->runs_count; i--;) /* downwards: the first run of an owner stands */
		stand_before(owners, &owners->cursor[delta->runs[i].owner], i);
	return owners;
}

void owners_free(struct owners *owners)
{
	free(owners);
}
