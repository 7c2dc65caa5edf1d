/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps one service's published ring in step with its nodes in ZooKeeper. `config` and `latest_gen` are watched; after
 * each event and each answer, the next state follows from what is then known: sync_state.h has the diagram.
 *
 * Each refusal is counted and logged, and the published ring keeps serving. The first refusal in a row tries the
 * snapshot at once; further ones back off exponentially (backoff.h). A staged ring that can't be completed is published
 * as far as it got if it is newer than the published ring, or if there is none.
 *
 * A service without config is deleted, regardless of its other nodes, once the list of services confirms that it is not
 * the tree as a whole that is gone (cluster_sync.h). A config that returns starts the service again.
 */
#ifndef FAIRLEAD_MUX_SERVICE_SYNC_H
#define FAIRLEAD_MUX_SERVICE_SYNC_H

#include "control/service/ring_sync.h"
#include "steering/maat/loads.h"

enum service_state {
	SERVICE_LOADING, /* no ring yet */
	SERVICE_SERVING,
	SERVICE_STALE, /* serving, but something newer was refused */
};

static inline const char *service_state_name(enum service_state state)
{
	return state == SERVICE_LOADING ? "loading" : state == SERVICE_SERVING ? "serving" : "stale";
}

struct service_sync {
	char *name;
	const struct service_sync_context *context;
	struct service_reads *reads;
	unsigned place;  /* in the list */
	bool is_deleted; /* only its name is still listed */
	unsigned
	    unconfirmed;  /* nodes that were missing when they were read, while it is not known whether it is listed */
	bool loads_early; /* loads were read before the service was published: they are read again then */
	int64_t loads_written;                /* when those were written that were taken last, in Unix milliseconds */
	const struct maat_loads *loads_taken; /* by whom; only compared */
	struct refusal loads_refusal;
	struct refusal settled_refusal;
	struct ring_sync ring;
};

/* Reads nothing yet; context must outlive it. */
struct service_sync *service_sync_new(const struct service_sync_context *context, const char *name);
/* The service is gone, or the mux stops: withdraws its VIPs, then removes it from the tables. */
void service_sync_end(struct service_sync *sync);

/* Reads config and latest_gen and watches them; ends a backoff. */
void service_sync_refresh(struct service_sync *sync);
/* A watch fired; tail: the node's path below the service's. */
void service_sync_changed(struct service_sync *sync, const char *tail);
/* Answers service_sync_context.vanished: the service is still listed, so a missing node is really missing. */
void service_sync_confirm(struct service_sync *sync);
/* Takes what other threads have done, and refreshes when a backoff ends. */
void service_sync_run(struct service_sync *sync, uint64_t now_ms);
/* When service_sync_run() is due without an event; UINT64_MAX: never. */
uint64_t service_sync_deadline(const struct service_sync *sync);

enum service_state service_sync_state(const struct service_sync *sync);
/* What of its configuration, else of its ring, is refused now; NULL: nothing. */
const struct refusal *service_sync_refusal(const struct service_sync *sync);
/* Whether an answer is awaited that may let the ring go on. */
bool service_sync_is_reading(const struct service_sync *sync);
/* The highest generation that is known to be committed, 0: unknown. */
uint32_t service_sync_latest(const struct service_sync *sync);
/* The settled generation is refused, since it is not committed; 0: it is not any more. */
void service_sync_refuse_settled(struct service_sync *sync, uint32_t settled);

#endif
