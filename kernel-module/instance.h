/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A server: at most one in a network namespace. Packets reach it by its UDP socket's user data, those of the paper's
 * format and commands by the namespace.
 *
 *	setup		how it is set up: immutable, replaced as a whole under RCU
 *	memory		what packets have taught, until DETACH
 *	generations	highest seen of each service; only ever grows, by compare-and-swap
 *	counters	per CPU
 *	flows		which connections came by a VIP, if it mangles
 *
 * A server is freed once its sockets are closed, an RCU grace period is over, and the last dump has let go of it.
 */
#ifndef FAIRLEAD_INSTANCE_H
#define FAIRLEAD_INSTANCE_H

#include <linux/netfilter.h>
#include <linux/percpu.h>
#include <linux/refcount.h>
#include <net/net_namespace.h>

#include "flows.h"
#include "memory.h"
#include "setup.h"

struct fl_counters {
	u64 values[FL_COUNTERS];
};

struct fl_instance {
	struct fl_setup __rcu *setup;              /* writers hold the namespace's lock */
	struct socket *sockets[FL_OUTER_FAMILIES]; /* protected by the namespace's lock; NULL for no address */
	struct fl_memory memory;
	u32 *generations; /* FL_SERVER_SERVICES of them, 0 for never seen */
	struct fl_counters __percpu *counters;
	struct fl_flows flows;       /* if mangling */
	struct nf_hook_ops hooks[2]; /* the same, and they stay until DETACH, when flows end as well */
	bool mangling;               /* protected by the namespace's lock */
	refcount_t references;
};

/* Called in softirq, where a CPU's counters are its own. */
static inline void fl_instance_count(struct fl_instance *instance, enum fl_counter counter)
{
	this_cpu_inc(instance->counters->values[counter]);
}

/* Sums over all CPUs. May lag behind a packet that is under way. */
void fl_instance_counters_sum(const struct fl_instance *instance, u64 sums[FL_COUNTERS]);

static inline u32 fl_instance_generation(const struct fl_instance *instance, u16 service)
{
	return READ_ONCE(instance->generations[service]);
}

/* Never lowers it. */
void fl_instance_generation_raise(struct fl_instance *instance, u16 service, u32 generation);

/*
 * Starts the namespace's server, or replaces its setup. Takes over setup in every case. A new address or port opens its
 * socket before the old one is closed. Returns 0, or a negative errno and then nothing has changed.
 */
int fl_instance_set(struct net *net, struct fl_setup *setup);

/* Ends the namespace's server; -ENOENT if there is none. */
int fl_instance_detach(struct net *net);

/* The namespace's server, NULL if there is none. Called under rcu_read_lock(), which keeps it. */
struct fl_instance *fl_instance_of(struct net *net);

/* A counted reference to the same, for whoever may sleep. */
struct fl_instance *fl_instance_get(struct net *net);
void fl_instance_put(struct fl_instance *instance);

int fl_instances_register(void);
/* Ends the servers of all namespaces. No command may come any more. */
void fl_instances_unregister(void);

#endif
