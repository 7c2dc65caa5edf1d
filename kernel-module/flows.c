// SPDX-License-Identifier: GPL-2.0-only
#include "flows.h"
#include "sockets.h"

#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/ipv6.h>

enum {
	SWEEP_EVERY = 5 * HZ,
	SWEEP_BATCH = 1024,  /* entries between two points where others may run */
	IDLE = 10 * HZ,      /* before the socket is looked up */
	IDLE_UDP = 180 * HZ, /* without a connected socket */
	TOUCH_EVERY = HZ,    /* a busy flow's cache line is not written for every packet */
};

struct entry {
	struct rhash_head node;
	struct fl_flow_key key;
	struct in6_addr vip;
	unsigned long used; /* jiffies */
	int ifindex;
	bool lasting, replied;
	struct list_head fresh; /* unless lasting */
	struct rcu_head rcu;
};

static const struct rhashtable_params parameters = {
    .key_len = sizeof(struct fl_flow_key),
    .key_offset = offsetof(struct entry, key),
    .head_offset = offsetof(struct entry, node),
    .automatic_shrinking = true,
};

static struct kmem_cache *entries;

int fl_flows_register(void)
{
	entries = kmem_cache_create("fl_flow", sizeof(struct entry), 0, SLAB_ACCOUNT, NULL);
	return entries ? 0 : -ENOMEM;
}

static void entry_free(void *entry, void *unused)
{
	kmem_cache_free(entries, entry);
}

static void entry_free_rcu(struct rcu_head *rcu)
{
	kmem_cache_free(entries, container_of(rcu, struct entry, rcu));
}

void fl_flows_unregister(void)
{
	rcu_barrier(); /* for entry_free_rcu() */
	kmem_cache_destroy(entries);
}

void fl_flow_key_set(struct fl_flow_key *key, const struct fl_flow *flow)
{
	*key = (struct fl_flow_key){
	    .remote = flow->remote,
	    .local = flow->local,
	    .remote_port = flow->remote_port,
	    .local_port = flow->local_port,
	    .family = flow->family,
	    .protocol = flow->protocol,
	};
}

static void touch(struct entry *entry)
{
	if (time_after(jiffies, READ_ONCE(entry->used) + TOUCH_EVERY))
		WRITE_ONCE(entry->used, jiffies);
}

static struct entry *lookup(struct fl_flows *flows, const struct fl_flow_key *key)
{
	return rhashtable_lookup(&flows->table, key, parameters);
}

bool fl_flows_find(struct fl_flows *flows, const struct fl_flow_key *key, bool is_reply, struct in6_addr *vip)
{
	struct entry *entry = lookup(flows, key);

	if (!entry)
		return false;
	touch(entry);
	if (is_reply && !READ_ONCE(entry->replied))
		WRITE_ONCE(entry->replied, true);
	*vip = entry->vip;
	return true;
}

/* Removes an entry from the table. Under the lock. */
static void forget(struct fl_flows *flows, struct entry *entry)
{
	if (rhashtable_remove_fast(&flows->table, &entry->node, parameters))
		return; /* removed already */
	if (entry->lasting) {
		flows->lasting_count--;
	} else {
		list_del(&entry->fresh);
		flows->fresh_count--;
	}
	call_rcu(&entry->rcu, entry_free_rcu);
}

/* Of an entry in the table; under the lock. */
static void make_lasting(struct fl_flows *flows, struct entry *entry)
{
	if (entry->lasting || flows->lasting_count >= FL_FLOWS_LASTING_MAX)
		return;
	list_del(&entry->fresh);
	flows->fresh_count--;
	WRITE_ONCE(entry->lasting, true);
	flows->lasting_count++;
}

/* Adds an entry, replacing one with another VIP. Takes ownership of it only if it returns 0. */
static int add(struct fl_flows *flows, struct entry *entry, bool established)
{
	struct entry *old = lookup(flows, &entry->key);
	int err;

	if (old)
		forget(flows, old);
	err = rhashtable_insert_fast(&flows->table, &entry->node, parameters);
	if (err)
		return err;
	list_add_tail(&entry->fresh, &flows->fresh);
	flows->fresh_count++;
	if (established)
		make_lasting(flows, entry);
	if (flows->fresh_count > FL_FLOWS_FRESH_MAX)
		forget(flows, list_first_entry(&flows->fresh, struct entry, fresh));
	return 0;
}

