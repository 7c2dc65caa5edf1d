/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packet path: takes up to 32 packets through the mux, stage by stage, so that memory for one packet is fetched
 * while others are processed. Packets go in groups of eight: a group's rows are fetched while the next eight are
 * classified. Rows of a ring larger than the caches come from memory: fetched 32 at once they wait for each other.
 *
 *	classify	reads headers				verdict, service, key
 *	hash		computes, prefetches ring rows or cells	hash, bucket, generation
 *	rows		reads rows, prefetches templates	bucket, a second one, rows, backend
 *	headers		writes headers				the mbuf, ready to be sent by packet.port
 *
 * It does not log, allocate, lock or make system calls, and knows nothing of ports: tests, the fuzzer and
 * mux_packet run it unchanged. The caller is a reader of the tables and not in a quiescent state (tables.h).
 */
#ifndef FAIRLEAD_MUX_BURST_H
#define FAIRLEAD_MUX_BURST_H

#include "flow/burst.h"

/* Before a burst's first stage. */
static inline void burst_begin(struct burst *burst)
{
	burst->seconds = 0;
	burst->moved = burst->second = burst->second_first = burst->second_syns = 0;
	burst->bytes = 0;
	burst->one = NULL;
}

/* The fastest that this machine can; set before main(). No worker may run while it is changed. */
extern enum burst_path burst_path;

struct burst_path_entry {
	const char *name;
	bool (*has_cpu)(void); /* whether this machine can */
	void (*steer)(struct burst *burst);
};

/* By enum burst_path, the fastest last. */
extern const struct burst_path_entry burst_paths[BURST_PATHS];

/* All stages, by burst_path. Afterwards every packet has its verdict, and those with VERDICT_SERVICE are rewritten. */
void burst_steer(struct burst *burst);

/* The same by a path of its own. */
void burst_steer_by(struct burst *burst, enum burst_path path);

/* The stages after classification, for packets that already have a verdict. */
void burst_steer_classified(struct burst *burst);

#endif
