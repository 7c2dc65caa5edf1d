/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What workers read, and how the control thread replaces it (RCU): it builds a new lookup, ring or table of backends
 * aside, swaps it in by one store, and frees the old one once no reader can hold it. The readers are the workers,
 * numbered 0 .. readers - 1; they hold nothing across a quiescent state. The control thread waits for at most one burst
 * of a busy worker, and not for a worker that sleeps.
 */
#ifndef FAIRLEAD_MUX_PUBLICATION_H
#define FAIRLEAD_MUX_PUBLICATION_H

#include "host/next_hop.h"
#include "service/service.h"

struct lists;
struct lookup;
struct publication;
struct rte_rcu_qsbr;

/* Called each PUBLICATION_WAIT_MS while a change waits for workers, with the time so far: nothing else runs meanwhile. */
struct publication_waiter {
	void *context;
	void (*waits)(void *context, uint64_t waited_ms);
};

enum { PUBLICATION_WAIT_MS = 50 };

/* Takes ownership of the lookup. NULL: no memory; the caller still owns it. */
struct publication *publication_new(unsigned readers, struct lookup *lookup, struct lists *lists);

/* Also frees the lookup. There must be no readers left. */
void publication_free(struct publication *publication);

/* Replaces the waiter; at first there is none. */
void publication_set_waiter(struct publication *publication, const struct publication_waiter *waiter);

/* For readers, which must reload the lookup after each quiescent state. */
const struct lookup *publication_lookup(const struct publication *publication);
struct rte_rcu_qsbr *publication_rcu(const struct publication *publication);

/* Returns once no reader holds anything unpublished before the call. */
void publication_synchronize(struct publication *publication);

/* Replaces the published lookup and frees the old one. */
void publication_swap(struct publication *publication, struct lookup *lookup);

/*
 * Loads a snapshot as a new ring. data: the steering method's own of that generation, NULL: none; on success the
 * service owns it, and the method drops what it had before. On failure nothing has changed: -EINVAL (another service or
 * number of buckets), -EAFNOSUPPORT (an IPv6 backend that the encapsulation does not support), -ENOMEM.
 */
int publication_load(struct publication *publication, struct service *service, const struct delta *snapshot, void *data,
		     const struct next_hops *hops, struct reason *why);

/*
 * Applies a delta to the loaded ring. data: as above, but NULL keeps what the service has. fold: which buckets it has
 * changed, to be ended. On failure nothing has changed: -ENOENT (no ring), -ESTALE (does not follow the ring's
 * generation), -EINVAL, -EAFNOSUPPORT, -ENOMEM.
 */
int publication_apply(struct publication *publication, struct service *service, const struct delta *delta, void *data,
		      const struct next_hops *hops, struct fold *fold, struct reason *why);

/* Replaces tables of backends whose next hops have changed. False: memory ran out, some tables are unchanged. */
bool publication_refresh(struct publication *publication, struct service *const *services, uint32_t count,
			 const struct next_hops *hops);

#endif
