/* SPDX-License-Identifier: Apache-2.0 */
#include "steering/ring/steering_ring.h"

#include "ring/ring.h"

uint32_t steering_ring_bucket(const struct service *service, const struct ring *ring, uint64_t hash)
{
	(void)service;
	return (uint32_t)hash & ring->mask;
}

const struct steering steering_ring = {.name = "ring", .bucket = steering_ring_bucket};
