/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A service's ring: which backend owns each bucket, at one generation.
 *
 *	ring	mask, generation, backends | row 8 | row 8 | ...	one 64-bit word a bucket (fairlead/ring.h)
 *
 * One writer (the control thread), any number of readers without locks. A delta is applied in place, in this order:
 * the backends that it adds (see backend.h), every changed row by one atomic store, the generation. Each
 * is a release. A reader loads in the opposite order, each an acquire: generation, row, backends. So a packet never
 * carries a generation that is newer than its row, and a row never names a backend that the table does not have yet.
 * A snapshot makes a new ring that is swapped in as a whole (service.h); a reader takes all three from one ring.
 *
 * What a reader may see while a delta is applied, and why it does no harm:
 *
 *	generation g, row of g + 1	The row's backend is right, and MOVED tells it of the move: it chains what it
 *					does not know before it looks at the generation (fairlead/verdict.h). A bucket
 *					without a previous owner has nothing to chain to: its unknown packet is dropped
 *					as stale if the server has seen g + 1 already, and sent again by the client.
 *	row of g, backends of g + 1	Tables only grow or change by a delta: what the row names is there. A removed
 *					backend keeps its line, so packets in flight reach it, and its address, which
 *					MOVED names. An id gets another address only once no open window names it
 *					(protocol/README.md section 5): then neither is sent to, nor named.
 *
 * The other way round it would do harm: g + 1 on a row of g makes the old owner learn g + 1, and drop as stale what
 * muxes that are still at g rightly send it.
 */
#ifndef FAIRLEAD_MUX_RING_H
#define FAIRLEAD_MUX_RING_H

#include <fairlead/ring.h>

#include "ring/delta.h"
#include "config/reason.h"

struct backends;

struct ring {
	uint32_t mask;                              /* buckets - 1 */
	uint32_t generation;                        /* atomic */
	struct backends *backends;                  /* atomic; owned by the ring */
	uint32_t *owned;                            /* the writer's; ring_count() */
	fl_row rows[] __attribute__((aligned(64))); /* each atomic */
};

/* An empty ring at generation 0. NULL: no memory. */
struct ring *ring_new(uint32_t buckets);

/* Frees the ring and its backends. No reader may hold it. */
void ring_free(struct ring *ring);

/* Fills a ring that no reader sees yet. -EINVAL: not a snapshot, or of another number of buckets. */
int ring_load(struct ring *ring, const struct delta *snapshot, struct reason *why);

/* 0 if the delta can be applied to the ring as it is; else the errors of ring_apply. */
int ring_follows(const struct ring *ring, const struct delta *delta, struct reason *why);

/*
 * Stores the delta's rows, then its generation; readers may be there. The backends must have been set before.
 * -EINVAL: a snapshot, or of another number of buckets. -ESTALE: base is not the ring's generation (a gap). -ENOMEM.
 * Nothing has changed then.
 */
int ring_apply(struct ring *ring, const struct delta *delta, struct reason *why);

/* A delta_count_fn for a ring. It walks over all rows until a delta by owner was applied; the numbers are kept then. */
void ring_count(const void *ring, uint32_t *counts);

/*
 * CRC-32C of the whole image, little-endian: each row, then of each backend that a snapshot lists its id, flags and
 * address, without weights (protocol/README.md, 5). Equal generations of a service have equal ones, whichever way they
 * were reached.
 */
uint32_t ring_checksum(const struct ring *ring);

static inline uint32_t ring_buckets(const struct ring *ring)
{
	return ring->mask + 1;
}

static inline uint32_t ring_generation(const struct ring *ring)
{
	return __atomic_load_n(&ring->generation, __ATOMIC_ACQUIRE);
}

static inline fl_row ring_row(const struct ring *ring, uint32_t bucket)
{
	return __atomic_load_n(&ring->rows[bucket], __ATOMIC_ACQUIRE);
}

/* Load it after the row: it is then at least as new. */
static inline const struct backends *ring_backends(const struct ring *ring)
{
	return __atomic_load_n(&ring->backends, __ATOMIC_ACQUIRE);
}

#endif
