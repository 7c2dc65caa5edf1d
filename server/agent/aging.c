// SPDX-License-Identifier: Apache-2.0
#include "aging.h"

#include "census.h"

fl_u8 aging_since(const struct census *census, size_t service, fl_u64 ns)
{
	const struct service *known = &census->services->list[service];
	fl_u64 last = census->tallies[service].step, then, first;

	if (!known->age_seconds)
		return AGING_OLD;
	then = aging_step_at(known, ns);
	first = AGING_OLD - aging_steps(known);
	if (last <= then)
		return (fl_u8)first;
	return last - then >= aging_steps(known) ? AGING_OLD : (fl_u8)(first + last - then);
}

static void walk(struct census *census)
{
	const struct endpoint *endpoints = census->services->endpoints;
	struct connection *slots = census->table->slots;

	for (size_t i = 0; i <= census->table->mask; i++) {
		fl_u8 steps, left;

		if (slots[i].state != CONNECTION_LIVE || slots[i].age == AGING_OLD)
			continue;
		steps = census->tallies[endpoints[slots[i].endpoint].service].steps_due;
		left = AGING_OLD - slots[i].age;
		slots[i].age += steps < left ? steps : left;
	}
}

void aging_advance(struct census *census, fl_u64 now_ns)
{
	const struct services *services = census->services;
	bool any = false;

	for (size_t i = 0; services && i < services->count; i++) {
		struct tally *tally = &census->tallies[i];
		fl_u64 step, due;

		tally->steps_due = 0;
		if (!services->list[i].age_seconds)
			continue;
		step = aging_step_at(&services->list[i], now_ns);
		due = tally->is_aging ? step - tally->step : 0;
		tally->steps_due = due < AGING_OLD ? (fl_u8)due : AGING_OLD;
		tally->step = step;
		tally->is_aging = true;
		any |= tally->steps_due != 0;
	}
	if (any)
		walk(census);
}
