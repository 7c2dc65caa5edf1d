/* SPDX-License-Identifier: Apache-2.0 */
#include "control/service/sabotage.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "steering/maat/maat.h"

static bool is(const char *how)
{
	const char *wanted = getenv("FAIRLEAD_SABOTAGE");

	return wanted && !strcmp(wanted, how);
}

uint32_t sabotage_next(uint32_t at, uint32_t latest)
{
	return is("generation-check-off") && latest > at ? latest : at + 1;
}

bool sabotage_base(const struct reason *why, uint64_t *sum)
{
	return is("generation-check-off") && sscanf(why->text, "sum of generation %*u %" SCNx64, sum) == 1;
}

void sabotage_delta(struct delta *delta, struct ring *ring)
{
	if (is("generation-check-off"))
		__atomic_store_n(&ring->generation, delta->base, __ATOMIC_RELEASE);
	if (!is("half-delta"))
		return;
	if (delta->runs_count == 1)
		delta->runs[0].count = (delta->runs[0].count + 1) / 2;
	delta->runs_count = (delta->runs_count + 1) / 2;
}

struct arrays_set sabotage_arrays(const struct arrays_set *arrays)
{
	struct arrays_set published = *arrays;

	if (is("second-off")) {
		published.previous = NULL;
		published.version.has_previous = false;
	}
	return published;
}

void sabotage_service(struct service *service)
{
	if (maat_of(service) && is("filter-off"))
		maat_set_mode(service, MAAT_FILTER_OFF);
	if (maat_of(service) && is("filter-random"))
		maat_set_mode(service, MAAT_FILTER_RANDOM);
}
