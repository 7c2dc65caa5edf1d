/* SPDX-License-Identifier: Apache-2.0 */
#include "service/registry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/address.h"
#include "ring/huge.h"
#include "ring/lists.h"
#include "service/lookup.h"
#include "steering/steering.h"

struct service *registry_find(const struct registry *registry, const char *name)
{
	for (uint32_t i = 0; i < registry->count; i++)
		if (!strcmp(registry->services[i]->config.name, name))
			return registry->services[i];
	return NULL;
}

struct service *registry_find_id(const struct registry *registry, uint16_t id)
{
	for (uint32_t i = 0; i < registry->count; i++)
		if (registry->services[i]->id == id)
			return registry->services[i];
	return NULL;
}

struct fl_address *registry_vips(const struct registry *registry, uint32_t *count)
{
	struct fl_address *vips = calloc((size_t)(registry->count + 1) * SERVICE_VIPS_MAX, sizeof(*vips));

	*count = 0;
	for (uint32_t i = 0; vips && i < registry->count; i++) {
		const struct service_config *config = &registry->services[i]->config;

		memcpy(vips + *count, config->vips, config->vips_count * sizeof(*vips));
		*count += config->vips_count;
	}
	return vips;
}

static bool has_vip(const struct service_config *config, const struct fl_address *vip)
{
	for (uint32_t i = 0; i < config->vips_count; i++)
		if (fl_address_equal(&config->vips[i], vip))
			return true;
	return false;
}

/* The first VIP that both have; NULL if none. */
static const struct fl_address *shared_vip(const struct service_config *a, const struct service_config *b)
{
	for (uint32_t v = 0; v < a->vips_count; v++)
		if (has_vip(b, &a->vips[v]))
			return &a->vips[v];
	return NULL;
}

/* Whether the configuration takes this port, for itself or to name a backend. */
static bool takes_port(const struct service_config *config, const struct service_port *port)
{
	for (uint32_t i = 0; i < config->ports_count; i++)
		if (config->ports[i].protocol == port->protocol && config->ports[i].port == port->port)
			return true;
	return mptcp_ports_has(&config->mptcp, port->protocol, port->port);
}

/* The first port that both take, 0 if none: a shared part starts with a port or a range of one of them. */
static uint16_t shared_port(const struct service_config *a, const struct service_config *b)
{
	const struct service_config *both[] = {a, b};

	for (int i = 0; i < 2; i++) {
		const struct service_config *one = both[i], *other = both[!i];
		struct service_port first = {IPPROTO_TCP, one->mptcp.first};

		for (uint32_t p = 0; p < one->ports_count; p++)
			if (takes_port(other, &one->ports[p]))
				return one->ports[p].port;
		if (one->mptcp.last && takes_port(other, &first))
			return first.port;
	}
	return 0;
}

/* Whether any VIP of the configuration already belongs to a service: otherwise nothing can clash. */
static bool has_known_vip(const struct lookup *lookup, const struct service_config *config)
{
	for (uint32_t i = 0; i < config->vips_count; i++) {
		uint64_t high, low;

		lookup_words(&config->vips[i], &high, &low);
		if (lookup_vip(lookup, high, low))
			return true;
	}
	return false;
}

