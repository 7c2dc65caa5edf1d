/* SPDX-License-Identifier: Apache-2.0 */
#include "threads/health.h"

#include <stdio.h>
#include <unistd.h>

void health_begin(struct health *health, const struct beat *beats, unsigned workers)
{
	*health = (struct health){.beats = beats, .workers = workers};
}

uint64_t health_deadline(const struct health *health)
{
	return health->beats ? health->look_at : UINT64_MAX;
}

void health_run(struct health *health, struct sick_withdrawal *withdrawal, uint64_t now_ms)
{
	enum ailment ailment = AILMENT_NONE;
	char detail[64] = "";

	if (!health->beats || now_ms < health->look_at)
		return;
	health->look_at = now_ms + HANG_LOOK_MS;
	for (unsigned i = 0; i < health->workers; i++) {
		enum hang_kind kind = hang_look(&health->hangs[i], &health->beats[i], now_ms);

		if (kind == HANG_NONE || ailment != AILMENT_NONE)
			continue;
		ailment = AILMENT_WORKER;
		snprintf(detail, sizeof(detail), "worker=%u how=%s", i, hang_name(kind));
	}
	sick_withdrawal_of_mux(withdrawal, ailment, detail);
}

_Noreturn void health_end(void)
{
	fprintf(stderr, "mux event=ends why=\"a worker hangs, and a change waits for it\"\n");
	_exit(1);
}
