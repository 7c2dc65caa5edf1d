/* SPDX-License-Identifier: Apache-2.0 */
#include "service/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <fairlead/list_tag.h>

#include "config/address.h"
#include "config/options.h"
#include "encap/encap.h"
#include "ring/backend.h"
#include "ring/lists.h"
#include "ring/ring.h"
#include "service/lookup.h"
#include "service/peers.h"
#include "service/publication.h"
#include "service/registry.h"
#include "steering/steering.h"

/*
 * A backend's next hop. A VIP or a mux has none: a packet sent there would come back, or reach another mux, which would
 * forward it again.
 */
static void lookup_backend(void *context, const struct fl_address *address, struct next_hop *out)
{
	const struct tables *tables = context;
	uint64_t high, low;

	lookup_words(address, &high, &low);
	memset(out, 0, sizeof(*out));
	out->loop = lookup_vip(tables_lookup(tables), high, low) || peers_has(tables->peers, address);
	if (!out->loop)
		tables->hops.lookup(tables->hops.context, address, out);
}

/* Builds a lookup from the registry, the mux's own addresses and these peers. NULL: no memory. */
static struct lookup *build_lookup(const struct tables *tables, const struct peers *peers)
{
	struct lookup *lookup = lookup_new(tables->registry.services, tables->registry.count, tables->selves, 2);

	if (lookup) {
		lookup->peers = peers;
		lookup->lists = tables->lists;
	}
	return lookup;
}

struct tables *tables_new(unsigned readers, const struct next_hops *hops)
{
	static const struct options none;
	struct tables *tables = calloc(1, sizeof(*tables));
	struct lookup *lookup;

	if (!tables)
		return NULL;
	tables->hops = *hops;
	tables->options = &none;
	tables->backend_hops = (struct next_hops){.context = tables, .lookup = lookup_backend};
	tables->peers = peers_new(NULL, 0, &tables->selves[0], &tables->deal, hops);
	tables->lists = lists_new(LISTS_MAX);
	lookup = tables->peers && tables->lists ? build_lookup(tables, tables->peers) : NULL;
	tables->publication = lookup ? publication_new(readers, lookup, tables->lists) : NULL;
	if (!tables->publication) {
		lookup_free(lookup);
		tables_free(tables);
		return NULL;
	}
	return tables;
}

void tables_free(struct tables *tables)
{
	if (!tables)
		return;
	registry_clear(&tables->registry);
	publication_free(tables->publication);
	peers_free(tables->peers);
	lists_free(tables->lists);
	free(tables);
}

struct rte_rcu_qsbr *tables_rcu(struct tables *tables)
{
	return publication_rcu(tables->publication);
}

const struct lookup *tables_lookup(const struct tables *tables)
{
	return publication_lookup(tables->publication);
}

static void announce_vips(struct tables *tables)
{
	struct fl_address *vips;
	uint32_t count;

	if (!tables->listener.changed)
		return;
	vips = registry_vips(&tables->registry, &count);
	if (vips)
		tables->listener.changed(tables->listener.context, vips, count);
	free(vips);
}

void tables_listen(struct tables *tables, const struct vip_listener *listener)
{
	tables->listener = *listener;
	announce_vips(tables);
}

static int publish(struct tables *tables)
{
	struct lookup *lookup = build_lookup(tables, tables->peers);

	if (!lookup)
		return -ENOMEM;
	tables->stale = true;
	publication_swap(tables->publication, lookup);
	return 0;
}

/* Swaps in new peers and frees the old ones; on failure frees the new ones. */
static int publish_peers(struct tables *tables, struct peers *peers)
{
	struct peers *old = tables->peers;
	int error;

	if (!peers)
		return -ENOMEM;
	tables->peers = peers;
	error = publish(tables);
	if (error)
		tables->peers = old;
	peers_free(error ? peers : old);
	return error;
}

int tables_set_self(struct tables *tables, const struct fl_address *self, const struct fl_address *other,
		    const struct tag_keys *keys)
{
	tables->selves[0] = *self;
	tables->selves[1] = *other;
	tables->deal.tag_flags = keys ? tag_key_flags(&keys->current) : 0;
	if (keys) {
		tables->key = keys->current;
		for (int bit = 0; bit < 2; bit++)
			tables->deal.keys[bit] = fl_mux_key(tag_keys_of(keys, bit));
	}
	return tables_set_peers(tables, NULL, 0);
}

