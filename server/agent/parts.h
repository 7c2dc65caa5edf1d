/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What reports tell of connections, in parts (told.h).
 *
 * The table is the truth. Each connection in it says whether it was told; one that was told and closes stays until its
 * end is told too. So what is to be told is a difference that one walk finds: a part of a report.
 *
 * Connections share a flow hash if they are of one client with affinity "client", or by chance with crc32. Such a hash
 * is told as closed only if no live connection has it: else one of these takes over, and counts as told.
 */
#ifndef FAIRLEAD_AGENT_PARTS_H
#define FAIRLEAD_AGENT_PARTS_H

#include "census.h"

/* Draws up the next part of each service that has none under way. */
void parts_draw(struct census *census, fl_u64 now_ns);

/*
 * The leader's answer to a report with the part, if there is one; NULL: it says nothing about the service's
 * connections. `random` is any number, drawn evenly.
 */
void parts_answered(struct census *census, size_t service, const struct told_answer *answer, fl_u64 now_ns,
		    fl_u32 random);

/* There is something to tell that should not wait for the usual time of the next report. */
bool parts_hurry(const struct census *census, fl_u64 now_ns);

#endif
