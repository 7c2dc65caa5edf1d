/* SPDX-License-Identifier: Apache-2.0 */
/* What the program that hands packets to a peer's shares with peer_packet. */
#ifndef FAIRLEAD_BENCH_PEER_FEED_H
#define FAIRLEAD_BENCH_PEER_FEED_H

enum {
	PEER_FRAME = 64,
	PEER_FLOWS_MAX = 1 << 20,
	PEER_FRESH = 1 << 24, /* numbers of new flows begin here, so they are none of the known ones */
};

#endif
