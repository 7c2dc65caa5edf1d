/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	hop	address of a backend -> interface, gateway, source	queried, again when routes change
 *	station	interface, gateway -> MAC address			queried, then followed by events
 *
 * Both are kept in balanced trees (tsearch) and lists. A lookup combines the two into a next hop. Once a minute the tables look
 * up every next hop again; entries that this did not use belong to no backend and are dropped.
 */
#include "host/neighbour.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "host/interface.h"
#include "host/mac.h"
#include "host/netlink.h"

enum { SWEEP_TICKS = 60 };

struct kept {
	LIST_ENTRY(kept) next;
	unsigned used; /* the last sweep in which it was */
};

struct table {
	void *tree; /* tsearch */
	LIST_HEAD(, kept) all;
};

struct station {
	struct kept entry;
	unsigned ifindex;
	struct fl_address address;
	bool known; /* mac is set */
	bool fresh;
	uint8_t mac[6];
};

struct hop {
	struct kept entry;
	struct fl_address address;
	struct netlink_route route; /* ifindex 0: there is none */
	unsigned port;              /* ifindex of the outgoing port: the route's interface, or its parent */
	struct netlink_vlan vlan;   /* of the route, id 0: none */
};

struct neighbours {
	struct ports *ports;
	struct fl_address source; /* none: the kernel's */
	struct fl_address source6;
	struct netlink *netlink;
	struct table hops, stations;
	unsigned sweep; /* counts sweeps; entries last used in an earlier one are unused */
	unsigned ticks;
	bool routes_changed;
	bool lost;
	bool changed;
	unsigned resolved, unresolved; /* atomic */
};

static int compare_hops(const void *left, const void *right)
{
	const struct hop *a = left, *b = right;

	return memcmp(&a->address, &b->address, sizeof(a->address));
}

static int compare_stations(const void *left, const void *right)
{
	const struct station *a = left, *b = right;

	if (a->ifindex != b->ifindex)
		return a->ifindex < b->ifindex ? -1 : 1;
	return memcmp(&a->address, &b->address, sizeof(a->address));
}

struct neighbours *neighbours_new(struct ports *ports, const struct fl_address *source,
				  const struct fl_address *source6, struct reason *why)
{
	struct neighbours *n = calloc(1, sizeof(*n));

	if (!n) {
		reason_set(why, -ENOMEM, "no memory for neighbours");
		return NULL;
	}
	n->ports = ports;
	n->sweep = 1;
	n->source = *source;
	n->source6 = *source6;
	n->netlink = netlink_new(why);
	if (!n->netlink) {
		free(n);
		return NULL;
	}
	return n;
}

void neighbours_free(struct neighbours *n)
{
	if (!n)
		return;
	tdestroy(n->hops.tree, free);
	tdestroy(n->stations.tree, free);
	netlink_free(n->netlink);
	free(n);
}

int neighbours_fd(const struct neighbours *n)
{
	return netlink_fd(n->netlink);
}

/* Finds the entry that equals key, or adds a copy of it. *found: whether it existed. NULL: no memory. */
static void *find_or_add(struct table *table, const void *key, size_t size, int (*compare)(const void *, const void *),
			 bool *found)
{
	void **node = tfind(key, &table->tree, compare);
	struct kept *entry;

	*found = node;
	if (node)
		return *node;
	entry = malloc(size);
	if (!entry)
		return NULL;
	memcpy(entry, key, size);
	if (!tsearch(entry, &table->tree, compare)) {
		free(entry);
		return NULL;
	}
	LIST_INSERT_HEAD(&table->all, entry, next);
	return entry;
}

static void drop_unused(struct table *table, unsigned sweep, int (*compare)(const void *, const void *))
{
	struct kept *next;

	for (struct kept *entry = LIST_FIRST(&table->all); entry; entry = next) {
		next = LIST_NEXT(entry, next);
		if (entry->used == sweep)
			continue;
		LIST_REMOVE(entry, next);
		tdelete(entry, &table->tree, compare);
		free(entry);
	}
}

