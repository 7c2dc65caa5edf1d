/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mux's services: the registry that the control thread writes, and the lookup that workers read (lookup.h).
 *
 * One writer, the control thread: every function that takes a struct tables without const is called by it alone.
 * Readers are the workers, numbered 0 .. readers - 1, which hold nothing across a quiescent state. A function that
 * replaces something waits until no reader can hold the old one, then frees it: at most one burst of a busy worker; a
 * worker that sleeps is not waited for.
 */
#ifndef FAIRLEAD_MUX_TABLES_H
#define FAIRLEAD_MUX_TABLES_H

#include "ring/next_hop.h"
#include "service/service.h"

struct lookup;
struct rte_rcu_qsbr;
struct tables;

enum tables_limits {
	TABLES_SERVICES_MAX = 4096,
	TABLES_VIPS_MAX = 65535, /* of all services; the XDP program's maps have room for these and the mux's own */
	TABLES_READERS_MAX = 128,
};

/*
 * Told the set of VIPs whenever it changes: before a new one is looked up, and before an old one no longer is, so that
 * a packet which an XDP program took for the mux is not met by a lookup that knows nothing of it.
 */
struct vip_listener {
	void *context;
	void (*changed)(void *context, const struct fl_address *vips, uint32_t count);
};

/* hops is asked for every backend's next hop and must outlive the tables. NULL: no memory. */
struct tables *tables_new(unsigned readers, const struct next_hops *hops);

/*
 * The mux's own outer addresses, none or one of each family, the one that other muxes know first; and what all muxes of
 * the cluster have in common, for where fragments meet. Forgets the peers. -ENOMEM: nothing has changed.
 */
int tables_set_self(struct tables *tables, const struct fl_address *self, const struct fl_address *other,
		    const struct fl_siphash_key *seed);

/* The muxes that live, by the address that others know; this one may be among them. -ENOMEM: nothing has changed. */
int tables_set_peers(struct tables *tables, const struct fl_address *addresses, uint32_t count);

/* Workers have tables of flows: services with steering `flowtable` are welcome. Before the first service. */
void tables_allow_flows(struct tables *tables);

/* Returns once no reader holds what was unpublished before the call. */
void tables_synchronize(struct tables *tables);

/* All readers must be gone. */
void tables_free(struct tables *tables);

/* At most one; called at once with the present set. */
void tables_listen(struct tables *tables, const struct vip_listener *listener);

/*
 * Adds a service without a ring: its packets are dropped as no_ring until service_load. The configuration is copied.
 * -EEXIST: id, name, or a VIP with protocol and port are another's. -ENOSPC: too many services or VIPs. -ENOTSUP:
 * steering `flowtable`, and workers have no tables of flows.
 */
int tables_add(struct tables *tables, const struct service_config *config, struct service **out, struct why *why);

/*
 * Changes VIPs, ports, ports of ids, place of ids in QUIC, MSS and window. -EINVAL: id, name, steering, buckets,
 * hash, key, affinity or encapsulation differ; errors of tables_add.
 */
int tables_change(struct tables *tables, struct service *service, const struct service_config *config, struct why *why);

/* Takes the service out of the lookup and frees it with its ring. */
void tables_remove(struct tables *tables, struct service *service);

/*
 * Loads a snapshot: a new ring built aside and swapped in. Nothing has changed on failure: -EINVAL (of another service
 * or number of buckets), -EAFNOSUPPORT (an IPv6 backend where the encapsulation knows none), -ENOMEM.
 */
int tables_load(struct tables *tables, struct service *service, const struct delta *snapshot, struct why *why);

/*
 * Applies a delta to the loaded ring. Nothing has changed on failure: -ENOENT (no ring), -ESTALE (does not follow the
 * ring's generation), -EINVAL, -EAFNOSUPPORT, -ENOMEM.
 */
int tables_apply(struct tables *tables, struct service *service, const struct delta *delta, struct why *why);

/* Next hops have changed, or tables_is_stale(): builds the templates anew where they differ. */
void tables_refresh(struct tables *tables);

/* Whether VIPs or muxes have come or gone since, which backends must not be: to be asked about once a second. */
bool tables_is_stale(const struct tables *tables);

/* By name or id. Control thread. NULL: none. */
struct service *tables_find(const struct tables *tables, const char *name);
struct service *tables_find_id(const struct tables *tables, uint16_t id);

/* Services by no particular order: start with NULL, ends with NULL. Control thread. */
struct service *tables_next(const struct tables *tables, const struct service *after);

/* What workers read: to be loaded anew after each quiescent state. */
const struct lookup *tables_lookup(const struct tables *tables);

struct rte_rcu_qsbr *tables_rcu(struct tables *tables);

#endif
