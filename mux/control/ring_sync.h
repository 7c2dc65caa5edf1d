/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a service's published ring gets to the latest generation: what is read next, what is applied, loaded or refused
 * (sync_state.h has the diagram). service_sync.h follows the configuration and the numbers, and drives it.
 */
#ifndef FAIRLEAD_MUX_RING_SYNC_H
#define FAIRLEAD_MUX_RING_SYNC_H

#include "control/arrays_sync.h"
#include "control/backoff.h"
#include "control/published_service.h"
#include "control/refusal.h"
#include "control/service_reads.h"
#include "control/sync_state.h"

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

/* Of the published ring, 0: there is none. */
uint32_t ring_sync_generation(const struct ring_sync *sync);

/* Counts and logs it. */
void ring_sync_refuse(struct ring_sync *sync, struct refusal *refusal, unsigned reason, uint32_t generation,
		      const char *why);
/* The published configuration stays. The retry is for conflicts with another service, which may end. */
void ring_sync_refuse_config(struct ring_sync *sync, unsigned reason, const char *why);
/* A configuration was accepted. */
void ring_sync_configure(struct ring_sync *sync, const struct service_config *config);
/* Reads latest_gen, and latest_arrays where there may be one. */
void ring_sync_read_latest(struct ring_sync *sync);
/* latest_gen was read: its number, and latest_arrays; NULL: it was not read. */
void ring_sync_latest(struct ring_sync *sync, uint32_t latest, const struct tree_reply *list);
/* A node that should be a generation's number is not. */
void ring_sync_refuse_number(struct ring_sync *sync, const char *node, const struct tree_reply *reply);
/* A read failed for a reason unrelated to the stored data: a lost connection or a server in trouble. */
void ring_sync_retry(struct ring_sync *sync);

/* After each event that may let the ring go on: at most one snapshot or delta is being read. */
void ring_sync_advance(struct ring_sync *sync);
/* After each event: applies what servers have been told. */
void ring_sync_poll(struct ring_sync *sync);
/* What the mux needs has changed: serves no VIP that it needs itself, until a retry finds that it does not any more. */
void ring_sync_guard(struct ring_sync *sync);
/* latest_gen has changed: reads it and, since it usually moves by one, the next delta along with it. */
void ring_sync_read_changed(struct ring_sync *sync);
/* An answer to what it reads: READ_SNAPSHOT_NUMBER and what is below a generation. */
void ring_sync_answer(struct ring_sync *sync, const struct service_answer *answer);
/* The service is deleted: everything but counters and an outstanding read is as at the beginning. */
void ring_sync_forget(struct ring_sync *sync);
/* Frees what it has but the published ring and arrays. */
void ring_sync_drop(struct ring_sync *sync);

#endif
