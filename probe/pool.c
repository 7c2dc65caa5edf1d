/* SPDX-License-Identifier: Apache-2.0 */
#include "pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/address.h"

struct probed *pool_find(const struct pool *pool, const char *name)
{
	for (unsigned i = 0; i < pool->count; i++)
		if (!strcmp(pool->services[i]->name, name))
			return pool->services[i];
	return NULL;
}

struct probed *pool_get(struct pool *pool, const char *name)
{
	struct probed *service = pool_find(pool, name), **services;

	if (service)
		return service;
	services = realloc(pool->services, (pool->count + 1) * sizeof(struct probed *));
	if (!services)
		return NULL;
	pool->services = services;
	service = calloc(1, sizeof(*service));
	if (!service)
		return NULL;
	snprintf(service->name, sizeof(service->name), "%s", name);
	service->refusal = PROBED_WAITING;
	service->generation = 1;
	services[pool->count++] = service;
	return service;
}

static void target_free(struct pool *pool, struct target *target)
{
	for (int i = 0; target->probes && i < target->service->endpoints_count; i++)
		pool->listener.removed(pool->listener.context, &target->probes[i]);
	free(target->probes);
	free(target);
}

static void targets_clear(struct pool *pool, struct probed *service)
{
	for (uint32_t i = 0; i < service->count; i++)
		target_free(pool, service->targets[i]);
	free(service->targets);
	free(service->skipped);
	service->targets = NULL;
	service->skipped = NULL;
	service->count = 0;
	service->skipped_count = 0;
	service->endpoints_count = 0;
}

void pool_remove(struct pool *pool, struct probed *service)
{
	targets_clear(pool, service);
	for (unsigned i = 0; i < pool->count; i++)
		if (pool->services[i] == service) {
			pool->services[i] = pool->services[--pool->count];
			break;
		}
	free(service);
}

void pool_clear(struct pool *pool)
{
	while (pool->count)
		pool_remove(pool, pool->services[pool->count - 1]);
	free(pool->services);
	pool->services = NULL;
}

void pool_refuse(struct pool *pool, struct probed *service, enum probed_refusal refusal, const char *why)
{
	targets_clear(pool, service);
	service->refusal = refusal;
	snprintf(service->why.text, sizeof(service->why.text), "%s", why);
}

/* Its probes do not run yet. */
static struct target *target_new(const struct pool *pool, struct probed *service,
				 const struct fl_delta_backend *backend)
{
	struct target *target = calloc(1, sizeof(*target));

	if (target)
		target->probes = calloc((size_t)service->endpoints_count, sizeof(struct probe));
	if (!target || !target->probes) {
		free(target);
		return NULL;
	}
	target->service = service;
	target->id = backend->id;
	target->wrap = (struct wrap){
	    .encap = service->config.encap,
	    .service = service->config.id,
	    .hash = service->config.hash,
	    .key = &service->config.key,
	    .generation = service->generation,
	    .source = pool->outer[!fl_address_is_ipv4(&backend->address)],
	    .backend = backend->address,
	    .tag_key = pool->tag_key,
	};
	for (int i = 0; i < service->endpoints_count; i++) {
		target->probes[i].target = target;
		target->probes[i].endpoint = (uint16_t)i;
	}
	return target;
}

/* Whether the backend is probed, if this host can reach it. */
static bool is_listed(const struct fl_delta_backend *backend)
{
	return !(backend->flags & FL_BACKEND_REMOVED);
}

static bool is_reached(const struct pool *pool, const struct fl_delta_backend *backend)
{
	return !fl_address_is_none(&pool->outer[!fl_address_is_ipv4(&backend->address)]);
}

/*
 * Whether this host has the addresses that it takes to be answered, and to reach any backend. `why` says it of the first
 * one that it can't reach, also if there are others.
 */
static int check_sources(const struct pool *pool, const struct service_config *config,
			 const struct fl_delta_backend *backends, uint32_t count, struct reason *why)
{
	char text[ADDRESS_TEXT_MAX];
	uint32_t reached = 0;
	int error = 0;

	for (uint32_t i = 0; i < config->vips_count; i++)
		if (fl_address_is_none(&pool->inner[!fl_address_is_ipv4(&config->vips[i])]))
			return reason_set(why, -EADDRNOTAVAIL,
					  "VIP %s: the probe has no address of its family; allowed: with --source",
					  address_print(&config->vips[i], text));
	for (uint32_t i = 0; i < count; i++) {
		if (!is_listed(&backends[i]))
			continue;
		if (is_reached(pool, &backends[i]))
			reached++;
		else if (!error)
			error = reason_set(
			    why, -EADDRNOTAVAIL,
			    "backend %u at %s: the probe has no address of its family; allowed: with --address",
			    backends[i].id, address_print(&backends[i].address, text));
	}
	return reached ? 0 : error;
}

