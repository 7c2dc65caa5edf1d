/* SPDX-License-Identifier: GPL-2.0-only */
/* What happens to a packet that its verdict does not drop. */
#ifndef FAIRLEAD_ACT_H
#define FAIRLEAD_ACT_H

#include <linux/skbuff.h>

#include "instance.h"
#include "mangle.h"

struct fl_arrival;
struct flowi4;
struct flowi6;

/*
 * deliver.c: removes everything in front of the inner packet, which begins inner_at bytes from skb->data, and returns
 * it to the kernel, its destination replaced if mangling is not NULL. Takes the packet and returns the counter of its
 * exit: `as` if it was delivered.
 */
enum fl_counter fl_deliver(struct sk_buff *skb, unsigned int inner_at, bool is_ipv4, const struct fl_mangling *mangling,
			   enum fl_counter as);

/*
 * chain.c: what all encapsulations need to chain. A chained packet is one of this host's own: routed as such (no
 * forwarding needs to be on), with new outer headers. The inner packet and the traffic class stay.
 */
enum fl_chain_numbers {
	FL_CHAIN_TTL = 64, /* loops are bounded by the list, not by TTL */
	/* In place of an exit's counter: the packet cannot be sent there; it is unchanged, and still the caller's. */
	FL_CHAIN_NOWHERE = FL_COUNTERS,
};

/*
 * Sends the packet on to the candidate out.next by its encapsulation, in segments if it stands for several packets. Takes
 * it, and returns the counter of its exit; or FL_CHAIN_NOWHERE.
 */
enum fl_counter fl_chain(struct fl_arrival *arrival);

/*
 * The route from our own address to out.next for an outer packet of len bytes; fills in the addresses. NULL if there is
 * none, or none for packets as large as this; for a refused SYN also if its neighbour does not answer.
 */
struct rtable *fl_chain_route_ipv4(const struct fl_arrival *arrival, struct flowi4 *fl4, unsigned int len);
struct dst_entry *fl_chain_route_ipv6(const struct fl_arrival *arrival, struct flowi6 *fl6, unsigned int len);

/* Completes a checksum that the sender left open: the inner packet's, as the outer one's went with its header. */
bool fl_chain_sum_complete(struct sk_buff *skb);

/* Makes a packet that came in one of our own, without anything that the stack knew of it. */
void fl_chain_forget_arrival(struct sk_buff *skb);

/* Frees the packet and returns why. */
static inline enum fl_counter fl_act_refuse(struct sk_buff *skb, enum fl_counter why)
{
	kfree_skb(skb);
	return why;
}

#endif
