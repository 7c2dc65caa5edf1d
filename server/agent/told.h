/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the leader of the controllers was told of a service's connections (protocol/README.md, 11): the flow hashes of
 * those that are old enough (aging.h), and which of them have closed since.
 *
 * What is to be told is found in parts (parts.h). A part is kept until it is answered, and a report whose answer was lost
 * repeats it.
 *
 * What the leader remembers has a name, its memory. For another memory everything is told again, as a whole set in as
 * many parts as it takes; what closes meanwhile is told afterwards. The same happens if more ends than TOLD_CLOSED_MAX
 * wait to be told.
 */
#ifndef FAIRLEAD_AGENT_TOLD_H
#define FAIRLEAD_AGENT_TOLD_H

#include <stddef.h>
#include <stdlib.h>

#include "pace.h"

enum told_limits {
	TOLD_NAME_MAX = 64,
	TOLD_WHY_MAX = 200,
	TOLD_PART_MAX = 262144,   /* opened ones in a part, and closed ones */
	TOLD_REPORT_MAX = 524288, /* of both, in all parts of a report: 5.6 MB of base64 */
	TOLD_HURRY = 131072,      /* so many closed ones wait for no later report */
	TOLD_CLOSED_MAX = 524288,
};

/* Flow hashes, 8 bytes each, little-endian. */
struct hashes {
	fl_u8 *bytes;
	size_t count, room;
};

struct part {
	char mark[TOLD_NAME_MAX + 1]; /* the leader's newest when it was drawn up */
	bool whole, first, last;
	struct hashes opened, closed;
};

struct told {
	char memory[TOLD_NAME_MAX + 1]; /* empty: the leader does not ask */
	char mark[TOLD_NAME_MAX + 1];
	bool is_whole; /* a whole set is under way */
	bool is_begun; /* and its first part has been drawn up */
	bool has_part; /* that is not answered */
	bool is_sent;  /* the last report has it: report.c */
	bool has_more; /* than the last part had room for */
	bool is_drawn; /* in the walk under way */
	struct part part;
	size_t closed; /* closed connections kept in the table because they were not reported yet */
	bool is_over;  /* some found no room there */
	fl_u64 overs, refusals;
	char why[TOLD_WHY_MAX + 1]; /* the last refusal; empty: accepted since */
	struct pace pace;
	fl_u64 retry_ns;
};

/* What an answer says about the connections of a service. */
struct told_answer {
	char memory[TOLD_NAME_MAX + 1], mark[TOLD_NAME_MAX + 1];
	char refused[TOLD_WHY_MAX + 1]; /* empty: not refused */
};

/* Frees the part; there is none any more. */
static inline void told_end_part(struct told *told)
{
	free(told->part.opened.bytes);
	free(told->part.closed.bytes);
	told->part = (struct part){0};
	told->has_part = false;
}

#endif
