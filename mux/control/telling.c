/* SPDX-License-Identifier: Apache-2.0 */
#include "control/telling.h"

#include <stdlib.h>

#include "config/service_config.h"
#include "encap/encap.h"
#include "notice/removals.h"
#include "ring/backend.h"
#include "ring/ring.h"
#include "tell/teller.h"

/* Servers take notices in `gue` alone. */
static bool tells(const struct teller *teller, const struct service_config *config)
{
	return teller && config->encap == &encap_gue;
}

static uint32_t add_ring(const struct ring *ring, struct fl_address *list)
{
	const struct backends *backends = ring_backends(ring);
	uint32_t count = 0;

	for (uint32_t i = 0; i < backends->count; i++) {
		const struct fl_delta_backend *one = &backends->list[i];
		const struct backend *line = backends_get(backends, one->id);

		if (!removal_is_of(one) && line && backend_state(line) != BACKEND_LOOP)
			list[count++] = one->address;
	}
	return count;
}

static uint32_t add_image(const struct delta *image, struct fl_address *list)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < image->backends_count; i++)
		if (!removal_is_of(&image->backends[i]))
			list[count++] = image->backends[i].address;
	return count;
}

void telling_begin(struct teller *teller, const struct service_config *config, const struct ring *ring,
		   const struct delta *image, uint32_t generation)
{
	struct fl_address *list;
	uint32_t most = 1, count = 0;

	if (!tells(teller, config))
		return;
	if (ring)
		most += ring_backends(ring)->count;
	if (image)
		most += image->backends_count;
	list = malloc(most * sizeof(*list));
	if (list && ring)
		count += add_ring(ring, list);
	if (list && image)
		count += add_image(image, list + count);
	if (list)
		teller_set_servers(teller, config->id, list, count);
	free(list);
	teller_tell(teller, config->id, generation);
}

bool telling_is_done(struct teller *teller, const struct service_config *config, uint32_t generation)
{
	return !tells(teller, config) || teller_is_done(teller, config->id, generation);
}

void telling_end(struct teller *teller, const struct service_config *config)
{
	if (tells(teller, config))
		teller_forget(teller, config->id);
}
