// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes as a controller's document of services, without and with --mangle. A refusal has a field and what is
 * allowed. The endpoints of what is accepted ascend and do not overlap, and each address and port finds its own.
 */
#include <stdlib.h>

#include "../agent/services.h"
#include "refusals.h"

static void check(const struct services *services)
{
	require(services->version[0] != '\0');
	for (size_t i = 0; i < services->count; i++) {
		fl_u32 buckets = services->list[i].buckets;

		require(services->list[i].name[0] && services->list[i].id);
		require(services->list[i].age_seconds <= SERVICES_AGE_SECONDS_MAX);
		require(services->list[i].hunt.policy < FL_LOAD_POLICIES &&
			services->list[i].hunt.epsilon < FL_LOAD_HALF);
		require(services->list[i].has_hunt == (services->list[i].hunt.threshold > 0));
		require(buckets >= FL_BUCKETS_MIN && buckets <= FL_BUCKETS_MAX && !(buckets & (buckets - 1)));
		require(services_find(services, services->list[i].name) == &services->list[i]);
	}
	for (size_t i = 0; i < services->endpoint_count; i++) {
		const struct endpoint *endpoint = &services->endpoints[i];

		require(endpoint->service < services->count && !services->list[endpoint->service].ambiguous);
		require(endpoint->first && endpoint->first <= endpoint->last);
		require(services_endpoint(services, &endpoint->local, endpoint->first) == i);
		require(services_endpoint(services, &endpoint->local, endpoint->last) == i);
		services_flow_hash(services, endpoint, &endpoint->vip, 1, endpoint->first);
	}
}

int LLVMFuzzerTestOneInput(const fl_u8 *data, size_t size)
{
	static const fl_u8 own[4] = {10, 2, 0, 7};
	struct services_mangle mangle = {size % 2, fl_address_from_ipv4(own), {{0}}};
	struct services *services;

	refusals = 0;
	services = services_read((const char *)data, size, &mangle);
	if (services)
		check(services);
	else
		require(refusals == 1);
	services_free(services);
	return 0;
}
