/* SPDX-License-Identifier: Apache-2.0 */
/* A service's published ring on its way to the latest generation (ring_steps.h), and what is refused of it. */
#ifndef FAIRLEAD_MUX_RING_SYNC_H
#define FAIRLEAD_MUX_RING_SYNC_H

#include "control/service/arrays_sync.h"
#include "control/service/backoff.h"
#include "control/service/published_service.h"
#include "control/service/refusal.h"
#include "control/service/service_reads.h"
#include "control/service/sync_state.h"
#include "tree/tree.h"

/* What all services of a mux share. */
struct service_sync_context {
	struct tree *tree;
	struct published_place place;
	const char *root;
	void *owner;
	void (*changed)(void *owner);  /* a generation or a state */
	void (*vanished)(void *owner); /* a node is gone: asks the owner whether the service is still listed */
};

/* How the published ring gets to the latest generation. */
enum sync_route {
	ROUTE_DELTAS,
	ROUTE_SNAPSHOT, /* a delta could not be applied: a new ring replaces it */
};

struct ring_sync {
	const char *name;
	const struct service_sync_context *context;
	struct service_reads *reads;

	/* The last configuration that was accepted; service->config is the published one. */
	bool has_config;
	bool config_is_outdated; /* a later one was rejected */
	struct service_config config;
	uint32_t latest; /* committed generation, 0: unknown */

	enum sync_state state;
	enum sync_route route;
	struct published_service published;
	struct delta staged; /* the published ring's replacement, not complete yet: a snapshot with the later deltas
				      folded into it; generation 0: there is none */
	struct delta told;   /* the published ring's next one, of which servers are told; generation 0: none */
	struct arrays_sync arrays; /* of the latest generation */

	struct refusal config_refusal;
	struct refusal ring_refusal;
	uint64_t refused[REFUSAL_REASONS]; /* how often something was, for each reason */
	struct backoff backoff;
};

static inline uint64_t ring_sync_now(const struct ring_sync *sync)
{
	return tree_now(sync->context->tree);
}

/* A generation or a state has changed. */
static inline void ring_sync_report(const struct ring_sync *sync)
{
	sync->context->changed(sync->context->owner);
}

/* Of the published ring, 0: there is none. */
uint32_t ring_sync_generation(const struct ring_sync *sync);
/* Whether the configuration's method has arrays. */
bool ring_sync_has_arrays(const struct ring_sync *sync);

/* Counts and logs it. */
void ring_sync_refuse(struct ring_sync *sync, struct refusal *refusal, unsigned reason, uint32_t generation,
		      const char *why);
/* The published configuration stays. The retry is for conflicts with another service, which may end. */
void ring_sync_refuse_config(struct ring_sync *sync, unsigned reason, const char *why);
/* A node that should be a generation's number is not. */
void ring_sync_refuse_number(struct ring_sync *sync, const char *node, const struct tree_reply *reply);
/* A read failed for a reason unrelated to the stored data: a lost connection or a server in trouble. */
void ring_sync_retry(struct ring_sync *sync);
/* Reads latest_gen, and latest_arrays where there may be one. */
void ring_sync_read_latest(struct ring_sync *sync);

#endif
