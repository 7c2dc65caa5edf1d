/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which connections of this host came by a VIP: (remote end, our end, protocol) -> VIP. Mangling writes the VIP back
 * into packets that leave on these. All others leave unchanged, among them direct connections to our own address.
 *
 * A delivered packet creates a *fresh* entry (a SYN, a datagram, also a packet without a local socket, which the kernel
 * answers with a RST). It becomes *lasting* once the connection is established, or once a datagram has been answered
 * and another one has arrived. Both kinds are bounded:
 *
 *	fresh		FL_FLOWS_FRESH_MAX, then the oldest is replaced: under a SYN flood the table turns over, and
 *			SYN-ACKs still leave from the VIP, as they leave at once. The next packet of a half-open
 *			connection creates its entry again.
 *	lasting		FL_FLOWS_LASTING_MAX; beyond that a flow stays fresh. Forged packets cannot create lasting entries.
 *
 * Entries are removed after their socket: a sweep every few seconds checks those that have been idle. An entry costs
 * about 150 bytes and its slot in the table. Readers hold no lock but RCU; writers hold the lock.
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

/* The same as in struct fl_flow; unused bytes are 0. */
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
/* All tables must have been destroyed. */
void fl_flows_unregister(void);

int fl_flows_init(struct fl_flows *flows, struct net *net);

/* Stops the sweep. The caller adds no more entries; the namespace may be freed afterwards. */
void fl_flows_stop(struct fl_flows *flows);

/* There are no readers left, and fl_flows_stop() has been called or no entry was ever added. */
void fl_flows_destroy(struct fl_flows *flows);

void fl_flow_key_set(struct fl_flow_key *key, const struct fl_flow *flow);

/* The VIP of a packet that comes in, or of one that answers it; false if the flow is unknown. Under rcu_read_lock(). */
bool fl_flows_find(struct fl_flows *flows, const struct fl_flow_key *key, bool is_reply, struct in6_addr *vip);

/*
 * Notes that a packet of the flow came in by that VIP; replaces another VIP's note of the same flow. established: the
 * packet belongs to an existing connection. Returns 0 or -ENOMEM. Called in softirq.
 */
int fl_flows_note(struct fl_flows *flows, const struct fl_flow_key *key, const struct in6_addr *vip, int ifindex,
		  bool established);

static inline u32 fl_flows_count(const struct fl_flows *flows)
{
	return atomic_read(&flows->table.nelems);
}

#endif
