/* SPDX-License-Identifier: Apache-2.0 */
#include "control/withdrawal/sick_withdrawal.h"

#include <stdio.h>
#include <stdlib.h>

#include "control/withdrawal/lag_quorum.h"

_Static_assert((int)HELLO_ANSWER_MS > (int)SICK_LATE_MS, "answers to a mux that asks come late enough to count");

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

/* Counts the others. */
static enum sick_others look_at_others(const struct hello_peers *peers, const struct published_service *published,
				       uint64_t now_ms, struct lag_quorum *quorum)
{
	uint16_t id = published->service->id;

	*quorum = lag_quorum_heard(peers, id, NO_GENERATION, now_ms, NULL);
	if (!lag_quorum_withdraws(quorum))
		return SICK_FEW;
	if (published->sick.state != SICK_ASKS)
		return SICK_ENOUGH;
	quorum->ahead = 0;
	for (unsigned i = 0; i < peers->count; i++) {
		const struct hello_service *said = hello_peer_service(&peers->list[i], id, now_ms);

		quorum->ahead += said && said->flags & HELLO_ANNOUNCES &&
				 hello_peer_said_since(&peers->list[i], id, sick_hears_since(&published->sick));
	}
	return lag_quorum_withdraws(quorum) ? SICK_ENOUGH : SICK_SILENT;
}

/* Returns whether it was withdrawn or announced again. */
static bool decide(struct sick_withdrawal *withdrawal, struct published_service *published, uint64_t now_ms)
{
	struct sick *sick = &published->sick;
	enum sick_state before = sick->state;
	enum ailment ailment = withdrawal->of_mux;
	struct lag_quorum quorum;
	enum sick_others others;

	if (ailment == AILMENT_NONE && published->is_cut_off)
		ailment = AILMENT_NEIGHBOUR;
	if (sick->state == SICK_WELL && ailment == AILMENT_NONE) {
		sick->ailment = AILMENT_NONE;
		return false;
	}
	others = look_at_others(withdrawal->hello->peers, published, now_ms, &quorum);
	if (!sick_run(sick, ailment, others, now_ms, (uint32_t)rand_r(&withdrawal->seed)))
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