int tables_set_seed(struct tables *tables, const struct fl_siphash_key *seed)
{
	struct peers_deal deal = tables->deal;
	int error;

	deal.seed = *seed;
	error = publish_peers(tables, peers_renew(tables->peers, &deal, &tables->hops));
	if (!error)
		tables->deal = deal;
	return error;
}

int tables_set_peers(struct tables *tables, const struct fl_address *addresses, uint32_t count)
{
	return publish_peers(tables, peers_new(addresses, count, &tables->selves[0], &tables->deal, &tables->hops));
}

/* Also of backends that were removed: servers may still send packets on to them. */
static const struct service *backend_at(const struct tables *tables, const struct fl_address *address, uint16_t except)
{
	for (uint32_t i = 0; i < tables->registry.count; i++) {
		const struct service *service = tables->registry.services[i];
		const struct ring *ring = service->ring;

		for (uint32_t b = 0; ring && service->id != except && b < ring->backends->count; b++)
			if (!memcmp(ring->backends->list[b].address.bytes, address->bytes, sizeof(address->bytes)))
				return service;
	}
	return NULL;
}

static int check_vip(const struct tables *tables, const struct service_config *config, const struct fl_address *vip,
		     struct reason *why)
{
	const struct vip_guard *guard = &tables->guard;
	const struct service *other;
	char text[ADDRESS_TEXT_MAX];
	int error = guard->check(guard->context, vip, why);

	if (error)
		return error;
	address_print(vip, text);
	if (peers_has(tables->peers, vip))
		return reason_set(why, -EADDRINUSE, "vips: %s of service %s is that of a mux; allowed: others", text,
				  config->name);
	other = backend_at(tables, vip, config->id);
	if (other)
		return reason_set(why, -EADDRINUSE,
				  "vips: %s of service %s is that of a backend of service %s; allowed: others", text,
				  config->name, other->config.name);
	return 0;
}

int tables_check_vips(const struct tables *tables, const struct service_config *config, struct reason *why)
{
	int error = 0;

	for (uint32_t i = 0; tables->guard.check && !error && i < config->vips_count; i++)
		error = check_vip(tables, config, &config->vips[i], why);
	return error;
}

static int check_config(const struct tables *tables, const struct service_config *config, struct reason *why)
{
	const struct service_listener *listener = &tables->services;
	int error = config->steering->check ? config->steering->check(config, why) : 0;

	if (!error)
		error = tables_check_vips(tables, config, why);
	return !error && listener->check ? listener->check(listener->context, config, why) : error;
}

/* What the method steers a service's packets by under a configuration; old as for steering.serve. */
static int make_data(const struct tables *tables, const struct service_config *config, void *old, void **out,
		     struct reason *why)
{
	*out = NULL;
	if (!config->steering->serve)
		return 0;
	*out = config->steering->serve(config, tables->options, old);
	return *out ? 0 : reason_set(why, -ENOMEM, "service %s: no memory for steering", config->name);
}

static void note_budgets(struct tables *tables)
{
	bool has = false;

	for (uint32_t i = 0; i < tables->registry.count; i++) {
		const struct service_config *config = &tables->registry.services[i]->config;

		has |= config->packets_per_second || config->bytes_per_second;
	}
	__atomic_store_n(&tables->has_budgets, has, __ATOMIC_RELAXED);
}

int tables_add(struct tables *tables, const struct service_config *config, struct service **out, struct reason *why)
{
	struct service *service;
	void *data;
	int error = check_config(tables, config, why);

	if (!error)
		error = make_data(tables, config, NULL, &data, why);
	if (error)
		return error;
	error = registry_add(&tables->registry, tables_lookup(tables), config, &service, why);
	if (error) {
		if (data)
			config->steering->drop(data);
		return error;
	}
	service->steering_data = data;
	service->list_key = fl_list_key(&tables->key, service->id);
	announce_vips(tables);
	error = publish(tables);
	if (error) {
		registry_remove(&tables->registry, service);
		announce_vips(tables);
		registry_release(&tables->registry, service);
		return reason_set(why, error, "service %s: no memory for the lookup", config->name);
	}
	note_budgets(tables);
	if (tables->services.configured)
		tables->services.configured(tables->services.context, service);
	*out = service;
	return 0;
}

