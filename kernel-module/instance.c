// SPDX-License-Identifier: GPL-2.0-only
#include "instance.h"

#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <net/netns/generic.h>
#include <net/udp_tunnel.h>

/* Our state in a network namespace. */
struct fl_namespace {
	struct mutex lock; /* serialises commands */
	struct fl_instance __rcu *instance;
};

static unsigned int namespace_id __read_mostly;

static struct fl_namespace *namespace_of(struct net *net)
{
	return net_generic(net, namespace_id);
}

/* The caller holds the namespace's lock. */
static struct fl_instance *instance_locked(struct fl_namespace *here)
{
	return rcu_dereference_protected(here->instance, lockdep_is_held(&here->lock));
}

struct fl_instance *fl_instance_of(struct net *net)
{
	return rcu_dereference(namespace_of(net)->instance);
}

void fl_instance_counters_sum(const struct fl_instance *instance, u64 sums[FL_COUNTERS])
{
	int cpu, counter;

	memset(sums, 0, FL_COUNTERS * sizeof(*sums));
	for_each_possible_cpu(cpu) for (counter = 0; counter < FL_COUNTERS; counter++) sums[counter] +=
	    READ_ONCE(per_cpu_ptr(instance->cpus, cpu)->counters[counter]);
}

/* From now on, for as long as the setup says. */
static void quiet_begin(struct fl_instance *instance, const struct fl_setup *setup)
{
	WRITE_ONCE(instance->quiet_until,
		   setup->config.quiet ? ktime_get_ns() + setup->config.quiet * (u64)NSEC_PER_SEC : 0);
}

u32 fl_instance_quiet_left(const struct fl_instance *instance)
{
	u64 until = READ_ONCE(instance->quiet_until), now = ktime_get_ns();

	return now < until ? (u32)DIV_ROUND_UP_ULL(until - now, NSEC_PER_SEC) : 0;
}

void fl_instance_forget(struct fl_instance *instance, u16 service)
{
	const struct fl_setup *setup;

	rcu_read_lock();
	setup = rcu_dereference(instance->setup);
	if (setup)
		quiet_begin(instance, setup);
	rcu_read_unlock();
	WRITE_ONCE(instance->generations[service], 0);
}

/* Returns a server without sockets or setup, with one reference; NULL if memory runs out. */
static struct fl_instance *create(struct net *net)
{
	struct fl_instance *instance = kzalloc(sizeof(*instance), GFP_KERNEL_ACCOUNT);

	if (!instance)
		return NULL;
	refcount_set(&instance->references, 1);
	instance->generations = kvcalloc(FL_SERVER_SERVICES, sizeof(*instance->generations), GFP_KERNEL_ACCOUNT);
	if (!instance->generations)
		goto err_free;
	instance->cpus = alloc_percpu_gfp(struct fl_cpu, GFP_KERNEL_ACCOUNT);
	if (!instance->cpus)
		goto err_generations;
	if (fl_flows_init(&instance->flows, net))
		goto err_cpus;
	fl_loads_init(&instance->loads);
	return instance;

err_cpus:
	free_percpu(instance->cpus);
err_generations:
	kvfree(instance->generations);
err_free:
	kfree(instance);
	return NULL;
}

void fl_instance_put(struct fl_instance *instance)
{
	if (!refcount_dec_and_test(&instance->references))
		return;
	fl_loads_destroy(&instance->loads);
	fl_flows_destroy(&instance->flows);
	free_percpu(instance->cpus);
	kvfree(instance->generations);
	kfree(instance);
}

/* Opens the setup's socket of a family; packets come in from then on. */
static struct socket *listen(struct net *net, const struct fl_setup *setup, enum fl_outer_family family,
			     struct fl_instance *instance)
{
	struct udp_tunnel_sock_cfg tunnel = {
	    .sk_user_data = instance,
	    .encap_type = 1,
	    .encap_rcv = fl_gue_receive,
	};
	/* Checksum 0 is what muxes send: RFC 6935 and 6936 for IPv6. */
	struct udp_port_cfg port = {.local_udp_port = htons(setup->config.port), .ipv6_v6only = true};
	const u8 *address = setup->self[family].bytes;
	struct socket *socket;
	int err;

	if (family == FL_OUTER_IPV4) {
		port.family = AF_INET;
		memcpy(&port.local_ip, address + 12, sizeof(port.local_ip));
	} else {
		port.family = AF_INET6;
		memcpy(&port.local_ip6, address, sizeof(port.local_ip6));
	}
	err = udp_sock_create(net, &port, &socket);
	if (err)
		return ERR_PTR(err);
	setup_udp_tunnel_sock(net, socket, &tunnel);
	return socket;
}

/* Closes the sockets; when it returns, no packet of theirs is being processed. */
static void unlisten(struct socket *sockets[FL_OUTER_FAMILIES])
{
	int family;

	for (family = 0; family < FL_OUTER_FAMILIES; family++)
		if (sockets[family])
			udp_tunnel_sock_release(sockets[family]);
	synchronize_net();
}

