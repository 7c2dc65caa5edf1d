/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mux's services and the other muxes: the control thread changes them in the registry (registry.h) and the peers
 * (peers.h), and publishes them for workers (publication.h).
 *
 * The only writer is the control thread: no other thread may call a function that takes a non-const struct tables. A
 * function that replaces something waits until no worker can hold the old one, then frees it.
 */
#ifndef FAIRLEAD_MUX_TABLES_H
#define FAIRLEAD_MUX_TABLES_H

#include "config/tag_key.h"
#include "host/next_hop.h"
#include "service/service.h"
#include "service/service_listener.h"

struct lists;
struct lookup;
struct options;
struct rte_rcu_qsbr;
struct tables;

/*
 * Called with the VIPs of all services whenever they change: before a new VIP is published, and before a removed one
 * leaves the lookup, so that a packet which the XDP program passed to the mux always finds its VIP.
 */
struct vip_listener {
	void *context;
	void (*changed)(void *context, const struct fl_address *vips, uint32_t count);
};

/*
 * Which VIPs would cut the mux off from what it needs itself: check returns 0, or -EADDRINUSE and why. Asked before a
 * service is added or changed, and by tables_check_vips.
 */
struct vip_guard {
	void *context;
	int (*check)(void *context, const struct fl_address *vip, struct reason *why);
};

/* hops provides every backend's next hop and must outlive the tables. NULL: no memory. */
struct tables *tables_new(unsigned readers, const struct next_hops *hops);

/*
 * Sets the mux's own outer addresses, at most one of each family, first the one that other muxes know; and the
 * cluster's keys, NULL: none. Clears the peers. Call it before the first service. -ENOMEM: no memory.
 */
int tables_set_self(struct tables *tables, const struct fl_address *self, const struct fl_address *other,
		    const struct tag_keys *keys);

/*
 * Sets the seed that decides where fragments meet, at first all zero. All muxes must have the same. -ENOMEM: nothing has
 * changed.
 */
int tables_set_seed(struct tables *tables, const struct fl_siphash_key *seed);

/* Sets the live muxes, by the address that others know; may include this one. -ENOMEM: nothing has changed. */
int tables_set_peers(struct tables *tables, const struct fl_address *addresses, uint32_t count);

/* Sets the options that steering methods check; they must outlive the tables. Call before the first service. */
void tables_set_options(struct tables *tables, const struct options *options);

/* Returns once no reader holds anything unpublished before the call. */
void tables_synchronize(struct tables *tables);

/* There must be no readers left. */
void tables_free(struct tables *tables);

/* At most one listener; it is called at once with the current VIPs. */
void tables_listen(struct tables *tables, const struct vip_listener *listener);

/* At most one, which is told of no service that there already is. */
void tables_listen_services(struct tables *tables, const struct service_listener *listener);

/* At most one guard, which is asked about no service that there already is; without one all VIPs are allowed. */
void tables_guard(struct tables *tables, const struct vip_guard *guard);

/* 0, or -EADDRINUSE and why: a VIP is an address that the guard keeps, or that of a mux or of another service's backend. */
int tables_check_vips(const struct tables *tables, const struct service_config *config, struct reason *why);

/*
 * Adds a service without a ring: its packets are dropped as no_ring until tables_load. The configuration is copied.
 * Errors of registry_add, of tables_check_vips, of the steering method's check and of the listener's.
 */
int tables_add(struct tables *tables, const struct service_config *config, struct service **out, struct reason *why);

/* Changes what a service may change (service_config_check_change). Errors of registry_change, and of those checks. */
int tables_change(struct tables *tables, struct service *service, const struct service_config *config,
		  struct reason *why);

/* Lets steering methods do what they do every STEERING_TICK_MS; false: none of the services has anything to do. */
bool tables_tick(struct tables *tables, uint64_t now_ms);

/*
 * Takes former owners whose windows are over by now (Unix seconds by ZooKeeper) out of rows, and makes room in the table
 * of lists: to be called once a second. Time does not go back: a lower `now` than before counts as that one.
 */
void tables_close_windows(struct tables *tables, uint32_t now);
/* The highest `now` of these calls, 0: none. Any thread. */
uint32_t tables_now(const struct tables *tables);

/* The table of lists of former owners. */
const struct lists *tables_lists(const struct tables *tables);

/* Removes the service from the lookup and frees it with its ring. */
void tables_remove(struct tables *tables, struct service *service);

/* Errors of publication_load and publication_apply, which see for `data`; NULL: there is none. */
int tables_load(struct tables *tables, struct service *service, const struct delta *snapshot, void *data,
		struct reason *why);
int tables_apply(struct tables *tables, struct service *service, const struct delta *delta, void *data,
		 struct reason *why);

/* Rebuilds outdated templates: call it when next hops have changed, or if tables_is_stale(). */
void tables_refresh(struct tables *tables);

/* Whether VIPs or muxes, which no backend may be, have changed since: poll it about once a second. */
bool tables_is_stale(const struct tables *tables);

/* As those of the registry. Control thread. */
struct service *tables_find(const struct tables *tables, const char *name);
struct service *tables_find_id(const struct tables *tables, uint16_t id);
struct service *tables_next(const struct tables *tables, const struct service *after);

/* What workers read: reload it after each quiescent state. */
const struct lookup *tables_lookup(const struct tables *tables);

struct rte_rcu_qsbr *tables_rcu(struct tables *tables);

#endif
