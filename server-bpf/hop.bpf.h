/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The next hops of servers that packets were sent on to lately, all of which are peers that are servers: a lookup in the
 * kernel's tables takes as long as the rest of such a packet. One counts for HOP_TICKS of the kernel's clock, 25 to 250 ms by its CONFIG_HZ. Then, and whenever the
 * packet is larger than the route's MTU, the tables are asked again: a changed route, neighbour or interface is followed
 * within a quarter of a second, and a mistake heals as fast. Only what can be sent at once is remembered: no address that
 * is not resolved, and no route that refuses.
 *
 * Each CPU has its own, at a place by the server's address and a share of what spreads flows over several paths: of eight
 * values of it each has a path of its own. A place that two servers share belongs to the one that came last. So it is
 * bounded, takes no lock, and is never worse than a lookup for each packet.
 */
#ifndef FAIRLEAD_HOP_BPF_H
#define FAIRLEAD_HOP_BPF_H

#include "act.bpf.h"

enum hop_numbers {
	HOP_SLOTS = 256,
	HOP_SLOT_BITS = 8,
	HOP_TICKS = 25,
	HOP_SPREAD = 7,        /* of the spread that encap_spread() returns */
	HOP_MIX = 0x9e3779b1U, /* a prime, at the golden ratio of 2^32 */
};

_Static_assert(HOP_SLOTS == 1 << HOP_SLOT_BITS, "a place is the first bits of a product");

struct hop {
	struct fl_address next;
	__u32 ingress; /* the interface at which packets to be sent on come in */
	__u32 spread;
	__u64 until; /* in ticks; 0: nothing is remembered here */
	__u32 egress;
	__u32 mtu;
	struct macs macs;
};

_Static_assert(sizeof(struct hop) == 56, "no padding but at the end");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, HOP_SLOTS);
	__type(key, __u32);
	__type(value, struct hop);
} hops SEC(".maps");

/* The place of a server's next hop on this CPU, whatever is in it. NULL: never, each slot exists. */
static __always_inline struct hop *hop_at(const struct fl_address *next, __u32 spread)
{
	__u32 mixed = (fl_address_word(next, 0) ^ fl_address_word(next, 1) ^ fl_address_word(next, 2) ^
		       fl_address_word(next, 3) ^ (spread & HOP_SPREAD)) *
		      HOP_MIX;
	__u32 slot = mixed >> (32 - HOP_SLOT_BITS);

	return bpf_map_lookup_elem(&hops, &slot);
}

/* Whether this is the next hop of such a packet, len bytes long from its IP header on. */
static __always_inline bool hop_counts(const struct hop *hop, const struct fl_address *next, __u32 ingress,
				       __u32 spread, __u32 len)
{
	return bpf_jiffies64() < hop->until && fl_address_equal(&hop->next, next) && hop->ingress == ingress &&
	       hop->spread == (spread & HOP_SPREAD) && len <= hop->mtu;
}

/* Remembers what a successful lookup has put into *fib. */
static __always_inline void hop_remember(struct hop *hop, const struct fl_address *next, __u32 ingress, __u32 spread,
					 const struct bpf_fib_lookup *fib)
{
	hop->next = *next;
	hop->ingress = ingress;
	hop->spread = spread & HOP_SPREAD;
	hop->egress = fib->ifindex;
	hop->mtu = fib->mtu_result;
	__builtin_memcpy(&hop->macs.words[0], fib->dmac, sizeof(fib->dmac));
	__builtin_memcpy(&hop->macs.words[3], fib->smac, sizeof(fib->smac));
	hop->until = bpf_jiffies64() + HOP_TICKS;
}

#endif
