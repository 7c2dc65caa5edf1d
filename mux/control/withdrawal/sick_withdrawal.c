/* SPDX-License-Identifier: Apache-2.0 */
#include "control/withdrawal/sick_withdrawal.h"

#include <stdio.h>
#include <stdlib.h>

#include "control/withdrawal/lag_quorum.h"

enum { NO_GENERATION = 0 }; /* what a sick mux counts as serving: every one that announces is ahead of it */

void sick_withdrawal_of_mux(struct sick_withdrawal *withdrawal, enum ailment ailment, const char *detail)
{
	if (ailment == withdrawal->of_mux)
		return;
	if (ailment == AILMENT_NONE)
		fprintf(stderr, "mux event=well was=%s\n", ailment_name(withdrawal->of_mux));
	else
		fprintf(stderr, "mux event=sick why=%s%s%s\n", ailment_name(ailment), *detail ? " " : "", detail);
	withdrawal->of_mux = ailment;
}

static void log_state(const struct published_service *published, const struct lag_quorum *quorum,
		      enum sick_state before)
{
	const struct sick *sick = &published->sick;

	if (sick->state == SICK_WITHDRAWN)
		fprintf(stderr, "mux event=withdrawn_sick service=%s why=%s muxes_left=%u muxes=%u times=%u\n",
			published->name, ailment_name(sick->ailment), quorum->ahead, quorum->muxes, sick->times);
	else if (before == SICK_WITHDRAWN)
		fprintf(stderr, "mux event=returned service=%s why=%s\n", published->name,
			sick->ailment == AILMENT_NONE ? "well" : "too_few_are_left");
	else if (sick->state == SICK_WELL && sick->ailment != AILMENT_NONE)
		fprintf(stderr, "mux event=stays_sick service=%s why=%s muxes_left=%u muxes=%u\n", published->name,
			ailment_name(sick->ailment), quorum->ahead, quorum->muxes);
}

/* Returns whether it was withdrawn or announced again. */
static bool decide(struct sick_withdrawal *withdrawal, struct published_service *published, uint64_t now_ms)
{
	struct sick *sick = &published->sick;
	enum sick_state before = sick->state;
	enum ailment ailment = withdrawal->of_mux;
	struct lag_quorum quorum;

	if (ailment == AILMENT_NONE && published->is_cut_off)
		ailment = AILMENT_NEIGHBOUR;
	if (sick->state == SICK_WELL && ailment == AILMENT_NONE) {
		sick->ailment = AILMENT_NONE;
		return false;
	}
	quorum = lag_quorum_heard(withdrawal->hello->peers, published->service->id, NO_GENERATION, now_ms, NULL);
	if (!sick_run(sick, ailment, lag_quorum_withdraws(&quorum), now_ms, (uint32_t)rand_r(&withdrawal->seed)))
		return false;
	log_state(published, &quorum, before);
	if (sick->state == SICK_ASKS)
		withdrawal->hello->send_at = now_ms;
	if (sick->state != SICK_WITHDRAWN && before != SICK_WITHDRAWN)
		return false;
	published_announce(published);
	return true;
}

bool sick_withdrawal_run(struct sick_withdrawal *withdrawal, struct service_sync *const *syncs, unsigned count,
			 bool may_return, uint64_t now_ms)
{
	bool has_changed = false;

	withdrawal->deadline_ms = UINT64_MAX;
	if (!withdrawal->hello)
		return false;
	for (unsigned i = 0; i < count; i++) {
		struct published_service *published = &syncs[i]->ring.published;
		uint64_t due;

		if (!published->service || (!may_return && published->sick.state == SICK_WITHDRAWN))
			continue;
		has_changed |= decide(withdrawal, published, now_ms);
		due = sick_deadline(&published->sick);
		if (due < withdrawal->deadline_ms)
			withdrawal->deadline_ms = due;
	}
	return has_changed;
}

void sick_withdrawal_repeat(const struct sick_withdrawal *withdrawal, uint64_t now_ms)
{
	if (withdrawal->deadline_ms != UINT64_MAX && withdrawal->hello->send_at > now_ms + SICK_SAY_MS)
		withdrawal->hello->send_at = now_ms + SICK_SAY_MS;
}
