/* SPDX-License-Identifier: Apache-2.0 */
#include "control/telling.h"

#include <stdlib.h>

#include "config/service_config.h"
#include "ring/backend.h"
#include "ring/ring.h"
#include "tell/teller.h"

static bool is_dead(const struct fl_delta_backend *backend)
{
	return backend->flags & FL_BACKEND_DEAD;
}

/* It knows no notices. */
static bool is_foreign(const struct fl_delta_backend *backend)
{
	return backend->flags & FL_BACKEND_FOREIGN;
}

static int compare_id(const void *id, const void *backend)
{
	return (int)*(const uint16_t *)id - (int)((const struct fl_delta_backend *)backend)->id;
}

/* Whether the delta says that the machine is gone. */
static bool kills(const struct delta *delta, uint16_t id)
{
	const struct fl_delta_backend *found = NULL;

	if (delta && delta->backends_count)
		found = bsearch(&id, delta->backends, delta->backends_count, sizeof(*found), compare_id);
	return found && is_dead(found);
}

static uint32_t add_ring(const struct ring *ring, const struct delta *delta, struct fl_address *list)
{
	const struct backends *backends = ring_backends(ring);
	uint32_t count = 0;

	for (uint32_t i = 0; i < backends->count; i++) {
		const struct fl_delta_backend *one = &backends->list[i];
		const struct backend *line = backends_get(backends, one->id);

		if (!is_dead(one) && !is_foreign(one) && !kills(delta, one->id) && line &&
		    backend_state(line) != BACKEND_LOOP)
			list[count++] = one->address;
	}
	return count;
}

static uint32_t add_image(const struct delta *image, struct fl_address *list)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < image->backends_count; i++)
		if (!is_foreign(&image->backends[i]))
			list[count++] = image->backends[i].address;
	return count;
}

void telling_begin(struct teller *teller, const struct service_config *config, const struct ring *ring,
		   const struct delta *change, uint32_t generation)
{
	const struct delta *image = change && change->snapshot ? change : NULL;
	struct fl_address *list;
	uint32_t most = 1, count = 0;

	if (!teller)
		return;
	if (ring)
		most += ring_backends(ring)->count;
	if (image)
		most += image->backends_count;
	list = malloc(most * sizeof(*list));
	if (list && ring)
		count += add_ring(ring, image ? NULL : change, list);
	if (list && image)
		count += add_image(image, list + count);
	if (list)
		teller_set_servers(teller, config->id, list, count);
	free(list);
	teller_tell(teller, config->id, generation);
}

bool telling_is_done(struct teller *teller, const struct service_config *config, uint32_t generation)
{
	return !teller || teller_is_done(teller, config->id, generation);
}

void telling_end(struct teller *teller, const struct service_config *config)
{
	if (teller)
		teller_forget(teller, config->id);
}
