/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packet path: up to 32 packets through the mux, stage by stage, so that each stage's memory is on its way while
 * other packets are worked on. By eights: as many go through a hash at once (flow_hash_batch.h), and as many rows are fetched
 * while the next eight are classified. Rows of a ring that is larger than the caches come from memory: fetched 32 at
 * once, they wait for each other, and a packet costs 38 ns in place of 31 (a million buckets).
 *
 *	classify	reads headers				verdict, service, key
 *	hash		computes, prefetches ring rows		hash, bucket
 *	choose		asks steering methods (steering.h)	another bucket, or a backend in its place
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

#include "packet/packet.h"

enum { BURST_GROUP = 8 };

struct steering_states;

struct burst {
	const struct lookup *lookup;
	const struct fl_siphash_key *tag_key;   /* the cluster's; NULL: packets are not tagged */
	const struct steering_states *steering; /* the worker's own */
	uint64_t mac;                           /* of the port they came from: mac_word() */
	uint32_t now;                           /* Unix seconds */
	uint32_t count;
	struct rte_mbuf *mbufs[BURST_MAX];
	struct packet packets[BURST_MAX];
	uint32_t choosing; /* packets whose method chooses, a bit each; from hash to choose */
	uint32_t methods;  /* those methods, by number */
	uint64_t moved;    /* out: how many carry MOVED */
	uint64_t bytes;    /* out: of the frames with VERDICT_SERVICE as they came */
};

/* One stage for packets first to end - 1, at most BURST_GROUP. The sums moved and bytes grow. */
void burst_classify(struct burst *burst, uint32_t first, uint32_t end);
void burst_hash(struct burst *burst, uint32_t first, uint32_t end);
void burst_rows(struct burst *burst, uint32_t first, uint32_t end);
void burst_encap(struct burst *burst, uint32_t first, uint32_t end);

/* The stage between hash and rows, for all packets at once. */
void burst_choose(struct burst *burst);

/* All stages. Afterwards every packet has its verdict, and those with VERDICT_SERVICE are rewritten. */
void burst_steer(struct burst *burst);

/* The stages behind classification, for packets whose verdict is there. */
void burst_steer_classified(struct burst *burst);

#endif