static void promote(struct fl_flows *flows, const struct fl_flow_key *key)
{
	struct entry *entry;

	spin_lock_bh(&flows->lock);
	entry = lookup(flows, key); /* it may have been replaced meanwhile */
	if (entry)
		make_lasting(flows, entry);
	spin_unlock_bh(&flows->lock);
}

int fl_flows_note(struct fl_flows *flows, const struct fl_flow_key *key, const struct in6_addr *vip, int ifindex,
		  bool established)
{
	struct entry *entry = lookup(flows, key);
	int err;

	if (entry && ipv6_addr_equal(&entry->vip, vip)) {
		if (!READ_ONCE(entry->lasting) &&
		    (established || (key->protocol == IPPROTO_UDP && READ_ONCE(entry->replied))))
			promote(flows, key);
		return 0;
	}
	entry = kmem_cache_zalloc(entries, GFP_ATOMIC | __GFP_NOWARN);
	if (!entry)
		return -ENOMEM;
	entry->key = *key;
	entry->vip = *vip;
	entry->used = jiffies;
	entry->ifindex = ifindex;
	spin_lock_bh(&flows->lock);
	err = add(flows, entry, established);
	spin_unlock_bh(&flows->lock);
	if (err) {
		kmem_cache_free(entries, entry);
		return -ENOMEM;
	}
	schedule_delayed_work(&flows->sweep, SWEEP_EVERY); /* unless it is scheduled already */
	return 0;
}

static bool is_over(struct fl_flows *flows, const struct entry *entry)
{
	struct fl_flow flow = {
	    .family = entry->key.family,
	    .protocol = entry->key.protocol,
	    .remote = entry->key.remote,
	    .local = entry->key.local,
	    .remote_port = entry->key.remote_port,
	    .local_port = entry->key.local_port,
	};
	unsigned long used = READ_ONCE(entry->used);

	if (time_before(jiffies, used + IDLE))
		return false;
	if (fl_sockets_state(flows->net, &flow, entry->ifindex) != FL_SOCKET_NONE)
		return false;
	return flow.protocol != IPPROTO_UDP || time_after(jiffies, used + IDLE_UDP);
}

/* An entry may be missed while the table grows; the next sweep sees it. */
static void sweep(struct work_struct *work)
{
	struct fl_flows *flows = container_of(to_delayed_work(work), struct fl_flows, sweep);
	struct rhashtable_iter iter;
	unsigned int seen = 0;
	struct entry *entry;

	rhashtable_walk_enter(&flows->table, &iter);
	rhashtable_walk_start(&iter);
	while ((entry = rhashtable_walk_next(&iter))) {
		if (!IS_ERR(entry) && is_over(flows, entry)) {
			spin_lock_bh(&flows->lock);
			forget(flows, entry);
			spin_unlock_bh(&flows->lock);
		}
		if (++seen % SWEEP_BATCH == 0) {
			rhashtable_walk_stop(&iter);
			cond_resched();
			rhashtable_walk_start(&iter);
		}
	}
	rhashtable_walk_stop(&iter);
	rhashtable_walk_exit(&iter);
	if (fl_flows_count(flows))
		schedule_delayed_work(&flows->sweep, SWEEP_EVERY);
}

int fl_flows_init(struct fl_flows *flows, struct net *net)
{
	flows->net = net;
	flows->fresh_count = 0;
	flows->lasting_count = 0;
	spin_lock_init(&flows->lock);
	INIT_LIST_HEAD(&flows->fresh);
	INIT_DELAYED_WORK(&flows->sweep, sweep);
	return rhashtable_init(&flows->table, &parameters);
}

void fl_flows_stop(struct fl_flows *flows)
{
	cancel_delayed_work_sync(&flows->sweep);
}

void fl_flows_destroy(struct fl_flows *flows)
{
	rhashtable_free_and_destroy(&flows->table, entry_free, NULL);
}