/* Takes the kernel's current state, but keeps a MAC address that the kernel forgot. True if the MAC has changed. */
static bool update(struct station *station, const struct netlink_neighbour *now)
{
	station->fresh = now->fresh;
	if (!now->known || (station->known && !memcmp(station->mac, now->mac, 6)))
		return false;
	memcpy(station->mac, now->mac, 6);
	station->known = true;
	return true;
}

static void ask_station(struct neighbours *n, struct station *station)
{
	struct netlink_neighbour now = {.ifindex = station->ifindex, .address = station->address};

	if (!netlink_neighbour(n->netlink, &now))
		n->changed |= update(station, &now);
	if (!station->fresh)
		netlink_resolve(n->netlink, station->ifindex, &station->address);
}

/* The port that a route uses, NULL if it is not one of ours; *vlan: the VLAN whose tag its frames get. */
static const struct port *port_of(struct neighbours *n, unsigned ifindex, struct netlink_vlan *vlan)
{
	const struct port *port = ports_by_ifindex(n->ports, ifindex);

	memset(vlan, 0, sizeof(*vlan));
	if (port || !ifindex || netlink_vlan(n->netlink, ifindex, vlan))
		return port;
	return ports_by_ifindex(n->ports, vlan->parent);
}

static void ask_route(struct neighbours *n, struct hop *hop)
{
	const struct port *port = NULL;
	struct netlink_route now;
	struct netlink_vlan vlan;

	memset(&vlan, 0, sizeof(vlan)); /* padding too: compared by its bytes, as the route is */
	if (!netlink_route(n->netlink, &hop->address, &now))
		port = port_of(n, now.ifindex, &vlan);
	if (!port)
		memset(&now, 0, sizeof(now));
	if (memcmp(&now, &hop->route, sizeof(now)) || memcmp(&vlan, &hop->vlan, sizeof(vlan)))
		n->changed = true;
	hop->route = now;
	hop->port = port ? port->ifindex : 0;
	hop->vlan = vlan;
}

static const struct station *station_of(struct neighbours *n, const struct hop *hop)
{
	struct station key = {.ifindex = hop->route.ifindex, .address = hop->route.gateway};
	struct station *station;
	bool found;

	station = find_or_add(&n->stations, &key, sizeof(key), compare_stations, &found);
	if (!station)
		return NULL;
	if (!found)
		ask_station(n, station);
	station->entry.used = n->sweep;
	return station;
}

static uint16_t mtu_of(const struct hop *hop, const struct port *port)
{
	uint32_t mtu = port->mtu;

	if (hop->vlan.mtu && hop->vlan.mtu < mtu)
		mtu = hop->vlan.mtu;
	return (uint16_t)(hop->route.mtu && hop->route.mtu < mtu ? hop->route.mtu : mtu);
}

static void lookup(void *context, const struct fl_address *address, struct next_hop *out)
{
	struct neighbours *n = context;
	const struct station *station;
	const struct port *port;
	struct hop key = {.address = *address}, *hop;
	const struct fl_address *source = fl_address_is_ipv4(address) ? &n->source : &n->source6;
	bool found;

	memset(out, 0, sizeof(*out));
	hop = find_or_add(&n->hops, &key, sizeof(key), compare_hops, &found);
	if (!hop)
		return;
	if (!found)
		ask_route(n, hop);
	hop->entry.used = n->sweep;
	port = ports_by_ifindex(n->ports, hop->port);
	if (!port)
		return;
	station = station_of(n, hop);
	if (!station || !station->known)
		return;
	out->resolved = true;
	out->port = (uint8_t)port->id;
	out->mtu = mtu_of(hop, port);
	out->vlan = hop->vlan.id;
	memcpy(out->source_mac, &port->mac, sizeof(out->source_mac));
	memcpy(out->mac, station->mac, 6);
	out->source = fl_address_is_none(source) ? hop->route.source : *source;
}

struct next_hops neighbours_hops(struct neighbours *n)
{
	return (struct next_hops){.context = n, .lookup = lookup};
}

