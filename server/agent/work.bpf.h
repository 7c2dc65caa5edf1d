/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* What the program for the kernel and the agent share. */
#ifndef FAIRLEAD_AGENT_WORK_BPF_H
#define FAIRLEAD_AGENT_WORK_BPF_H

#include <linux/types.h>

/* The local end of a connection in work. */
struct agent_work_end {
	__u32 address[4]; /* bytes as in a packet; IPv4 as ::ffff:a.b.c.d */
	__u32 port;       /* host order */
};

#endif
