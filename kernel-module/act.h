/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is done about a packet that is not dropped by its verdict. All take the packet and return the counter of the
 * exit that it took.
 */
#ifndef FAIRLEAD_ACT_H
#define FAIRLEAD_ACT_H

#include <linux/skbuff.h>

#include "instance.h"
#include "mangle.h"

/*
 * deliver.c: strips everything in front of the inner packet, which begins inner_at bytes from skb->data, and gives it
 * back to the kernel, its destination replaced if mangling is not NULL. as: if that succeeds.
 */
enum fl_counter fl_deliver(struct sk_buff *skb, unsigned int inner_at, bool is_ipv4, const struct fl_mangling *mangling,
			   enum fl_counter as);

/*
 * chain.c: sends the packet, whose UDP header is at skb->data, on to another server, from our own address. tagged is
 * its message as it came in, if we have the cluster's key.
 */
enum fl_counter fl_chain(struct net *net, struct sk_buff *skb, const struct fl_setup *setup,
			 const struct fl_address *next, struct fl_tag_message *tagged);

/* chain.c: the same in the paper's format, for a packet whose inner header is at skb->data. next is IPv4. */
enum fl_counter fl_chain_ipip(struct net *net, struct sk_buff *skb, const struct fl_setup *setup,
			      const struct fl_address *next);

#endif
