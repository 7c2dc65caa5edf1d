/* SPDX-License-Identifier: Apache-2.0 */
#include "control/serving.h"

#include <stdio.h>
#include <string.h>

#include "ring/backend.h"

const struct ring *serving_ring(const struct serving *serving)
{
	return serving->service ? service_ring(serving->service) : NULL;
}

bool serving_has_ring_of(const struct serving *serving, const struct service_config *config)
{
	return serving_ring(serving) && service_config_same_ring(&serving->service->config, config);
}

static bool owns_buckets(const struct ring *ring)
{
	for (uint32_t i = 0; i < ring_buckets(ring); i++)
		if (fl_row_current(ring_row(ring, i)) != FL_BACKEND_NONE)
			return true;
	return false;
}

static void announce(struct serving *serving, bool wanted)
{
	const struct service_config *config = &serving->service->config;
	struct announcer *announcer = serving->place->announcer;
	int error;

	if (!announcer)
		return;
	error = announce_service(announcer, config->id, config->vips, wanted ? config->vips_count : 0);
	if (error && error != serving->announce_error)
		fprintf(stderr, "mux event=announce_failed service=%s device=fl%u error=\"%s\"\n", serving->name,
			config->id, strerror(-error));
	if (!error && wanted != serving->announced)
		fprintf(stderr, "mux event=%s service=%s device=fl%u vips=%u\n", wanted ? "announced" : "withdrawn",
			serving->name, config->id, config->vips_count);
	serving->announced = !error && wanted;
	serving->announce_error = error;
}

const char *serving_withdrawn(const struct serving *serving)
{
	return serving->place->leaving ? "stopping" : serving->is_behind ? "behind" : NULL;
}

void serving_announce(struct serving *serving)
{
	const struct ring *ring = serving_ring(serving);

	if (serving->service)
		announce(serving, !serving_withdrawn(serving) && ring && owns_buckets(ring));
}

void serving_remove(struct serving *serving)
{
	if (!serving->service)
		return;
	announce(serving, false);
	tables_remove(serving->place->tables, serving->service);
	serving->service = NULL;
	serving->is_behind = false;
	serving->lag = (struct lag){0};
}

static void note(const struct serving *serving, enum applied_how how)
{
	const struct ring *ring = serving_ring(serving);
	bool is_summed = ring_buckets(ring) <= APPLIED_SUMMED_BUCKETS;
	uint32_t checksum = is_summed ? ring_checksum(ring) : 0;

	applied_note(serving->place->applied, serving->name, ring_generation(ring), is_summed ? &checksum : NULL, how);
}

int serving_publish(struct serving *serving, const struct service_config *config, struct delta *image, struct why *why)
{
	struct tables *tables = serving->place->tables;
	int error = 0;

	delta_prune(image);
	if (serving->service && !service_config_same_ring(&serving->service->config, config))
		serving_remove(serving);
	if (!serving->service) {
		struct service *service;

		error = tables_add(tables, config, &service, why);
		if (error)
			return error;
		counters_service_start(serving->place->counters, service);
		serving->service = service;
	}
	error = tables_load(tables, serving->service, image, why);
	if (error)
		return error;
	note(serving, APPLIED_SNAPSHOT);
	fprintf(stderr, "mux event=loaded service=%s id=%u generation=%u buckets=%u\n", serving->name, config->id,
		image->generation, image->buckets);
	serving_announce(serving);
	return 0;
}

void serving_expect(const struct serving *serving, struct delta_expected *expected)
{
	const struct ring *ring = serving_ring(serving);

	expected->service = serving->service->id;
	expected->buckets = ring_buckets(ring);
	expected->backends = ring_backends(ring)->list;
	expected->backends_count = ring_backends(ring)->count;
	expected->count = ring_count;
	expected->base = ring;
}

int serving_apply(struct serving *serving, const struct delta *delta, struct why *why)
{
	int error = tables_apply(serving->place->tables, serving->service, delta, why);

	if (error)
		return error;
	note(serving, APPLIED_DELTA);
	serving_announce(serving);
	return 0;
}

int serving_change(struct serving *serving, const struct service_config *config, struct why *why)
{
	int error;

	if (!memcmp(&serving->service->config, config, sizeof(*config)))
		return 0;
	error = tables_change(serving->place->tables, serving->service, config, why);
	if (error)
		return error;
	fprintf(stderr, "mux event=changed service=%s vips=%u ports=%u window=%u\n", serving->name, config->vips_count,
		config->ports_count, config->window);
	serving_announce(serving);
	return 0;
}
