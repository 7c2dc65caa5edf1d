/* SPDX-License-Identifier: Apache-2.0 */
#include "service/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_rcu_qsbr.h>

#include "config/address.h"
#include "ring/backend.h"
#include "service/lookup.h"
#include "service/peers.h"

struct tables {
	struct lookup *lookup; /* atomic */
	struct peers *peers;
	struct fl_siphash_key seed;
	bool flows;                  /* workers have tables of them */
	struct fl_address selves[2]; /* the one that peers know first */
	struct rte_rcu_qsbr *rcu;
	struct next_hops hops;         /* of any address */
	struct next_hops backend_hops; /* of those that a backend may have */
	bool stale;                    /* VIPs or peers are others than when templates were built */
	struct vip_listener listener;
	uint32_t count;
	struct service *services[TABLES_SERVICES_MAX]; /* dense, by no particular order */
	bool slot_used[TABLES_SERVICES_MAX];
};

/*
 * A backend's next hop. A VIP or a mux is none: what is sent there comes back here, or to another mux, which would send
 * it on again.
 */
static void lookup_backend(void *context, const struct fl_address *address, struct next_hop *out)
{
	const struct tables *tables = context;
	uint64_t high, low;

	lookup_words(address, &high, &low);
	memset(out, 0, sizeof(*out));
	out->loop = lookup_vip(tables->lookup, high, low) || peers_has(tables->peers, address);
	if (!out->loop)
		tables->hops.lookup(tables->hops.context, address, out);
}

struct tables *tables_new(unsigned readers, const struct next_hops *hops)
{
	size_t rcu_bytes = (rte_rcu_qsbr_get_memsize(readers) + 63) & ~(size_t)63;
	struct tables *tables = calloc(1, sizeof(*tables));

	if (!tables)
		return NULL;
	tables->hops = *hops;
	tables->backend_hops = (struct next_hops){.context = tables, .lookup = lookup_backend};
	tables->rcu = aligned_alloc(64, rcu_bytes);
	tables->lookup = lookup_new(NULL, 0, NULL, 0);
	tables->peers = peers_new(NULL, 0, &tables->selves[0], &tables->seed, hops);
	if (tables->lookup)
		tables->lookup->peers = tables->peers;
	if (!tables->rcu || !tables->lookup || !tables->peers || rte_rcu_qsbr_init(tables->rcu, readers)) {
		tables_free(tables);
		return NULL;
	}
	return tables;
}

static void service_free(struct service *service)
{
	ring_free(service->ring);
	free(service);
}

void tables_free(struct tables *tables)
{
	if (!tables)
		return;
	for (uint32_t i = 0; i < tables->count; i++)
		service_free(tables->services[i]);
	lookup_free(tables->lookup);
	peers_free(tables->peers);
	free(tables->rcu);
	free(tables);
}

struct rte_rcu_qsbr *tables_rcu(struct tables *tables)
{
	return tables->rcu;
}

void tables_allow_flows(struct tables *tables)
{
	tables->flows = true;
}

/* Sleeps between looks: workers may need the core. */
void tables_synchronize(struct tables *tables)
{
	static const struct timespec pause = {.tv_nsec = 20 * 1000};
	uint64_t token = rte_rcu_qsbr_start(tables->rcu);

	while (!rte_rcu_qsbr_check(tables->rcu, token, false))
		nanosleep(&pause, NULL);
}

const struct lookup *tables_lookup(const struct tables *tables)
{
	return __atomic_load_n(&tables->lookup, __ATOMIC_ACQUIRE);
}

struct service *tables_find(const struct tables *tables, const char *name)
{
	const struct lookup *lookup = tables_lookup(tables);

	for (uint32_t i = 0; i < lookup->services_count; i++)
		if (!strcmp(lookup->services[i]->config.name, name))
			return lookup->services[i];
	return NULL;
}

struct service *tables_find_id(const struct tables *tables, uint16_t id)
{
	const struct lookup *lookup = tables_lookup(tables);

	for (uint32_t i = 0; i < lookup->services_count; i++)
		if (lookup->services[i]->id == id)
			return lookup->services[i];
	return NULL;
}

struct service *tables_next(const struct tables *tables, const struct service *after)
{
	uint32_t i = 0;

	if (after)
		while (i < tables->count && tables->services[i++] != after)
			;
	return i < tables->count ? tables->services[i] : NULL;
}

