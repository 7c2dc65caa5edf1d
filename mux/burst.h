/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packet path: up to 32 packets through the mux, stage by stage, so that each stage's memory is on its way while
 * the one before it works on other packets:
 *
 *	classify	reads headers				verdict, service, key
 *	hash		computes, prefetches ring rows		hash, bucket
 *	rows		reads rows, prefetches templates	row, backend
 *	encap		writes headers				the mbuf, ready to be sent by packet.port
 *
 * No log, no allocation, no lock, no system call, no knowledge of ports: this is what tests, the fuzzer and
 * bench/mux_packet run as it is. The caller is a reader of the tables and in no quiescent state (tables.h).
 */
#ifndef FAIRLEAD_MUX_BURST_H
#define FAIRLEAD_MUX_BURST_H

#include <rte_mbuf.h>

#include <fairlead/hash.h>

#include "classify.h"

enum { BURST_MAX = 32 };

struct burst {
	const struct lookup *lookup;
	const struct fl_siphash_key *tag_key; /* the cluster's; NULL: packets are not tagged */
	uint64_t mac;                         /* of the port they came from: mac_word() */
	uint32_t now;                         /* Unix seconds */
	uint32_t count;
	struct rte_mbuf *mbufs[BURST_MAX];
	struct packet packets[BURST_MAX];
	uint64_t moved; /* out: how many carry MOVED */
	uint64_t bytes; /* out: of the frames with VERDICT_SERVICE as they came */
};

void burst_classify(struct burst *burst);
void burst_hash(struct burst *burst);
void burst_rows(struct burst *burst);
void burst_encap(struct burst *burst);

/* The stages behind classification, for packets whose verdict is there. */
static inline void burst_steer_classified(struct burst *burst)
{
	burst_hash(burst);
	burst_rows(burst);
	burst_encap(burst);
}

/* All stages. Afterwards every packet has its verdict, and those with VERDICT_SERVICE are rewritten. */
static inline void burst_steer(struct burst *burst)
{
	burst_classify(burst);
	burst_steer_classified(burst);
}

#endif
