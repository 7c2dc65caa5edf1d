/* SPDX-License-Identifier: Apache-2.0 */
#include "control/service/sick.h"

const char *ailment_name(enum ailment ailment)
{
	static const char *const names[AILMENTS] = {[AILMENT_NONE] = "none",
						    [AILMENT_WORKER] = "worker",
						    [AILMENT_PORT] = "port",
						    [AILMENT_NEIGHBOUR] = "neighbour"};

	return names[ailment];
}

uint64_t sick_wait_ms(const struct sick *sick)
{
	uint64_t wait = SICK_WELL_MS;

	for (unsigned i = 1; i < sick->times && wait < SICK_WELL_MAX_MS; i++)
		wait *= 2;
	return wait < SICK_WELL_MAX_MS ? wait : SICK_WELL_MAX_MS;
}

uint64_t sick_deadline(const struct sick *sick)
{
	return sick->state == SICK_ASKS ? sick->until_ms : UINT64_MAX;
}

uint64_t sick_hears_since(const struct sick *sick)
{
	return sick->state == SICK_ASKS ? sick->asked_ms + SICK_LATE_MS : 0;
}

static bool ask(struct sick *sick, enum sick_others others, uint64_t now_ms)
{
	if (sick->ailment == AILMENT_NONE || others == SICK_FEW || now_ms < sick->until_ms)
		return false;
	sick->state = SICK_ASKS;
	sick->asked_ms = now_ms;
	sick->until_ms = now_ms + SICK_ASK_MS;
	return true;
}

static bool withdraw(struct sick *sick, enum sick_others others, uint64_t now_ms, uint32_t random)
{
	if (sick->ailment == AILMENT_NONE) {
		sick->state = SICK_WELL;
		sick->until_ms = 0;
		return true;
	}
	if (now_ms < sick->until_ms)
		return false;
	if (others == SICK_SILENT && now_ms < sick->asked_ms + SICK_HEAR_MS) {
		sick->until_ms = now_ms + SICK_SAY_MS;
		return false;
	}
	if (others == SICK_ENOUGH) {
		if (!sick->returned_ms || now_ms - sick->returned_ms > SICK_FORGET_MS)
			sick->times = 0;
		sick->times++;
		sick->state = SICK_WITHDRAWN;
		sick->withdrawn_for = sick->ailment;
		sick->well_ms = 0;
	} else {
		sick->state = SICK_WELL;
		sick->until_ms = now_ms + SICK_AGAIN_MIN_MS + random % SICK_AGAIN_MS;
	}
	return true;
}

static bool come_back(struct sick *sick, enum sick_others others, uint64_t now_ms, uint32_t random)
{
	if (sick->ailment != AILMENT_NONE)
		sick->well_ms = 0;
	else if (!sick->well_ms)
		sick->well_ms = now_ms;
	if (others != SICK_FEW && !(sick->well_ms && now_ms - sick->well_ms >= sick_wait_ms(sick)))
		return false;
	sick->state = SICK_WELL;
	sick->returned_ms = now_ms;
	sick->until_ms = now_ms + SICK_AGAIN_MIN_MS + random % SICK_AGAIN_MS;
	return true;
}

bool sick_run(struct sick *sick, enum ailment ailment, enum sick_others others, uint64_t now_ms, uint32_t random)
{
	sick->ailment = ailment;
	switch (sick->state) {
	case SICK_WELL:
		return ask(sick, others, now_ms);
	case SICK_ASKS:
		return withdraw(sick, others, now_ms, random);
	default:
		return come_back(sick, others, now_ms, random);
	}
}