static int check(const struct registry *registry, const struct lookup *lookup, const struct service_config *config,
		 const struct service *except, struct reason *why)
{
	bool may_clash = has_known_vip(lookup, config);
	char text[ADDRESS_TEXT_MAX];
	uint32_t vips = 0;

	for (uint32_t i = 0; i < registry->count; i++) {
		const struct service_config *other = &registry->services[i]->config;
		const struct fl_address *vip;
		uint16_t port;

		if (registry->services[i] == except)
			continue;
		vips += other->vips_count;
		if (other->id == config->id)
			return reason_set(why, -EEXIST, "id: %u of service %s is that of service %s; ids are unique",
					  config->id, config->name, other->name);
		if (!strcmp(other->name, config->name))
			return reason_set(why, -EEXIST, "name: %s is taken by service %u; names are unique",
					  config->name, other->id);
		vip = may_clash ? shared_vip(config, other) : NULL;
		port = vip ? shared_port(config, other) : 0;
		if (!port)
			continue;
		address_print(vip, text);
		return reason_set(why, -EEXIST,
				  "vips: %s port %u of service %s belongs to service %s; a VIP's port has one service",
				  text, port, config->name, other->name);
	}
	if (vips + config->vips_count > REGISTRY_VIPS_MAX)
		return reason_set(
		    why, -ENOSPC,
		    "vips: service %s has %u, the other services of this mux have %u; at most %u in all are allowed",
		    config->name, config->vips_count, vips, REGISTRY_VIPS_MAX);
	return 0;
}

static int take_slot(const struct registry *registry)
{
	for (int i = 0; i < REGISTRY_SERVICES_MAX; i++)
		if (!registry->slot_used[i])
			return i;
	return -ENOSPC;
}

/* Workers may read MSS, QUIC, stateless UDP and budgets at any time; only the control thread reads VIPs and ports. */
static void set_config(struct service *service, const struct service_config *config)
{
	struct quic_server_id quic = config->quic;

	service_config_take_changes(&service->config, config);
	__atomic_store_n(&service->mss, config->mss, __ATOMIC_RELAXED);
	__atomic_store(&service->quic, &quic, __ATOMIC_RELAXED);
	__atomic_store_n(&service->stateless_udp, config->stateless_udp, __ATOMIC_RELAXED);
	__atomic_store_n(&service->packets_per_second, config->packets_per_second, __ATOMIC_RELAXED);
	__atomic_store_n(&service->bytes_per_second, config->bytes_per_second, __ATOMIC_RELAXED);
}

/* NULL: no memory. */
static struct service *service_new(const struct service_config *config, uint16_t slot)
{
	struct service *service = huge_alloc(sizeof(*service));

	if (!service)
		return NULL;
	service->key = config->key;
	service->id = config->id;
	service->hash = (uint8_t)config->hash;
	service->affinity = (uint8_t)config->affinity;
	service->encap = config->encap;
	service->steering = (uint8_t)steering_number(config->steering);
	service->slot = slot;
	service->config = *config;
	set_config(service, config);
	return service;
}

int registry_add(struct registry *registry, const struct lookup *lookup, const struct service_config *config,
		 struct service **out, struct reason *why)
{
	int slot = take_slot(registry), error = check(registry, lookup, config, NULL, why);
	struct service *service;

	if (error)
		return error;
	if (slot < 0)
		return reason_set(why, slot, "service %s: this mux has %u services; at most %u are allowed",
				  config->name, registry->count, REGISTRY_SERVICES_MAX);
	service = service_new(config, (uint16_t)slot);
	if (!service)
		return reason_set(why, -ENOMEM, "service %s: no memory", config->name);
	registry->services[registry->count++] = service;
	registry->slot_used[slot] = true;
	*out = service;
	return 0;
}

int registry_change(struct registry *registry, const struct lookup *lookup, struct service *service,
		    const struct service_config *config, struct reason *why)
{
	int error = service_config_check_change(&service->config, config, why);

	if (!error)
		error = check(registry, lookup, config, service, why);
	if (!error)
		set_config(service, config);
	return error;
}

void registry_remove(struct registry *registry, const struct service *service)
{
	uint32_t i = 0;

	while (registry->services[i] != service)
		i++;
	registry->services[i] = registry->services[--registry->count];
}

void registry_release(struct registry *registry, struct service *service)
{
	registry->slot_used[service->slot] = false;
	if (service->steering_data)
		service->config.steering->drop(service->steering_data);
	ring_free(service->ring);
	huge_free(service, sizeof(*service));
}

void registry_clear(struct registry *registry)
{
	while (registry->count)
		registry_release(registry, registry->services[--registry->count]);
}