static bool has_vip(const struct service_config *config, const struct fl_address *vip)
{
	for (uint32_t i = 0; i < config->vips_count; i++)
		if (fl_address_equal(&config->vips[i], vip))
			return true;
	return false;
}

/* The first VIP of both, NULL if none. */
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

/* The first port that both take, 0 if none: what they share begins with a port or a range of one of them. */
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

/* Whether a VIP of the configuration is a service's already: where none is, nothing can clash. */
static bool has_known_vip(const struct tables *tables, const struct service_config *config)
{
	const struct lookup *lookup = tables_lookup(tables);

	for (uint32_t i = 0; i < config->vips_count; i++) {
		uint64_t high, low;

		lookup_words(&config->vips[i], &high, &low);
		if (lookup_vip(lookup, high, low))
			return true;
	}
	return false;
}

/* Whether a configuration may stand beside all services but one. */
static int check(const struct tables *tables, const struct service_config *config, const struct service *except,
		 struct why *why)
{
	bool may_clash = has_known_vip(tables, config);
	char text[ADDRESS_TEXT_MAX];
	uint32_t vips = 0;

	for (uint32_t i = 0; i < tables->count; i++) {
		const struct service_config *other = &tables->services[i]->config;
		const struct fl_address *vip;
		uint16_t port;

		if (tables->services[i] == except)
			continue;
		vips += other->vips_count;
		if (other->id == config->id)
			return why_refuse(why, -EEXIST, "id: %u of service %s is that of service %s; ids are unique",
					  config->id, config->name, other->name);
		if (!strcmp(other->name, config->name))
			return why_refuse(why, -EEXIST, "name: %s is taken by service %u; names are unique",
					  config->name, other->id);
		vip = may_clash ? shared_vip(config, other) : NULL;
		port = vip ? shared_port(config, other) : 0;
		if (!port)
			continue;
		address_print(vip, text);
		return why_refuse(why, -EEXIST,
				  "vips: %s port %u of service %s belongs to service %s; a VIP's port has one service",
				  text, port, config->name, other->name);
	}
	if (vips + config->vips_count > TABLES_VIPS_MAX)
		return why_refuse(
		    why, -ENOSPC,
		    "vips: service %s has %u, the other services of this mux have %u; at most %u in all are allowed",
		    config->name, config->vips_count, vips, TABLES_VIPS_MAX);
	return 0;
}

/* Tells the VIPs of all services but one, of config instead if that is given; both NULL: of all. */
static void announce_vips(struct tables *tables, const struct service *except, const struct service_config *config)
{
	struct fl_address *vips;
	uint32_t n = 0;

	if (!tables->listener.changed)
		return;
	vips = calloc((size_t)(tables->count + 1) * SERVICE_VIPS_MAX, sizeof(*vips));
	if (!vips)
		return;
	for (uint32_t i = 0; i < tables->count; i++) {
		const struct service_config *c = &tables->services[i]->config;

		if (tables->services[i] == except)
			continue;
		memcpy(vips + n, c->vips, c->vips_count * sizeof(*vips));
		n += c->vips_count;
	}
	if (config) {
		memcpy(vips + n, config->vips, config->vips_count * sizeof(*vips));
		n += config->vips_count;
	}
	tables->listener.changed(tables->listener.context, vips, n);
	free(vips);
}

void tables_listen(struct tables *tables, const struct vip_listener *listener)
{
	tables->listener = *listener;
	announce_vips(tables, NULL, NULL);
}

/* Builds the lookup from the services as they stand and swaps it in. */
static int publish(struct tables *tables)
{
	struct lookup *old = tables->lookup;
	struct lookup *lookup = lookup_new(tables->services, tables->count, tables->selves, 2);

	if (!lookup)
		return -ENOMEM;
	lookup->peers = tables->peers;
	__atomic_store_n(&tables->lookup, lookup, __ATOMIC_RELEASE);
	tables->stale = true;
	tables_synchronize(tables);
	lookup_free(old);
	return 0;
}

/* Swaps peers in, and frees the old ones or, on failure, the new ones. */
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
		    const struct fl_siphash_key *seed)
{
	tables->selves[0] = *self;
	tables->selves[1] = *other;
	tables->seed = *seed;
	return tables_set_peers(tables, NULL, 0);
}

