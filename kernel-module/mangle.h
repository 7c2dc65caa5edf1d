/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FAIRLEAD_MANGLE_H
#define FAIRLEAD_MANGLE_H

#include <linux/netfilter.h>

#include "flows.h"
#include "setup.h"

/* Replaces one address by another. IPv4 is in the last 4 bytes, as in struct fl_flow. */
struct fl_mangling {
	u8 family;
	struct in6_addr from, to;
};

/* Whether the inner packet's destination is to be replaced by our own address; fills in *mangling if so. */
bool fl_mangle_applies(struct net *net, const struct fl_setup *setup, const struct fl_flow *flow,
		       struct fl_mangling *mangling);

/*
 * Whether the flow, whose local end is our own address, belongs to that VIP: false if the same two ends have a
 * connection that came directly or through another VIP.
 */
bool fl_mangle_owns(struct fl_flows *flows, const struct fl_flow *flow, const struct in6_addr *vip, int ifindex);

/* Rewrites an incoming packet, its IP header at skb->data; false if memory runs out. */
bool fl_mangle_in(struct sk_buff *skb, const struct fl_mangling *mangling);

struct fl_mangle_hooks {
	struct nf_hook_ops ops[2];
	bool are_open; /* protected by the caller's lock */
};

/* From now on, replies of these flows leave from their VIPs. May sleep. Returns 0 or a negative errno. */
int fl_mangle_open(struct net *net, struct fl_mangle_hooks *hooks, struct fl_flows *flows);
/* Replies in flight may still be rewritten until synchronize_net(). */
void fl_mangle_close(struct net *net, struct fl_mangle_hooks *hooks);

#endif
