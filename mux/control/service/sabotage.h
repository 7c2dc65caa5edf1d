/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mux that is broken on purpose, to prove that the fault checkers detect it (docs/research/fault-injection.md). Only in
 * fairlead-mux-sabotaged, a target that exists with -Dsabotage=true and is in no package; elsewhere these functions do
 * nothing. FAIRLEAD_SABOTAGE in the environment selects the fault:
 *
 *	half-delta             the second half of each delta's runs is not applied
 *	generation-check-off   a mux that is behind applies the latest delta, regardless of its base
 *	second-off             no packet names a second bucket
 *
 * Two more are no faults, as servers pass on what they do not know, but show that:
 *
 *	filter-off             the filters of steering maat note nothing
 *	filter-random          they answer at random
 */
#ifndef FAIRLEAD_MUX_SABOTAGE_H
#define FAIRLEAD_MUX_SABOTAGE_H

#include "ring/delta.h"
#include "ring/ring.h"
#include "service/service.h"
#include "steering/arrays_set.h"

#ifdef FAIRLEAD_SABOTAGE

/* The generation whose delta is applied next to a ring at `at`. */
uint32_t sabotage_next(uint32_t at, uint32_t latest);
/* Whether a delta that was refused as one of another base is decoded for that one: *sum becomes its sum. */
bool sabotage_base(const struct reason *why, uint64_t *sum);
/* Call before the delta is applied to the published ring. */
void sabotage_delta(struct delta *delta, struct ring *ring);
/* What is published instead of these arrays; it has no references of its own. */
struct arrays_set sabotage_arrays(const struct arrays_set *arrays);
/* Call it before the service has packets. */
void sabotage_service(struct service *service);

#else

#define sabotage_next(at, latest)   ((at) + 1)
#define sabotage_base(why, sum)     false
#define sabotage_delta(delta, ring) ((void)0)
#define sabotage_arrays(arrays)     (*(arrays))
#define sabotage_service(service)   ((void)0)

#endif
#endif
