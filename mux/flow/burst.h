/* SPDX-License-Identifier: Apache-2.0 */
/* A burst of packets on its way through the packet path (packet/burst.h). */
#ifndef FAIRLEAD_MUX_FLOW_BURST_H
#define FAIRLEAD_MUX_FLOW_BURST_H

#include <rte_mbuf.h>

#include "flow/packet.h"

enum {
	BURST_GROUP = 8,
	BURST_FEW = 3, /* fewer packets are done sooner one by one than side by side */
	GROUP_BITS = (1 << BURST_GROUP) - 1,
};

/* How bursts are steered. All paths have the same results; the reference says what these are. */
enum burst_path {
	BURST_REFERENCE, /* one by one (packet/general.h) */
/* Eight common packets side by side (packet/lanes_stages.h), others as above: */
#ifdef __x86_64__
	BURST_AVX2,
	BURST_AVX512,
#elif defined(__aarch64__)
	BURST_NEON,
#endif
	BURST_PATHS,
};

struct burst {
	const struct lookup *lookup;
	uint8_t tag_flags; /* TAG, and KEY; 0: packets are not tagged (tag_key.h) */
	uint64_t mac;      /* of the receiving port: mac_word() */
	uint32_t now;      /* Unix seconds */
	uint32_t count;
	struct rte_mbuf *mbufs[BURST_MAX];
	struct packet packets[BURST_MAX] __attribute__((aligned(64))); /* a cache line each */
	uint32_t seconds;      /* packets with a second bucket that servers may ask, a bit each; set by hash and rows */
	uint32_t avoid;        /* groups that go the general way before lanes are tried again */
	uint32_t worker;       /* in whose counts of loads they count */
	uint32_t second_first; /* out: how many have the bucket of their hash's high half first */
	uint32_t second_syns;  /* out: the SYNs among them */
	uint32_t second;       /* out: how many name a second bucket's owner */
	uint64_t moved;        /* out: how many name former owners */
	uint64_t bytes;        /* out: bytes of the frames with VERDICT_SERVICE, as received */
	/*
	 * In: of packets with VERDICT_SERVICE only verdict, ip_len, service and port are wanted afterwards, and if `one`
	 * is set not even these.
	 */
	bool is_brief;
	uint8_t one_port;    /* out: see `one` */
	uint32_t ip_bytes;   /* out: see `one` */
	struct service *one; /* out: all packets are steered, have this service and leave by one_port; or NULL */
};

/* What a steering method does for one packet in the general path (steering/methods/inline.h). */
struct path_method {
	void (*fetch)(struct burst *burst, uint32_t i);
	void (*rows)(struct burst *burst, uint32_t i);
	void (*count)(const struct burst *burst, uint32_t i);
};

#endif
