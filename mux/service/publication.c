/* SPDX-License-Identifier: Apache-2.0 */
#include "service/publication.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include <rte_rcu_qsbr.h>

#include "config/clock.h"
#include "ring/backend.h"
#include "ring/fold.h"
#include "ring/ring.h"
#include "service/lookup.h"
#include "steering/steering.h"

struct publication {
	struct lookup *lookup; /* atomic */
	struct lists *lists;
	struct rte_rcu_qsbr *rcu;
	struct publication_waiter waiter;
};

struct publication *publication_new(unsigned readers, struct lookup *lookup, struct lists *lists)
{
	struct publication *publication = calloc(1, sizeof(*publication));
	size_t rcu_bytes = (rte_rcu_qsbr_get_memsize(readers) + 63) & ~(size_t)63;

	if (!publication)
		return NULL;
	publication->rcu = aligned_alloc(64, rcu_bytes);
	if (!publication->rcu || rte_rcu_qsbr_init(publication->rcu, readers)) {
		publication_free(publication);
		return NULL;
	}
	publication->lookup = lookup;
	publication->lists = lists;
	return publication;
}

void publication_free(struct publication *publication)
{
	if (!publication)
		return;
	lookup_free(publication->lookup);
	free(publication->rcu);
	free(publication);
}

struct rte_rcu_qsbr *publication_rcu(const struct publication *publication)
{
	return publication->rcu;
}

/* Sleeps between polls: workers may need the core. */
void publication_synchronize(struct publication *publication)
{
	static const struct timespec pause = {.tv_nsec = 20 * 1000};
	uint64_t token = rte_rcu_qsbr_start(publication->rcu), began = clock_ms(), called = began;

	while (!rte_rcu_qsbr_check(publication->rcu, token, false)) {
		uint64_t now = clock_ms();

		if (publication->waiter.waits && now >= called + PUBLICATION_WAIT_MS) {
			called = now;
			publication->waiter.waits(publication->waiter.context, now - began);
		}
		nanosleep(&pause, NULL);
	}
}

void publication_set_waiter(struct publication *publication, const struct publication_waiter *waiter)
{
	publication->waiter = *waiter;
}

const struct lookup *publication_lookup(const struct publication *publication)
{
	return __atomic_load_n(&publication->lookup, __ATOMIC_ACQUIRE);
}

void publication_swap(struct publication *publication, struct lookup *lookup)
{
	struct lookup *old = publication->lookup;

	__atomic_store_n(&publication->lookup, lookup, __ATOMIC_RELEASE);
	publication_synchronize(publication);
	lookup_free(old);
}

static int check_service(const struct service *service, const struct delta *delta, struct reason *why)
{
	if (delta->service != service->id)
		return reason_set(why, -EINVAL, "service: generation %u is of service %u; %s is service %u",
				  delta->generation, delta->service, service->config.name, service->id);
	if (delta->buckets != service->config.buckets)
		return reason_set(why, -EINVAL, "buckets: generation %u has %u; service %s has %u", delta->generation,
				  delta->buckets, service->config.name, service->config.buckets);
	for (uint32_t i = 0; service->encap->check_backend && i < delta->backends_count; i++) {
		int error = service->encap->check_backend(&delta->backends[i], why);

		if (error)
			return error;
	}
	return 0;
}

/* Swaps in the steering method's data; returns what is to be dropped once no reader can hold it. */
static void *swap_data(struct service *service, void *data)
{
	void *old = service->steering_data;

	if (service->config.steering->serve) /* its data are not of a generation */
		return NULL;
	__atomic_store_n(&service->steering_data, data, __ATOMIC_RELEASE);
	return old;
}

static void drop_data(const struct service *service, void *old)
{
	if (old)
		service->config.steering->drop(old);
}

int publication_load(struct publication *publication, struct service *service, const struct delta *snapshot, void *data,
		     const struct next_hops *hops, struct reason *why)
{
	const struct ring_rule rule = service_ring_rule(service);
	struct ring *ring, *old = service->ring;
	void *old_data;
	int error = check_service(service, snapshot, why);

	if (error)
		return error;
	ring = ring_new(snapshot->buckets, publication->lists, &rule);
	if (!ring)
		return reason_set(why, -ENOMEM, "service %s: no memory for %u buckets", service->config.name,
				  snapshot->buckets);
	ring->backends = backends_new(service->encap, NULL, snapshot, hops, why);
	if (!ring->backends) {
		error = -errno;
		goto fail;
	}
	error = ring_load(ring, snapshot, why);
	if (error)
		goto fail;
	old_data = swap_data(service, data);
	__atomic_store_n(&service->ring, ring, __ATOMIC_RELEASE);
	if (old || old_data)
		publication_synchronize(publication);
	ring_free(old);
	drop_data(service, old_data);
	return 0;

fail:
	ring_free(ring);
	return error;
}

int publication_apply(struct publication *publication, struct service *service, const struct delta *delta, void *data,
		      const struct next_hops *hops, struct fold *fold, struct reason *why)
{
	struct ring *ring = service->ring;
	struct backends *old = NULL, *backends;
	void *old_data = NULL;
	int error = check_service(service, delta, why);

	if (!error && !delta->snapshot && !ring)
		return reason_set(why, -ENOENT, "service %s has no ring; load a snapshot first", service->config.name);
	if (!error)
		error = ring_start(ring, delta, fold, why);
	if (error)
		return error;
	if (!backends_change(ring->backends, delta, hops)) {
		backends = backends_new(service->encap, ring->backends, delta, hops, why);
		if (!backends) {
			error = -errno;
			fold_end(fold);
			return error;
		}
		old = ring->backends;
		__atomic_store_n(&ring->backends, backends, __ATOMIC_RELEASE);
	}
	ring_commit(ring, delta, fold);
	old_data = data ? swap_data(service, data) : NULL;
	ring_set_generation(ring, delta->generation);
	if (old) /* it may have other addresses */
		ring_renew(ring, &ring->listed->rule);
	if (old || old_data)
		publication_synchronize(publication);
	backends_free(old);
	drop_data(service, old_data);
	return 0;
}

bool publication_refresh(struct publication *publication, struct service *const *services, uint32_t count,
			 const struct next_hops *hops)
{
	struct backends **old = calloc(count ? count : 1, sizeof(*old));
	bool complete = true;
	uint32_t n = 0;

	if (!old)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		struct ring *ring = services[i]->ring;
		struct backends *backends;
		int error;

		if (!ring)
			continue;
		backends = backends_refresh(ring->backends, services[i]->id, hops, &error);
		complete &= !error;
		if (!backends)
			continue;
		old[n++] = ring->backends;
		__atomic_store_n(&ring->backends, backends, __ATOMIC_RELEASE);
	}
	if (n)
		publication_synchronize(publication);
	while (n)
		backends_free(old[--n]);
	free(old);
	return complete;
}