static void on_neighbour(void *context, const struct netlink_neighbour *now)
{
	struct neighbours *n = context;
	struct station key = {.ifindex = now->ifindex, .address = now->address};
	struct station **node = tfind(&key, &n->stations.tree, compare_stations);

	if (node)
		n->changed |= update(*node, now);
}

static void on_link(void *context, unsigned ifindex)
{
	struct neighbours *n = context;
	struct port *port = ports_by_ifindex(n->ports, ifindex);
	uint8_t bytes[6];
	uint16_t mtu;

	n->routes_changed = true;
	if (!port)
		return;
	if (!interface_mtu(port->interface, &mtu) && mtu != port->mtu) {
		port->mtu = mtu;
		n->changed = true;
	}
	/* a TAP's MAC may differ from that of its device */
	if (port->kind != PORT_RAW && !interface_mac(port->interface, bytes) && mac_word(bytes) != port->mac) {
		__atomic_store_n(&port->mac, mac_word(bytes), __ATOMIC_RELAXED);
		n->changed = true;
	}
}

/* Whether anything has changed since the last call, including entries that a lookup added in between. */
static bool take_changed(struct neighbours *n)
{
	bool changed = n->changed;

	n->changed = false;
	return changed;
}

bool neighbours_receive(struct neighbours *n)
{
	struct netlink_events events = {.context = n, .neighbour = on_neighbour, .link = on_link};

	netlink_receive(n->netlink, &events);
	n->routes_changed |= events.routes_changed;
	n->lost |= events.lost;
	return take_changed(n);
}

static void look_after_hops(struct neighbours *n, bool ask)
{
	for (struct kept *entry = LIST_FIRST(&n->hops.all); entry; entry = LIST_NEXT(entry, next)) {
		struct hop *hop = (struct hop *)entry;

		if (ask || !hop->route.ifindex)
			ask_route(n, hop);
	}
}

static void look_after_stations(struct neighbours *n, bool ask)
{
	unsigned resolved = 0, unresolved = 0;

	for (struct kept *entry = LIST_FIRST(&n->stations.all); entry; entry = LIST_NEXT(entry, next)) {
		struct station *station = (struct station *)entry;

		if (ask || !station->fresh)
			ask_station(n, station);
		if (station->known)
			resolved++;
		else
			unresolved++;
	}
	__atomic_store_n(&n->resolved, resolved, __ATOMIC_RELAXED);
	__atomic_store_n(&n->unresolved, unresolved, __ATOMIC_RELAXED);
}

bool neighbours_tick(struct neighbours *n)
{
	bool lost = n->lost;

	if (n->ticks % SWEEP_TICKS == 1 && n->ticks > 1) {
		drop_unused(&n->hops, n->sweep, compare_hops);
		drop_unused(&n->stations, n->sweep, compare_stations);
	}
	look_after_hops(n, n->routes_changed || lost);
	n->routes_changed = false;
	n->lost = false;
	look_after_stations(n, lost);
	if (n->ticks++ % SWEEP_TICKS == 0) {
		/* tables_refresh looks up everything in use before the next tick sweeps */
		n->sweep++;
		n->changed = true;
	}
	return take_changed(n);
}

int neighbours_route(struct neighbours *n, const struct fl_address *address, struct netlink_route *out)
{
	return netlink_route(n->netlink, address, out);
}

void neighbours_each(const struct neighbours *n,
		     void (*found)(void *context, const struct fl_address *address, const struct netlink_route *route),
		     void *context)
{
	for (const struct kept *entry = LIST_FIRST(&n->hops.all); entry; entry = LIST_NEXT(entry, next)) {
		const struct hop *hop = (const struct hop *)entry;

		if (hop->route.ifindex)
			found(context, &hop->address, &hop->route);
	}
}

void neighbours_count(const struct neighbours *n, unsigned *resolved, unsigned *unresolved)
{
	*resolved = __atomic_load_n(&n->resolved, __ATOMIC_RELAXED);
	*unresolved = __atomic_load_n(&n->unresolved, __ATOMIC_RELAXED);
}
