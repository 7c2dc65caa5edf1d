/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FAIRLEAD_MANGLE_H
#define FAIRLEAD_MANGLE_H

#include "flows.h"
#include "setup.h"

struct fl_instance;

/* An address in place of another. IPv4 in the last 4 bytes, as struct fl_flow has it. */
struct fl_mangling {
	u8 family;
	struct in6_addr from, to;
};

/* Whether the inner packet's destination is to be replaced by our own address; fills *mangling then. */
bool fl_mangle_applies(struct net *net, const struct fl_setup *setup, const struct fl_flow *flow,
		       struct fl_mangling *mangling);

/*
 * Whether the flow, whose local end is ours already, is that VIP's: false if the same two ends have a connection that
 * came directly or by another VIP.
 */
bool fl_mangle_owns(struct fl_flows *flows, const struct fl_flow *flow, const struct in6_addr *vip, int ifindex);

/* Writes a packet that comes in, its IP header at skb->data; false without memory for it. */
bool fl_mangle_in(struct sk_buff *skb, const struct fl_mangling *mangling);

/* From now on replies of the instance's flows leave by their VIPs. May sleep. Returns 0 or a negative errno. */
int fl_mangle_open(struct net *net, struct fl_instance *instance);
/* Replies that are under way may go on until synchronize_net(). */
void fl_mangle_close(struct net *net, struct fl_instance *instance);

#endif
