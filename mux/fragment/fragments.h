/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends all fragments of a datagram, of either family, to one backend (after Maglev, Eisenbud et al., NSDI '16, section
 * 4.3; protocol/README.md, 8).
 *
 *	any mux		hash of source, destination, identification: which mux handles this datagram (peers.h)?
 *	                another one: sent there in GUE without a list header, once; it is never forwarded again
 *	that mux	which of its workers handles it? another one: handed over through its ring
 *	that worker	first fragment: its ports are noted; it and those that waited for it go to the backend of their
 *			bucket
 *			later fragment: goes to the same backend if its ports are known, else waits for the first
 *
 *	entry 64	addresses 32 | id | ports | verdict of the first | expiry | waiting fragments
 *
 * So all fragments of a datagram meet at one worker of one mux, however routers and NICs spread them, and workers share
 * nothing writable but the rings. The entry keeps the ports, not the backend: fragments go where their connection goes
 * even if its bucket moves between two of them.
 *
 * Bounds of each worker: FRAGMENTS_ENTRIES datagrams, where a new one evicts the oldest of its set; FRAGMENTS_HELD
 * waiting fragments, FRAGMENTS_HELD_EACH of one datagram, for FRAGMENTS_WAIT_MS, where a new one evicts the oldest;
 * FRAGMENTS_RING handed over and not yet taken. What is beyond a bound is dropped under its own verdict. An entry expires FRAGMENTS_KNOWN_MS after its last
 * use; until then a later datagram with the same id is taken for the same one, unless its first fragment arrives first.
 *
 * All functions but new and free are called by the worker's thread only.
 */
#ifndef FAIRLEAD_MUX_FRAGMENTS_H
#define FAIRLEAD_MUX_FRAGMENTS_H

#include "packet/burst.h"

struct fragments;
struct rte_ring;

enum fragments_limits {
	FRAGMENTS_WAYS = 4,
	FRAGMENTS_SETS = 1024,
	FRAGMENTS_ENTRIES = FRAGMENTS_WAYS * FRAGMENTS_SETS,
	FRAGMENTS_HELD = 256,
	FRAGMENTS_HELD_EACH = 64, /* 64 KB in packets of 1,280 bytes are 54 */
	FRAGMENTS_RING = 256,
	FRAGMENTS_WAIT_MS = 100,
	FRAGMENTS_KNOWN_MS = 2000,
};

/* rings: those of all workers, by number. NULL: no memory. */
struct fragments *fragments_new(unsigned worker, unsigned workers, struct rte_ring *const *rings);

/* Also frees the fragments that still wait. */
void fragments_free(struct fragments *fragments);

/*
 * Takes over a packet with VERDICT_FRAGMENT or VERDICT_PEER. fragments_ready() returns it, now or later, unless it is
 * handed to another worker. lookup: the current one.
 */
void fragments_take(struct fragments *fragments, const struct lookup *lookup, struct rte_mbuf *mbuf,
		    const struct packet *packet, uint64_t now_ms);

/*
 * Takes what other workers have handed over, at most a burst, and drops fragments that have waited too long. Returns
 * how many it took. Cheap if there is nothing to do.
 */
unsigned fragments_run(struct fragments *fragments, const struct lookup *lookup, uint64_t now_ms);

/*
 * Fills mbufs, packets and count of the burst with packets that have their verdict: to be steered (VERDICT_SERVICE),
 * sent unchanged through packet.port (VERDICT_FRAGMENT_FORWARDED), reported to the sender (VERDICT_TOO_BIG) or dropped.
 * False: none is left. Call it until then after each burst's calls of fragments_take, and after fragments_run.
 */
bool fragments_ready(struct fragments *fragments, struct burst *burst);

#endif
