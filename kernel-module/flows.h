/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which connections of this host came by a VIP: (remote end, our end, protocol) -> VIP. Mangling writes the VIP back
 * into what leaves by these; whatever is not here leaves as it is, direct connections to our own address among it.
 *
 * An entry is *fresh* when a delivered packet makes it (a SYN, a datagram, also the packet of nobody that is about to
 * be answered with a RST), and becomes *lasting* once the connection is established, or a datagram has been answered and
 * another came. Both kinds are bounded:
 *
 *	fresh		FL_FLOWS_FRESH_MAX, the oldest gives way: under a SYN flood the table turns over, and SYN-ACKs
 *			still leave by the VIP, as they do at once. A half-open connection makes its entry again by
 *			its next packet.
 *	lasting		FL_FLOWS_LASTING_MAX; beyond it a flow stays fresh. No flood of forged packets gets this far.
 *
 * Entries end when their socket has: a sweep every few seconds looks after those that have been idle. An entry costs
 * about 150 bytes and its place in the table. Read without a lock under RCU; changes are made under one.
 */
#ifndef FAIRLEAD_FLOWS_H
#define FAIRLEAD_FLOWS_H

#include <linux/in6.h>
#include <linux/rhashtable.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>

#include "wire.h"

enum {
	FL_FLOWS_FRESH_MAX = 1 << 16,
	FL_FLOWS_LASTING_MAX = 1 << 20,
};

/* As struct fl_flow has it; unused bytes are 0. */
struct fl_flow_key {
	struct in6_addr remote, local;
	__be16 remote_port, local_port;
	u8 family, protocol;
	u8 reserved[2];
};

struct fl_flows {
	struct net *net;
	struct rhashtable table;
	spinlock_t lock;
	struct list_head fresh; /* oldest first */
	u32 fresh_count, lasting_count;
	struct delayed_work sweep;
};

int fl_flows_register(void);
/* No table may be left. */
void fl_flows_unregister(void);

int fl_flows_init(struct fl_flows *flows, struct net *net);

/* Ends the sweep. Nobody may add any more; the namespace may go. */
void fl_flows_stop(struct fl_flows *flows);

/* Nobody may read any more; fl_flows_stop() has been called, or nothing was ever added. */
void fl_flows_destroy(struct fl_flows *flows);

void fl_flow_key_set(struct fl_flow_key *key, const struct fl_flow *flow);

/* The VIP of a packet that comes in. False if the flow is not known. Called under rcu_read_lock(). */
bool fl_flows_find(struct fl_flows *flows, const struct fl_flow_key *key, struct in6_addr *vip);

/* The same for one that leaves, which answers what came in. */
bool fl_flows_find_reply(struct fl_flows *flows, const struct fl_flow_key *key, struct in6_addr *vip);

/*
 * Notes that a packet of the flow came in by that VIP; another VIP's note of the same flow gives way. established: it
 * is a connection's, not the first packet. Returns 0 or -ENOMEM. Called in softirq.
 */
int fl_flows_note(struct fl_flows *flows, const struct fl_flow_key *key, const struct in6_addr *vip, int ifindex,
		  bool established);

static inline u32 fl_flows_count(const struct fl_flows *flows)
{
	return atomic_read(&flows->table.nelems);
}

#endif
