/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What workers read, and how the control thread replaces it (RCU): the new lookup, ring or table of backends is built
 * aside and swapped in by one store; the old one is freed once no reader can hold it. Readers are the workers, numbered
 * 0 .. readers - 1; they hold nothing across a quiescent state. The control thread waits for at most one burst of a
 * busy worker; it does not wait for a worker that sleeps.
 */
#ifndef FAIRLEAD_MUX_PUBLICATION_H
#define FAIRLEAD_MUX_PUBLICATION_H

#include "host/next_hop.h"
#include "service/service.h"

struct lookup;
struct publication;
struct rte_rcu_qsbr;

/* Takes over the lookup. NULL: no memory, and the lookup stays the caller's. */
struct publication *publication_new(unsigned readers, struct lookup *lookup);

/* With the lookup. All readers must be gone. */
void publication_free(struct publication *publication);

/* For readers, which load the lookup anew after each quiescent state. */
const struct lookup *publication_lookup(const struct publication *publication);
struct rte_rcu_qsbr *publication_rcu(const struct publication *publication);

/* Returns once no reader holds what was unpublished before the call. */
void publication_synchronize(struct publication *publication);

/* Publishes a lookup in place of the present one, which is freed. */
void publication_swap(struct publication *publication, struct lookup *lookup);

/*
 * Loads a snapshot: a new ring. Nothing has changed on failure: -EINVAL (of another service or number of buckets),
 * -EAFNOSUPPORT (an IPv6 backend where the encapsulation takes none), -ENOMEM.
 */
int publication_load(struct publication *publication, struct service *service, const struct delta *snapshot,
		     const struct next_hops *hops, struct reason *why);

/*
 * Applies a delta to the loaded ring. Nothing has changed on failure: -ENOENT (no ring), -ESTALE (does not follow the
 * ring's generation), -EINVAL, -EAFNOSUPPORT, -ENOMEM.
 */
int publication_apply(struct publication *publication, struct service *service, const struct delta *delta,
		      const struct next_hops *hops, struct reason *why);

/* Replaces tables of backends whose next hops have changed. False: memory ran out, some are as they were. */
bool publication_refresh(struct publication *publication, struct service *const *services, uint32_t count,
			 const struct next_hops *hops);

#endif