/*
 * Opens the sockets of setup that old, if not NULL, does not already have. On success sockets[] holds all that setup
 * needs, newly opened or old's, and unneeded[] those of old that setup does not need. On failure only old's are open.
 */
static int listen_all(struct net *net, const struct fl_setup *setup, const struct fl_setup *old,
		      struct fl_instance *instance, struct socket *sockets[FL_OUTER_FAMILIES],
		      struct socket *unneeded[FL_OUTER_FAMILIES])
{
	struct socket *opened[FL_OUTER_FAMILIES] = {NULL};
	int family;

	for (family = 0; family < FL_OUTER_FAMILIES; family++) {
		bool same = old && old->config.port == setup->config.port &&
			    fl_address_equal(&old->self[family], &setup->self[family]);

		sockets[family] = same ? instance->sockets[family] : NULL;
		unneeded[family] = same ? NULL : instance->sockets[family];
		if (same || fl_address_is_none(&setup->self[family]))
			continue;
		sockets[family] = listen(net, setup, family, instance);
		if (IS_ERR(sockets[family])) {
			int err = PTR_ERR(sockets[family]);

			unlisten(opened);
			return err;
		}
		opened[family] = sockets[family];
	}
	return 0;
}

static int start(struct net *net, struct fl_namespace *here, struct fl_setup *setup)
{
	struct fl_instance *instance = create(net);
	struct socket *none[FL_OUTER_FAMILIES];
	int err;

	if (!instance)
		return -ENOMEM;
	if (setup->config.mangle) {
		err = fl_mangle_open(net, &instance->hooks, &instance->flows);
		if (err)
			goto err_put;
	}
	quiet_begin(instance, setup);
	rcu_assign_pointer(instance->setup, setup);
	err = listen_all(net, setup, NULL, instance, instance->sockets, none);
	if (err)
		goto err_mangle;
	rcu_assign_pointer(here->instance, instance);
	return 0;

err_mangle:
	fl_mangle_close(net, &instance->hooks);
	synchronize_net();
	fl_flows_stop(&instance->flows); /* packets may have come in by the first socket before the second failed */
err_put:
	fl_instance_put(instance);
	return err;
}

static int change(struct net *net, struct fl_namespace *here, struct fl_setup *setup)
{
	struct fl_instance *instance = instance_locked(here);
	struct fl_setup *old = rcu_dereference_protected(instance->setup, lockdep_is_held(&here->lock));
	struct socket *sockets[FL_OUTER_FAMILIES], *unneeded[FL_OUTER_FAMILIES];
	int err = 0;

	if (setup->config.mangle) /* if the sockets fail to open, the hooks do nothing, as there are no flows */
		err = fl_mangle_open(net, &instance->hooks, &instance->flows);
	if (!err)
		err = listen_all(net, setup, old, instance, sockets, unneeded);
	if (err)
		return err;
	memcpy(instance->sockets, sockets, sizeof(sockets));
	quiet_begin(instance, setup);
	rcu_assign_pointer(instance->setup, setup);
	unlisten(unneeded);
	fl_setup_free(old);
	return 0;
}

int fl_instance_set(struct net *net, struct fl_setup *setup)
{
	struct fl_namespace *here = namespace_of(net);
	int err;

	mutex_lock(&here->lock);
	err = instance_locked(here) ? change(net, here, setup) : start(net, here, setup);
	mutex_unlock(&here->lock);
	if (err)
		fl_setup_free(setup);
	return err;
}

int fl_instance_detach(struct net *net)
{
	struct fl_namespace *here = namespace_of(net);
	struct fl_instance *instance;
	struct fl_setup *setup;

	mutex_lock(&here->lock);
	instance = rcu_replace_pointer(here->instance, NULL, lockdep_is_held(&here->lock));
	if (instance) {
		setup = rcu_replace_pointer(instance->setup, NULL, lockdep_is_held(&here->lock));
		fl_mangle_close(net, &instance->hooks);
		unlisten(instance->sockets);
		fl_flows_stop(&instance->flows);
		fl_setup_free(setup);
		fl_instance_put(instance);
	}
	mutex_unlock(&here->lock);
	return instance ? 0 : -ENOENT;
}

struct fl_instance *fl_instance_get(struct net *net)
{
	struct fl_namespace *here = namespace_of(net);
	struct fl_instance *instance;

	mutex_lock(&here->lock);
	instance = instance_locked(here);
	if (instance)
		refcount_inc(&instance->references);
	mutex_unlock(&here->lock);
	return instance;
}

static int __net_init namespace_init(struct net *net)
{
	mutex_init(&namespace_of(net)->lock);
	return 0;
}

static void __net_exit namespace_exit(struct net *net)
{
	fl_instance_detach(net);
}

static struct pernet_operations namespaces = {
    .init = namespace_init,
    .exit = namespace_exit,
    .id = &namespace_id,
    .size = sizeof(struct fl_namespace),
};

int fl_instances_register(void)
{
	return register_pernet_device(&namespaces);
}

void fl_instances_unregister(void)
{
	unregister_pernet_device(&namespaces);
}
