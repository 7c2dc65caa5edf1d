// SPDX-License-Identifier: Apache-2.0
#include "told.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"

bool hashes_add(struct hashes *hashes, fl_u64 hash)
{
	if (hashes->count == hashes->room) {
		size_t room = hashes->room ? 2 * hashes->room : 64;
		fl_u8 *grown = realloc(hashes->bytes, 8 * room);

		if (!grown)
			return false;
		hashes->bytes = grown;
		hashes->room = room;
	}
	fl_store_le64(hashes->bytes + 8 * hashes->count++, hash);
	return true;
}

void told_end_part(struct told *told)
{
	free(told->part.opened.bytes);
	free(told->part.closed.bytes);
	told->part = (struct part){0};
	told->has_part = false;
}

bool told_keeps(struct told *told)
{
	if (told->closed < TOLD_CLOSED_MAX) {
		told->closed++;
		return true;
	}
	told->is_over = true;
	return false;
}

void told_refuse(struct told *told, const char *name, const char *why, fl_u64 now_ns, fl_u32 random)
{
	told->refusals++;
	told->pace.controllers = 1;
	told->retry_ns = now_ns + pace_failed(&told->pace, random) * MS_NS;
	if (strcmp(told->why, why))
		fprintf(
		    stderr,
		    "fairlead-server: agent: service %s: a controller refuses its connections: %s; tried again, from "
		    "1 s to every 30 s (refusal %llu)\n",
		    name, why, (unsigned long long)told->refusals);
	snprintf(told->why, sizeof(told->why), "%s", why);
}

static void accept(struct told *told, const char *name)
{
	if (told->why[0])
		fprintf(
		    stderr,
		    "fairlead-server: agent: service %s: its connections are accepted again (after %llu refusals)\n",
		    name, (unsigned long long)told->refusals);
	told->why[0] = '\0';
	told->pace.failures = 0;
}

void told_part_answered(struct told *told, const char *name)
{
	if (!told->has_part || !told->is_sent)
		return;
	told->has_more = !told->part.last;
	if (told->part.last)
		told->is_whole = false;
	told_end_part(told);
	if (!told->is_whole)
		accept(told, name);
}