int tables_set_peers(struct tables *tables, const struct fl_address *addresses, uint32_t count)
{
	return publish_peers(tables, peers_new(addresses, count, &tables->selves[0], &tables->seed, &tables->hops));
}

/* Next hops of the peers have changed; without memory they stay as they were. */
static void refresh_peers(struct tables *tables)
{
	struct fl_address *addresses;
	uint32_t count = tables->peers->count;

	if (!peers_differ(tables->peers, &tables->hops))
		return;
	addresses = calloc(count, sizeof(*addresses));
	if (!addresses)
		return;
	for (uint32_t i = 0; i < count; i++)
		addresses[i] = tables->peers->list[i].address;
	tables_set_peers(tables, addresses, count);
	free(addresses);
}

static int take_slot(struct tables *tables)
{
	for (int i = 0; i < TABLES_SERVICES_MAX; i++)
		if (!tables->slot_used[i])
			return i;
	return -ENOSPC;
}

/* VIPs and ports are the control thread's; everything else of a config never changes and may be read by readers. */
static void set_config(struct service *service, const struct service_config *config)
{
	struct quic_server_id quic = config->quic;

	memcpy(service->config.vips, config->vips, sizeof(config->vips));
	memcpy(service->config.ports, config->ports, sizeof(config->ports));
	service->config.vips_count = config->vips_count;
	service->config.ports_count = config->ports_count;
	service->config.mptcp = config->mptcp;
	service->config.window = config->window;
	service->config.mss = config->mss;
	service->config.quic = config->quic;
	__atomic_store_n(&service->mss, config->mss, __ATOMIC_RELAXED);
	__atomic_store(&service->quic, &quic, __ATOMIC_RELAXED);
	__atomic_store_n(&service->window, config->window, __ATOMIC_RELAXED);
}

int tables_add(struct tables *tables, const struct service_config *config, struct service **out, struct why *why)
{
	int slot = take_slot(tables), error = check(tables, config, NULL, why);
	struct service *service;

	if (error)
		return error;
	if (config->steering == STEERING_FLOWTABLE && !tables->flows)
		return why_refuse(why, -ENOTSUP,
				  "steering: service %s has 'flowtable'; allowed by a mux without --flows: ring",
				  config->name);
	if (slot < 0)
		return why_refuse(why, slot, "service %s: this mux has %u services; at most %u are allowed",
				  config->name, tables->count, TABLES_SERVICES_MAX);
	service = aligned_alloc(_Alignof(struct service), sizeof(*service));
	if (!service)
		return why_refuse(why, -ENOMEM, "service %s: no memory", config->name);
	memset(service, 0, sizeof(*service));
	service->key = config->key;
	service->id = config->id;
	service->hash = (uint8_t)config->hash;
	service->affinity = (uint8_t)config->affinity;
	service->encap = (uint8_t)config->encap;
	service->steering = (uint8_t)config->steering;
	service->slot = (uint16_t)slot;
	service->config = *config;
	set_config(service, config);

	announce_vips(tables, NULL, config);
	tables->services[tables->count++] = service;
	error = publish(tables);
	if (error) {
		tables->count--;
		announce_vips(tables, NULL, NULL);
		free(service);
		return why_refuse(why, error, "service %s: no memory for the lookup", config->name);
	}
	tables->slot_used[slot] = true;
	*out = service;
	return 0;
}

int tables_change(struct tables *tables, struct service *service, const struct service_config *config, struct why *why)
{
	struct service_config before = service->config;
	int error;

	if (config->id != before.id || strcmp(config->name, before.name) || config->buckets != before.buckets ||
	    config->hash != before.hash || memcmp(&config->key, &before.key, sizeof(before.key)) ||
	    config->affinity != before.affinity || config->encap != before.encap || config->steering != before.steering)
		return why_refuse(why, -EINVAL,
				  "service %s: id, name, steering, buckets, hash, hashKey, affinity and encap can't "
				  "change; vips, ports, "
				  "mptcpPorts, quicServerId, maxSegmentSize and windowSeconds can",
				  before.name);
	error = check(tables, config, service, why);
	if (error)
		return error;
	set_config(service, config);
	announce_vips(tables, service, config);
	error = publish(tables);
	if (error) {
		set_config(service, &before);
		announce_vips(tables, NULL, NULL);
		return why_refuse(why, error, "service %s: no memory for the lookup", before.name);
	}
	return 0;
}

