/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How old connections are, in steps: an eighth of the service's ageSeconds, or a second where that is shorter. A step
 * is four bits in the table's slot and one walk over it, where a queue of what opened within ageSeconds would take 200
 * MB at 100,000 a second. A connection is OLD from 7/8 of ageSeconds on and at the latest when it is that old, so that
 * whoever needs all that are older has them.
 */
#ifndef FAIRLEAD_AGENT_AGING_H
#define FAIRLEAD_AGENT_AGING_H

#include "services.h"

enum {
	AGING_OLD = 8,
};

FL_INLINE fl_u32 aging_steps(const struct service *service)
{
	return service->age_seconds < AGING_OLD ? service->age_seconds : AGING_OLD;
}

/* How many steps have been completed at a time; the service has ageSeconds. */
FL_INLINE fl_u64 aging_step_at(const struct service *service, fl_u64 ns)
{
	return ns / (service->age_seconds * 1000000000ULL / aging_steps(service));
}

/* The age of a connection that has opened at a time, when `step` steps have been completed; without ageSeconds any. */
FL_INLINE fl_u8 aging_since(const struct service *service, fl_u64 step, fl_u64 ns)
{
	fl_u64 then;
	fl_u8 first;

	if (!service->age_seconds)
		return AGING_OLD;
	then = aging_step_at(service, ns);
	first = (fl_u8)(AGING_OLD - aging_steps(service));
	if (step <= then)
		return first;
	return step - then >= aging_steps(service) ? AGING_OLD : (fl_u8)(first + step - then);
}

#endif
