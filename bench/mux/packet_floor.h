/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a packet costs at least: frames are read and headers stored as lanes do, without checks, lengths or what packets
 * differ in. By AVX-512.
 */
#ifndef FAIRLEAD_BENCH_PACKET_FLOOR_H
#define FAIRLEAD_BENCH_PACKET_FLOOR_H

#include "flow/burst.h"

struct service;

enum packet_floor {
	FLOOR_FRAMES = 1, /* reads 48 bytes of each frame, stores a header of 54 in front */
	FLOOR_HASHES,     /* the same, and SipHash of addresses and ports */
	FLOOR_ROWS,       /* the same, and the header is that of the bucket's owner */
};

/* A burst of a multiple of 16 packets; all come out as if of this service. */
void packet_floor_steer(enum packet_floor floor, struct burst *burst, struct service *service);

#endif