void tables_remove(struct tables *tables, struct service *service)
{
	static const struct timespec pause = {.tv_nsec = 100 * 1000 * 1000};
	uint32_t i = 0;

	while (tables->services[i] != service)
		i++;
	tables->services[i] = tables->services[--tables->count];
	announce_vips(tables, NULL, NULL);
	/* a lookup that still names the service must not outlive it, and there is no smaller one to make */
	while (publish(tables))
		nanosleep(&pause, NULL);
	tables->slot_used[service->slot] = false;
	service_free(service);
}

static int check_service(const struct service *service, const struct delta *delta, struct why *why)
{
	if (delta->service != service->id)
		return why_refuse(why, -EINVAL, "service: generation %u is of service %u; %s is service %u",
				  delta->generation, delta->service, service->config.name, service->id);
	if (delta->buckets != service->config.buckets)
		return why_refuse(why, -EINVAL, "buckets: generation %u has %u; service %s has %u", delta->generation,
				  delta->buckets, service->config.name, service->config.buckets);
	for (uint32_t i = 0; service->encap == ENCAP_IPIP && i < delta->backends_count; i++) {
		char text[ADDRESS_TEXT_MAX];

		if (!fl_address_is_ipv4(&delta->backends[i].address))
			return why_refuse(why, -EAFNOSUPPORT,
					  "backend %u: address %s is IPv6; allowed with encap ipip: an IPv4 address",
					  delta->backends[i].id, address_print(&delta->backends[i].address, text));
	}
	return 0;
}

int tables_load(struct tables *tables, struct service *service, const struct delta *snapshot, struct why *why)
{
	struct ring *ring, *old = service->ring;
	int error = check_service(service, snapshot, why);

	if (error)
		return error;
	ring = ring_new(snapshot->buckets);
	if (!ring)
		return why_refuse(why, -ENOMEM, "service %s: no memory for %u buckets", service->config.name,
				  snapshot->buckets);
	error = ring_load(ring, snapshot, why);
	if (error)
		goto fail;
	ring->backends = backends_new(NULL, snapshot, &tables->backend_hops, why);
	if (!ring->backends) {
		error = -errno;
		goto fail;
	}
	__atomic_store_n(&service->ring, ring, __ATOMIC_RELEASE);
	if (old)
		tables_synchronize(tables);
	ring_free(old);
	return 0;

fail:
	ring_free(ring);
	return error;
}

int tables_apply(struct tables *tables, struct service *service, const struct delta *delta, struct why *why)
{
	struct ring *ring = service->ring;
	struct backends *old = NULL, *backends;
	int error = check_service(service, delta, why);

	if (error)
		return error;
	if (!ring)
		return why_refuse(why, -ENOENT, "service %s has no ring; load a snapshot first", service->config.name);
	error = ring_follows(ring, delta, why);
	if (error)
		return error;
	if (backends_differ(ring->backends, delta) && !backends_change(ring->backends, delta, &tables->backend_hops)) {
		backends = backends_new(ring->backends, delta, &tables->backend_hops, why);
		if (!backends)
			return -errno;
		old = ring->backends;
		__atomic_store_n(&ring->backends, backends, __ATOMIC_RELEASE);
	}
	/* Should it fail, what was added stays: the same delta adds it again. */
	error = ring_apply(ring, delta, why);
	if (old) {
		tables_synchronize(tables);
		backends_free(old);
	}
	return error;
}

bool tables_is_stale(const struct tables *tables)
{
	return tables->stale;
}

void tables_refresh(struct tables *tables)
{
	struct backends **old = calloc(tables->count ? tables->count : 1, sizeof(*old));
	uint32_t n = 0;

	refresh_peers(tables);
	if (!old)
		return;
	tables->stale = false;
	for (uint32_t i = 0; i < tables->count; i++) {
		struct ring *ring = tables->services[i]->ring;
		struct backends *backends;
		int error;

		if (!ring)
			continue;
		backends = backends_refresh(ring->backends, tables->services[i]->id, &tables->backend_hops, &error);
		tables->stale |= error;
		if (!backends)
			continue;
		old[n++] = ring->backends;
		__atomic_store_n(&ring->backends, backends, __ATOMIC_RELEASE);
	}
	if (n)
		tables_synchronize(tables);
	while (n)
		backends_free(old[--n]);
	free(old);
}
