/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* What the program for the kernel and the agent share. */
#ifndef FAIRLEAD_AGENT_EVENTS_BPF_H
#define FAIRLEAD_AGENT_EVENTS_BPF_H

#include <linux/types.h>

enum agent_numbers {
	AGENT_RING_BYTES = 8388608, /* 150,000 events */
	AGENT_ADDRESSES_MAX = 65536,
};

struct agent_address {
	__u32 words[4]; /* bytes as in a packet; IPv4 as ::ffff:a.b.c.d */
};

struct agent_event {
	struct agent_address local, remote;
	__u16 local_port, remote_port; /* host order */
	__u32 closed;
	__u64 ns; /* CLOCK_MONOTONIC: the agent reads it up to seconds later */
};

#endif
