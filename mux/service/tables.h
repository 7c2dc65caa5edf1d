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
#include "ring/fold.h"
#include "service/peers.h"
#include "service/publication.h"
#include "service/registry.h"

struct options;

/*
 * Follows what a mux serves, for a packet path that keeps tables of its own beside the workers' (threads/front.h). The
 * control thread calls it once a change has been published to the workers, so whatever it reads of a service is what
 * they steer by, or newer than what they still hold.
 */
struct service_listener {
	void *context;

	/* Before a service is added or changed: 0, or -EAFNOSUPPORT or -ENOSPC and why this mux can't serve it. */
	int (*check)(void *context, const struct service_config *config, struct reason *why);

	/* It was added, which has no ring yet, or its configuration has changed. */
	void (*configured)(void *context, const struct service *service);

	/* It has a new ring. */
	void (*loaded)(void *context, const struct service *service);

	/* A delta has changed its ring. fold: the buckets that it has changed. */
	void (*applied)(void *context, const struct service *service, const struct delta *delta,
			const struct fold *fold);

	/* Windows may have ended: rows of its ring may name fewer former owners. */
	void (*closed)(void *context, const struct service *service);

	/* Next hops of its backends may have changed. */
	void (*refreshed)(void *context, const struct service *service);

	/* Its steering method was called as every STEERING_TICK_MS; not of methods that are not. */
	void (*ticked)(void *context, const struct service *service, uint64_t now_ms);

	/* No lookup has it any more. It is freed afterwards. */
	void (*removed)(void *context, const struct service *service);
};

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

struct tables {
	struct registry registry;
	struct publication *publication;
	struct peers *peers;         /* the published lookup points to them */
	struct lists *lists;         /* of former owners; the same */
	struct fl_address selves[2]; /* first the one that peers know */
	struct peers_deal deal;
	struct fl_siphash_key key; /* of the cluster, if it has one */
	const struct options
	    *options;          /* that steering methods check; they must outlive it. Set before the first service */
	struct next_hops hops; /* of any address */
	struct next_hops backend_hops; /* of backends: none for a VIP or a mux */
	bool has_budgets;              /* atomic: a service has one */
	bool stale; /* VIPs or peers have changed since backends' templates were built: poll it about once a second */
	struct vip_listener listener;
	struct service_listener services; /* is told of no service that there already is */
	struct vip_guard guard; /* is asked about no service that there already is; without it all VIPs are allowed */
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

/* There must be no readers left. */
void tables_free(struct tables *tables);

/* At most one listener; it is called at once with the current VIPs. */
void tables_listen(struct tables *tables, const struct vip_listener *listener);

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

/* Removes the service from the lookup and frees it with its ring. */
void tables_remove(struct tables *tables, struct service *service);

/* Errors of publication_load and publication_apply, which see for `data`; NULL: there is none. */
int tables_load(struct tables *tables, struct service *service, const struct delta *snapshot, void *data,
		struct reason *why);
int tables_apply(struct tables *tables, struct service *service, const struct delta *delta, void *data,
		 struct reason *why);

/* Rebuilds outdated templates: call it when next hops have changed, or if `stale`. */
void tables_refresh(struct tables *tables);

/* What workers read: reload it after each quiescent state. */
const struct lookup *tables_lookup(const struct tables *tables);

struct rte_rcu_qsbr *tables_rcu(struct tables *tables);

#endif