int tables_change(struct tables *tables, struct service *service, const struct service_config *config,
		  struct reason *why)
{
	struct service_config before = service->config;
	struct ring_rule rule;
	void *data, *old = service->steering_data;
	int error = service_config_check_change(&before, config, why);

	if (!error)
		error = check_config(tables, config, why);
	if (!error)
		error = make_data(tables, config, old, &data, why);
	if (error)
		return error;
	error = registry_change(&tables->registry, tables_lookup(tables), service, config, why);
	if (error) {
		if (data)
			config->steering->drop(data);
		return error;
	}
	if (data)
		__atomic_store_n(&service->steering_data, data, __ATOMIC_RELEASE);
	announce_vips(tables);
	error = publish(tables);
	if (error) {
		registry_change(&tables->registry, tables_lookup(tables), service, &before, why);
		announce_vips(tables);
		reason_set(why, error, "service %s: no memory for the lookup", before.name);
		if (data)
			__atomic_store_n(&service->steering_data, old, __ATOMIC_RELEASE);
		old = data;
	}
	if (data) { /* once no worker can hold it */
		publication_synchronize(tables->publication);
		config->steering->drop(old);
	}
	note_budgets(tables);
	rule = service_ring_rule(service);
	if (service->ring && service->ring->listed->rule.window != rule.window)
		ring_renew(service->ring, &rule);
	if (!error && tables->services.configured)
		tables->services.configured(tables->services.context, service);
	return error;
}

bool tables_tick(struct tables *tables, uint64_t now_ms)
{
	bool any = false;

	for (uint32_t i = 0; i < tables->registry.count; i++) {
		const struct service *service = tables->registry.services[i];

		if (!service->config.steering->tick)
			continue;
		service->config.steering->tick(service, now_ms);
		if (tables->services.ticked)
			tables->services.ticked(tables->services.context, service, now_ms);
		any = true;
	}
	return any;
}

void tables_close_windows(struct tables *tables, uint32_t now)
{
	struct lists *lists = tables->lists;

	if (now > lists->now)
		__atomic_store_n(&lists->now, now, __ATOMIC_RELAXED);
	if (lists->retired) {
		publication_synchronize(tables->publication);
		lists_reclaim(lists);
	}
	for (uint32_t i = 0; i < tables->registry.count; i++) {
		const struct service *service = tables->registry.services[i];

		if (!service->ring)
			continue;
		ring_close_windows(service->ring);
		if (tables->services.closed)
			tables->services.closed(tables->services.context, service);
	}
}

void tables_remove(struct tables *tables, struct service *service)
{
	static const struct timespec pause = {.tv_nsec = 100 * 1000 * 1000};

	registry_remove(&tables->registry, service);
	note_budgets(tables);
	announce_vips(tables);
	/* no lookup that names the service may outlive it, and no other lookup needs less memory than this one */
	while (publish(tables))
		nanosleep(&pause, NULL);
	if (tables->services.removed)
		tables->services.removed(tables->services.context, service);
	registry_release(&tables->registry, service);
}

int tables_load(struct tables *tables, struct service *service, const struct delta *snapshot, void *data,
		struct reason *why)
{
	int error = publication_load(tables->publication, service, snapshot, data, &tables->backend_hops, why);

	if (!error && tables->services.loaded)
		tables->services.loaded(tables->services.context, service);
	return error;
}

int tables_apply(struct tables *tables, struct service *service, const struct delta *delta, void *data,
		 struct reason *why)
{
	struct fold fold;
	int error = publication_apply(tables->publication, service, delta, data, &tables->backend_hops, &fold, why);

	if (error)
		return error;
	if (tables->services.applied)
		tables->services.applied(tables->services.context, service, delta, &fold);
	fold_end(&fold);
	return 0;
}

void tables_refresh(struct tables *tables)
{
	if (peers_differ(tables->peers, &tables->hops))
		publish_peers(tables, peers_renew(tables->peers, &tables->deal, &tables->hops));
	tables->stale = !publication_refresh(tables->publication, tables->registry.services, tables->registry.count,
					     &tables->backend_hops);
	for (uint32_t i = 0; tables->services.refreshed && i < tables->registry.count; i++)
		tables->services.refreshed(tables->services.context, tables->registry.services[i]);
}
