/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fragments of both families to one backend (after Maglev, Eisenbud et al., NSDI '16, section 4.3; protocol/README.md,
 * 8).
 *
 *	any mux		hash of source, destination, identification: which mux has this datagram (peers.h)?
 *	                another one: sent there in GUE without a steer header, once: what came so is never sent on
 *	that mux	which of its workers has it? another one: handed over through its ring
 *	that worker	first fragment: notes its ports, goes to their bucket's backend, and so do those that waited for
 *			it
 *			later fragment: its ports are known: to the same backend; else it waits for the first
 *
 *	entry 64	addresses 32 | id | ports | what became of the first | until when | who waits
 *
 * So all fragments of a datagram meet at one worker of one mux whatever way routers and NICs give them, and no worker
 * shares anything writable but the rings. The ports are noted, not the backend: the fragments of a datagram go where
 * its connection goes, also if its bucket moves between them.
 *
 * Bounds, for each worker: FRAGMENTS_ENTRIES datagrams, of which the oldest of a set is forgotten for a new one;
 * FRAGMENTS_HELD fragments that wait, FRAGMENTS_HELD_EACH of one datagram, for FRAGMENTS_WAIT_MS; FRAGMENTS_RING handed
 * over and not yet taken. What is beyond is dropped under its name. An entry is forgotten FRAGMENTS_KNOWN_MS after it
 * was last used; until then a later datagram of the same id is taken for the same one, unless its first fragment comes
 * first.
 *
 * One thread, the worker, calls everything but new and free.
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

/* Rings of all workers, by their number. NULL: no memory. */
struct fragments *fragments_new(unsigned worker, unsigned workers, struct rte_ring *const *rings);

/* What still waits is freed. */
void fragments_free(struct fragments *fragments);

/*
 * Takes a packet with VERDICT_FRAGMENT or VERDICT_PEER over. It comes out by fragments_ready(), now or later, unless
 * another worker has it. lookup: of now.
 */
void fragments_take(struct fragments *fragments, const struct lookup *lookup, struct rte_mbuf *mbuf,
		    const struct packet *packet, uint64_t now_ms);

/*
 * Takes what other workers have handed over, a burst at most, and gives up what has waited too long. Returns how many
 * it took. Cheap when there is nothing.
 */
unsigned fragments_run(struct fragments *fragments, const struct lookup *lookup, uint64_t now_ms);

/*
 * Fills mbufs, packets and count of the burst with what has its verdict: to be steered (VERDICT_SERVICE), sent as it is
 * by packet.port (VERDICT_FRAGMENT_FORWARDED), told its sender (VERDICT_TOO_BIG) or dropped. False: nothing is left.
 * Call it until then after every fragments_take of a burst, and after fragments_run.
 */
bool fragments_ready(struct fragments *fragments, struct burst *burst);

#endif
