/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What server_loop.bpf.c puts back before each packet. */
#ifndef FAIRLEAD_BENCH_SERVER_LOOP_H
#define FAIRLEAD_BENCH_SERVER_LOOP_H

#include <linux/types.h>

struct server_loop {
	__u32 len;
	__u32 unused;
	/* All outer headers, which is what the server's program writes to; the shortest packet is longer. */
	__u8 bytes[88];
};

_Static_assert(sizeof(struct server_loop) == 96, "the value of a map");

#endif
