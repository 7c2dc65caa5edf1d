/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A service's ring: which backend owns each bucket, at one generation.
 *
 *	ring	mask, generation, backends, image | row 8 | row 8 | ...	one 64-bit word a bucket
 *
 * Packets go by the rows: the owner and the list of its former owners (lists.h), as they follow from the image (image.h).
 * They name only those former owners whose windows are open; so packets need no clock. A window ends when the control
 * thread has seen that it is over by ZooKeeper's time (struct lists): late by seconds, never early. In a service with a
 * hold, windows end nothing: its generations say so (protocol/README.md, 5).
 *
 * One writer (the control thread), any number of readers without locks. A delta is applied in place, in this order: the
 * backends that it adds (backend.h), each changed row by one atomic store, the steering method's data if the generation
 * has new (service.h), the generation. Each store is a release. A reader loads in the opposite order, each load an
 * acquire: generation, the method's data, row, backends. So a packet never carries a generation newer than its row or
 * than the data that chose its bucket, and a row never names a backend that the table does not have yet. A snapshot
 * makes a new ring that is swapped in as a whole, after the method's data (publication.h); a reader takes generation,
 * row and backends from one ring.
 *
 * What a reader may see while a delta is applied, and why it does no harm:
 *
 *	generation g, row of g + 1	The row's backend is right, and the list names all others: they are asked before
 *					a server looks at the generation (the model's run `torn`).
 *	row of g, backends of g + 1	A delta never takes a line away: the row's backend exists. A removed
 *					backend keeps its line, so packets in flight reach it, and its address, which
 *					lists name. An id gets another address only once no history names it
 *					(protocol/README.md section 5): then neither is sent to, nor named.
 *
 * The opposite would do harm: g + 1 with a row of g makes the old owner learn g + 1, and then drop as stale the packets
 * that muxes still at g rightly send it.
 */
#ifndef FAIRLEAD_MUX_RING_H
#define FAIRLEAD_MUX_RING_H

#include <fairlead/ring.h>

#include "ring/delta.h"
#include "config/reason.h"

struct backends;
struct fold;
struct lists;

/* What a service says of its packets' lists. */
struct ring_rule {
	uint32_t window; /* seconds */
	uint32_t most;   /* how many former owners a header can name */
};

/* How rows are stored. */
struct listed {
	struct lists *lists;
	struct ring_rule rule;
	bool is_held;      /* as rows were written last */
	bool is_full;      /* the table of lists was full for some row */
	uint32_t stored;   /* how many rows have changed */
	uint32_t oldest[]; /* for each block of buckets: the earliest `since` of an open window */
};

struct ring {
	uint32_t mask;                              /* buckets - 1 */
	uint32_t generation;                        /* atomic */
	struct backends *backends;                  /* atomic; owned by the ring */
	struct image image;                         /* writer only */
	struct listed *listed;                      /* writer only */
	fl_row rows[] __attribute__((aligned(64))); /* each atomic */
};

/* An empty ring at generation 0, whose rows name lists of this table. NULL: no memory. */
struct ring *ring_new(uint32_t buckets, struct lists *lists, const struct ring_rule *rule);

/* Frees the ring and its backends. No reader may hold it. */
void ring_free(struct ring *ring);

/*
 * Fills a ring that no reader sees yet and that has its backends. -EINVAL: not a snapshot, or a different number of
 * buckets. -ENOMEM.
 */
int ring_load(struct ring *ring, const struct delta *snapshot, struct reason *why);

/*
 * What the delta changes of the ring. -EINVAL: a snapshot, a different number of buckets, or a history that becomes too
 * long. -ESTALE: base is not the ring's generation (a gap). -ENOMEM. Otherwise fold_end() ends it.
 */
int ring_start(struct ring *ring, const struct delta *delta, struct fold *fold, struct reason *why);
/* Stores its rows while readers may be active; ring_set_generation() comes next. The backends must be set before. */
void ring_commit(struct ring *ring, const struct delta *delta, const struct fold *fold);

/* Stores rows without those whose windows are over by now (struct lists). */
void ring_close_windows(struct ring *ring);

/* Writes all rows from the image, after the rule, a hold or addresses have changed. */
void ring_renew(struct ring *ring, const struct ring_rule *rule);

/* The former owners that a bucket's packets name, in their order, of which a foreign end-point is the last. */
struct ring_former {
	struct history history;
	bool is_cut, has_foreign;
};

struct ring_former ring_former(const struct ring *ring, uint32_t bucket);

/*
 * The sum of the image (protocol/README.md, 5). It is the same for equal generations of a service, however they were
 * reached.
 */
uint64_t ring_sum(const struct ring *ring);

/* In place of the bucket of a packet that its port, or an id in it, sends to a backend. */
#define RING_BUCKET_NONE UINT32_MAX

static inline uint32_t ring_buckets(const struct ring *ring)
{
	return ring->mask + 1;
}

static inline uint32_t ring_generation(const struct ring *ring)
{
	return __atomic_load_n(&ring->generation, __ATOMIC_ACQUIRE);
}

static inline void ring_set_generation(struct ring *ring, uint32_t generation)
{
	__atomic_store_n(&ring->generation, generation, __ATOMIC_RELEASE);
}

/* The bucket of a hash's high half, for methods that have two by the hash (protocol/README.md, 1). */
static inline uint32_t ring_second_bucket(const struct ring *ring, uint64_t hash)
{
	return (uint32_t)(hash >> 32) & ring->mask;
}

static inline fl_row ring_row(const struct ring *ring, uint32_t bucket)
{
	return __atomic_load_n(&ring->rows[bucket], __ATOMIC_ACQUIRE);
}

/* Load it after the row, so that it is at least as new. */
static inline const struct backends *ring_backends(const struct ring *ring)
{
	return __atomic_load_n(&ring->backends, __ATOMIC_ACQUIRE);
}

#endif