/* Whether earlier results stay valid: the check and its target are the same. */
static bool is_same_way(const struct probed *service, const struct service_config *config, const struct check *check)
{
	return service->refusal == PROBED && !memcmp(&service->check, check, sizeof(*check)) &&
	       !memcmp(service->config.vips, config->vips, sizeof(config->vips)) &&
	       !memcmp(service->config.ports, config->ports, sizeof(config->ports)) &&
	       service->config.vips_count == config->vips_count && service->config.ports_count == config->ports_count &&
	       service->config.id == config->id && service->config.encap == config->encap;
}

/* The new list keeps targets of the same id and address; all others begin unknown. */
static int merge(struct pool *pool, struct probed *service, const struct fl_delta_backend *backends, uint32_t count)
{
	struct target **targets = calloc(count + 1, sizeof(struct target *)), **old = service->targets;
	uint16_t *skipped = calloc(count + 1, sizeof(*skipped));
	uint32_t made = 0, at = 0, old_count = service->count;
	bool failed = !targets || !skipped;

	free(service->skipped);
	service->skipped = skipped;
	service->skipped_count = 0;
	for (uint32_t i = 0; !failed && i < count; i++) {
		if (!is_listed(&backends[i]))
			continue;
		if (!is_reached(pool, &backends[i])) {
			skipped[service->skipped_count++] = backends[i].id;
			continue;
		}
		for (; at < old_count && (!old[at] || old[at]->id < backends[i].id); at++)
			;
		if (at < old_count && old[at]->id == backends[i].id &&
		    fl_address_equal(&old[at]->wrap.backend, &backends[i].address)) {
			targets[made++] = old[at];
			old[at] = NULL;
			continue;
		}
		targets[made] = target_new(pool, service, &backends[i]);
		failed = !targets[made];
		made += !failed;
	}
	for (uint32_t i = 0; i < old_count; i++)
		if (old[i])
			target_free(pool, old[i]);
	free(old);
	service->targets = targets;
	service->count = made;
	if (failed)
		targets_clear(pool, service);
	return failed ? -ENOMEM : 0;
}

int pool_set(struct pool *pool, struct probed *service, const struct service_config *config, const struct check *check,
	     const struct fl_delta_backend *backends, uint32_t backends_count)
{
	struct reason why = {""};
	int error;

	if (!is_same_way(service, config, check))
		targets_clear(pool, service);
	service->config = *config;
	service->check = *check;
	if (check->kind == CHECK_NONE) {
		pool_refuse(pool, service, PROBED_NO_CHECK, "");
		return 0;
	}
	if (check_sources(pool, config, backends, backends_count, &why)) {
		pool_refuse(pool, service, PROBED_NO_SOURCE, why.text);
		return 0;
	}
	service->endpoints_count = check_endpoints(check, config, service->endpoints, &why);
	if (service->endpoints_count < 0) {
		service->endpoints_count = 0;
		pool_refuse(pool, service, PROBED_CHECK, why.text);
		return 0;
	}
	error = merge(pool, service, backends, backends_count);
	if (error) {
		pool_refuse(pool, service, PROBED_WAITING, "");
		return error;
	}
	service->refusal = PROBED;
	service->why = why;
	for (uint32_t i = 0; i < service->count; i++)
		for (int j = 0; j < service->endpoints_count; j++)
			if (!service->targets[i]->probes[j].due.slot)
				pool->listener.added(pool->listener.context, &service->targets[i]->probes[j]);
	return 0;
}

enum health target_health(const struct target *target, const struct probe **worst)
{
	enum health health = HEALTH_UP;

	*worst = &target->probes[0];
	for (int i = 0; i < target->service->endpoints_count; i++) {
		const struct probe *probe = &target->probes[i];

		if (probe->judge.health == HEALTH_DOWN) {
			*worst = probe;
			return HEALTH_DOWN;
		}
		if (probe->judge.health == HEALTH_UNKNOWN)
			health = HEALTH_UNKNOWN;
	}
	return health;
}

bool target_is_silent(const struct target *target)
{
	for (int i = 0; i < target->service->endpoints_count; i++) {
		const struct judge *judge = &target->probes[i].judge;

		if (judge->health != HEALTH_DOWN || outcome_is_answer(judge->outcome))
			return false;
	}
	return true;
}

const struct check_endpoint *probe_endpoint(const struct probe *probe)
{
	return &probe->target->service->endpoints[probe->endpoint];
}

const struct fl_address *probe_vip(const struct probe *probe)
{
	return &probe->target->service->config.vips[probe_endpoint(probe)->vip];
}
