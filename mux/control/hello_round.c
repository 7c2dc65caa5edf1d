/* SPDX-License-Identifier: Apache-2.0 */
#include "control/hello_round.h"

#include <stdlib.h>

static int compare(const void *left, const void *right)
{
	return (int)((const struct hello_service *)left)->id - (int)((const struct hello_service *)right)->id;
}

static uint8_t flags_of(const struct published_service *published)
{
	if (published_announces(published))
		return HELLO_ANNOUNCES;
	return published_is_behind(published) ? HELLO_BEHIND : 0;
}

void hello_round_run(struct hello *hello, struct service_sync *const *syncs, unsigned count, uint64_t now_ms)
{
	struct hello_service *services;
	unsigned some = 0;

	if (!hello || now_ms < hello->send_at)
		return;
	services = zk_alloc((count + 1) * sizeof(*services));
	for (unsigned i = 0; i < count; i++) {
		const struct published_service *published = &syncs[i]->ring.published;
		uint32_t generation = ring_sync_generation(&syncs[i]->ring);

		if (published->service && generation)
			services[some++] = (struct hello_service){.id = published->service->id,
								  .flags = flags_of(published),
								  .generation = generation,
								  .settled = published->settled};
	}
	qsort(services, some, sizeof(*services), compare);
	hello_send(hello, services, some, now_ms);
	free(services);
}
