/* SPDX-License-Identifier: Apache-2.0 */
#include "control/service/published_service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/service/sabotage.h"
#include "ring/backend.h"
#include "ring/backend_list.h"
#include "ring/delta_decode.h"
#include "service/publication.h"
#include "tell/teller.h"

const struct ring *published_ring(const struct published_service *published)
{
	return published->service ? service_ring(published->service) : NULL;
}

bool published_has_ring_of(const struct published_service *published, const struct service_config *config)
{
	return published_ring(published) && service_config_same_ring(&published->service->config, config);
}

/* Control thread only. */
static void note_change(struct published_service *published)
{
	static uint64_t last;

	published->stamp = ++last;
}

static bool is_dead(const struct fl_delta_backend *backend)
{
	return backend->flags & FL_BACKEND_DEAD;
}

/* It knows no notices. */
static bool is_foreign(const struct fl_delta_backend *backend)
{
	return backend->flags & FL_BACKEND_FOREIGN;
}

/* Whether the delta says that the machine is gone. */
static bool kills(const struct delta *delta, uint16_t id)
{
	const struct fl_delta_backend *found =
	    delta ? backend_list_find(delta->backends, delta->backends_count, id) : NULL;

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

/*
 * Tells the service's servers this generation: all backends of the ring that is served, and of a snapshot that is to
 * replace it, except dead ones and addresses that are no server's. Removed ones are among them, as long as the ring has
 * them: they may have connections. ring, change: NULL: none. Without memory the list of the last call is used.
 */
static void tell(struct teller *teller, const struct service_config *config, const struct ring *ring,
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

void published_end_telling(const struct published_service *published, const struct service_config *config)
{
	if (published->place->teller)
		teller_forget(published->place->teller, config->id);
}

bool published_is_told(const struct published_service *published, const struct service_config *config,
		       const struct delta *change)
{
	struct teller *teller = published->place->teller;

	return !teller || teller_is_done(teller, config->id, change->generation);
}

bool published_tell(const struct published_service *published, const struct service_config *config,
		    const struct delta *change)
{
	bool is_served = published->service && published->service->id == config->id;

	tell(published->place->teller, config, is_served ? published_ring(published) : NULL, change,
	     change->generation);
	return published_is_told(published, config, change);
}

static bool owns_buckets(const struct ring *ring)
{
	for (uint32_t i = 0; i < ring_buckets(ring); i++)
		if (fl_row_current(ring_row(ring, i)) != FL_BACKEND_NONE)
			return true;
	return false;
}

static void announce(struct published_service *published, bool wanted)
{
	const struct service_config *config = &published->service->config;
	struct announcer *announcer = published->place->announcer;
	int error;

	published->is_wanted = wanted;
	if (!announcer)
		return;
	error = announce_service(announcer, config->id, config->vips, wanted ? config->vips_count : 0);
	if (error && error != published->announce_error)
		fprintf(stderr, "mux event=announce_failed service=%s device=fl%u error=\"%s\"\n", published->name,
			config->id, strerror(-error));
	if (!error && wanted != published->announced)
		fprintf(stderr, "mux event=%s service=%s device=fl%u vips=%u\n", wanted ? "announced" : "withdrawn",
			published->name, config->id, config->vips_count);
	published->announced = !error && wanted;
	published->announce_error = error;
}

bool published_is_settled_out(const struct published_service *published)
{
	const struct ring *ring = published_ring(published);

	return ring && ring_generation(ring) < published->settled;
}

bool published_is_behind(const struct published_service *published)
{
	return !published->place->leaving && (published_withdrawn(published) || published->sick.state == SICK_ASKS);
}

const char *published_withdrawn(const struct published_service *published)
{
	if (published->place->leaving)
		return "stopping";
	if (published_is_settled_out(published) || published->is_shared_out)
		return "settled";
	if (published->withdrawn_for_lag)
		return "behind";
	return published->sick.state == SICK_WITHDRAWN ? ailment_name(published->sick.withdrawn_for) : NULL;
}

bool published_announces(const struct published_service *published)
{
	return published->place->announcer ? published->announced : published->is_wanted;
}

static void log_settled(struct published_service *published)
{
	bool is_out = published_is_settled_out(published);

	if (is_out && !published->was_settled_out)
		fprintf(stderr,
			"mux event=withdrawn_settled service=%s generation=%u settled=%u why=\"controllers act on it "
			"that no mux announces a generation before the settled one\"\n",
			published->name, ring_generation(published_ring(published)), published->settled);
	published->was_settled_out = is_out;
}

void published_announce(struct published_service *published)
{
	const struct ring *ring = published_ring(published);

	log_settled(published);
	if (published->service)
		announce(published, !published_withdrawn(published) && !published->is_held &&
					(!published->settle_by || published->is_wanted) && ring && owns_buckets(ring));
}

static void announce_change(struct published_service *published)
{
	published->is_due = published->place->settles;
	if (!published->is_due)
		published_announce(published);
}

void published_remove(struct published_service *published)
{
	if (!published->service)
		return;
	announce(published, false);
	published_end_telling(published, &published->service->config);
	tables_remove(published->place->tables, published->service);
	published->service = NULL;
	published->withdrawn_for_lag = false;
	published->is_held = false;
	published->lag = (struct lag){0};
	published->sick = (struct sick){0};
	published->had_way = false;
	published->is_cut_off = false;
	published->restored = 0;
	published->settled = 0;
	published->heard_settled = 0;
	published->settled_refused = 0;
	published->settle_by = 0;
	published->is_shared_out = false;
	published->saved = 0;
	arrays_set_clear(&published->arrays);
	note_change(published);
}

static void note(const struct published_service *published, enum change_log_how how)
{
	const struct ring *ring = published_ring(published);

	change_log_note(published->place->changes, published->name, ring_generation(ring), ring_sum(ring), how);
}

/* Publishes a delta or an image together with what the method steers by. */
static int publish(struct published_service *published, const struct delta *change, const struct arrays_set *arrays,
		   struct reason *why)
{
	struct tables *tables = published->place->tables;
	struct service *service = published->service;
	struct arrays_set published_arrays;
	void *data = NULL;
	int error = 0;

	if (arrays) {
		published_arrays = sabotage_arrays(arrays);
		error = arrays_set_pair(&published_arrays, &data, why);
	}
	if (!error)
		error = change->snapshot ? tables_load(tables, service, change, data, why)
					 : tables_apply(tables, service, change, data, why);
	if (error && data)
		service->config.steering->drop(data);
	if (!error)
		tell(published->place->teller, &service->config, service_ring(service), NULL, change->generation);
	return error;
}

static void keep_arrays(struct published_service *published, const struct arrays_set *arrays)
{
	struct arrays_set kept = {0}; /* with references of others */

	if (arrays && !arrays_version_equal(&arrays->version, &published->arrays.version))
		fprintf(stderr, "mux event=arrays service=%s generation=%u previous=%d\n", published->name,
			arrays->version.newest, arrays->version.has_previous ? (int)arrays->version.previous : -1);
	if (arrays)
		kept = *arrays;
	arrays_set_learn_files(&kept, &published->arrays);
	arrays_set_copy(&published->arrays, &kept);
}

int published_load(struct published_service *published, const struct service_config *config, struct delta *image,
		   const struct arrays_set *arrays, struct reason *why)
{
	struct tables *tables = published->place->tables;
	int error = 0;

	delta_prune(image);
	if (published->service && !service_config_same_ring(&published->service->config, config))
		published_remove(published);
	if (!published->service) {
		struct service *service;

		error = tables_add(tables, config, &service, why);
		if (error)
			return error;
		sabotage_service(service);
		counters_service_start(published->place->counters, service);
		published->service = service;
	}
	error = publish(published, image, arrays, why);
	if (error)
		return error;
	keep_arrays(published, arrays);
	note_change(published);
	note(published, CHANGE_LOG_SNAPSHOT);
	fprintf(stderr, "mux event=loaded service=%s id=%u generation=%u buckets=%u\n", published->name, config->id,
		image->generation, image->buckets);
	announce_change(published);
	return 0;
}

bool published_is_unsaved(const struct published_service *published)
{
	return published_ring(published) && published->stamp != published->saved_stamp;
}

void published_expect(const struct published_service *published, struct delta_expected *expected)
{
	const struct ring *ring = published_ring(published);

	expected->service = published->service->id;
	expected->buckets = ring_buckets(ring);
	expected->backends = ring_backends(ring)->list;
	expected->backends_count = ring_backends(ring)->count;
	expected->image = &ring->image;
	expected->sum = ring_sum(ring);
}

int published_apply(struct published_service *published, const struct delta *delta, const struct arrays_set *arrays,
		    struct reason *why)
{
	int error = publish(published, delta, arrays, why);

	if (error)
		return error;
	if (arrays)
		keep_arrays(published, arrays);
	note_change(published);
	note(published, CHANGE_LOG_DELTA);
	announce_change(published);
	return 0;
}

unsigned published_decode(const struct published_service *published, uint32_t generation,
			  const struct tree_reply *bytes, struct delta *out, struct reason *why)
{
	struct delta_expected expected = {.generation = generation};
	unsigned reason;

	published_expect(published, &expected);
	reason = delta_decode(bytes->data, bytes->len, &expected, out, why);
	if (reason == FL_DELTA_BASE && sabotage_base(why, &expected.sum))
		reason = delta_decode(bytes->data, bytes->len, &expected, out, why);
	if (!reason)
		sabotage_delta(out, service_ring(published->service));
	return reason;
}

int published_change_config(struct published_service *published, const struct service_config *config,
			    struct reason *why)
{
	int error;

	if (!memcmp(&published->service->config, config, sizeof(*config)))
		return 0;
	error = tables_change(published->place->tables, published->service, config, why);
	if (error)
		return error;
	note_change(published);
	fprintf(stderr, "mux event=changed service=%s vips=%u ports=%u window=%u\n", published->name,
		config->vips_count, config->ports_count, config->window);
	announce_change(published);
	return 0;
}
