/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A server: at most one per network namespace. GUE packets reach it by its UDP sockets' user data; packets in other
 * formats, and commands, by the namespace.
 *
 *	setup		its configuration: immutable, replaced as a whole under RCU
 *	generations	the highest seen of each service; only ever raised, by compare-and-swap
 *	quiet		until when it resets nothing, from SET or FORGET on
 *	cpus		counters, and how many packets come of other servers, per CPU
 *	loads		how busy the agent says that the server is, by service, until DETACH
 *	flows		which connections came by a VIP, if the server mangles
 *
 * A server is freed once its sockets are closed, an RCU grace period has passed, and the last dump has put its
 * reference.
 */
#ifndef FAIRLEAD_INSTANCE_H
#define FAIRLEAD_INSTANCE_H

#include <linux/ktime.h>
#include <linux/percpu.h>
#include <linux/refcount.h>
#include <net/net_namespace.h>

#include <flood.h>
#include <learn.h>

#include "flows.h"
#include "loads.h"
#include "mangle.h"
#include "setup.h"

struct fl_cpu {
	u64 counters[FL_COUNTERS];
	struct fl_flood flood;
};

struct fl_instance {
	struct fl_setup __rcu *setup;              /* writers hold the namespace's lock */
	struct socket *sockets[FL_OUTER_FAMILIES]; /* protected by the namespace's lock; NULL for no address */
	u32 *generations;                          /* FL_SERVER_SERVICES of them, 0 for never seen */
	u64 quiet_until;                           /* nanoseconds of CLOCK_MONOTONIC */
	struct fl_cpu __percpu *cpus;
	struct fl_loads loads;
	struct fl_flows flows;        /* if mangling */
	struct fl_mangle_hooks hooks; /* the same; they stay until DETACH, when the flows are freed as well */
	refcount_t references;
};

/* For learn.h. */
static inline u32 fl_form_seconds(void)
{
	return (u32)ktime_get_real_seconds();
}

/* Called in softirq, where a CPU's counters are its own. */
static inline void fl_instance_count(struct fl_instance *instance, enum fl_counter counter)
{
	this_cpu_inc(instance->cpus->counters[counter]);
}

/* Sums over all CPUs. A packet in flight may not be counted yet. */
void fl_instance_counters_sum(const struct fl_instance *instance, u64 sums[FL_COUNTERS]);

/* Whether it resets nothing, as it does not know which muxes are behind. By the clock's last tick: up to 10 ms longer. */
static inline bool fl_instance_is_quiet(const struct fl_instance *instance)
{
	return ktime_get_coarse_ns() < READ_ONCE(instance->quiet_until);
}

/* For how long it still is, in seconds, rounded up. */
u32 fl_instance_quiet_left(const struct fl_instance *instance);

/* Forgets the generation of a service, and is quiet. */
void fl_instance_forget(struct fl_instance *instance, u16 service);

/*
 * Starts the namespace's server, or replaces its setup. Takes ownership of setup in every case. The socket of a new
 * address or port is opened before the old one is closed. Returns 0, or a negative errno and nothing has changed.
 */
int fl_instance_set(struct net *net, struct fl_setup *setup);

/* Stops the namespace's server; -ENOENT if there is none. */
int fl_instance_detach(struct net *net);

/* The namespace's server, or NULL. Called under rcu_read_lock(), which keeps it alive. */
struct fl_instance *fl_instance_of(struct net *net);

/* A counted reference to it, for callers that may sleep; NULL if there is none. */
struct fl_instance *fl_instance_get(struct net *net);
void fl_instance_put(struct fl_instance *instance);

/* gue.c: what its sockets, whose user data it is, call for each packet. */
int fl_gue_receive(struct sock *sk, struct sk_buff *skb);

int fl_instances_register(void);
/* Stops the servers of all namespaces. Commands must be unregistered already. */
void fl_instances_unregister(void);

#endif
